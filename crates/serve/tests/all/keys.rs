//! Requests that start no run and are sent again with the same `Idempotency-Key`; and a repetition that keeps the form of
//! the answer.

use serde_json::{Value, json};
use updraft_journal::{Change, Journal, JournalOptions};
use updraft_run::RunId;
use updraft_workbench::AppFolders;

use crate::api::Program;
use crate::world::{Answer, World};

fn asks() -> Value {
    let question = json!({ "name": "ask_user", "args": { "question": "Which colour?" } });
    json!({ "rules": [{ "when": { "agent": "clarification", "turn": 0 }, "answer": { "calls": [question] } }],
            "default": { "text": "Painted." } })
}

async fn keyed(program: &Program<'_>, path: &str, key: &str, kind: &str, body: &str) -> Answer {
    let headers = format!("{}Content-Type: {kind}\r\nIdempotency-Key: {key}\r\n", program.bearer());
    program.world.send("POST", &format!("/api/v1{path}"), &headers, body).await
}

#[tokio::test]
async fn a_message_and_files_with_a_key_arrive_once() {
    let world = World::new(&asks()).await;
    let program = Program::of(&world);
    let run = program.start(&json!({ "goal": "Paint it", "agent": "clarification" })).await;
    program.until(&run, "waiting").await;
    let told = async || {
        let events = program.get(&format!("/runs/{run}/events?limit=1000")).await.json();
        events["events"].as_array().unwrap().iter().filter(|event| event["type"] == "told").count()
    };
    let tell = format!("/runs/{run}/tell");
    for _ in 0..3 {
        let sent = keyed(&program, &tell, "tell-1", "application/json", "{\"message\": \"In blue\"}").await;
        assert_eq!(sent.status, 200, "{}", sent.body);
    }
    assert_eq!(told().await, 1);
    let other = keyed(&program, &tell, "tell-1", "application/json", "{\"message\": \"In red\"}").await;
    assert_eq!(other.status, 422, "{}", other.body);
    let other = keyed(&program, "/runs", "tell-1", "application/json", "{\"goal\": \"x\"}").await;
    assert_eq!(other.status, 422, "a key is for one request, whatever it is: {}", other.body);
    // The same words without a key are said again.
    program.send("POST", &tell, &json!({ "message": "In blue" })).await;
    assert_eq!(told().await, 2);

    let file = |text: &str| {
        format!("--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"a.txt\"\r\n\r\n{text}\r\n--b--\r\n")
    };
    let kind = "multipart/form-data; boundary=b";
    for path in ["/files".to_owned(), format!("/runs/{run}/files")] {
        let first = keyed(&program, &path, &format!("file {path}"), kind, &file("wool")).await;
        assert_eq!(first.status, 201, "{}", first.body);
        let again = keyed(&program, &path, &format!("file {path}"), kind, &file("wool")).await;
        assert_eq!((again.status, again.json()), (201, first.json()));
        assert_eq!(keyed(&program, &path, &format!("file {path}"), kind, &file("silk")).await.status, 422);
    }
    assert_eq!(std::fs::read_dir(world.file("uploads")).unwrap().count(), 2);
    assert_eq!(told().await, 3);

    // What was refused has not used its key up, and what was done is known after the run has ended.
    assert_eq!(program.send("POST", &format!("/runs/{run}/cancel"), &json!({})).await.status, 200);
    let late = keyed(&program, &tell, "tell-2", "application/json", "{\"message\": \"Too late\"}").await;
    assert_eq!(late.status, 409, "{}", late.body);
    let memory = keyed(&program, "/memory", "tell-2", "application/json", "{\"text\": \"The dye is blue.\"}").await;
    assert_eq!(memory.status, 204, "{}", memory.body);
    keyed(&program, "/memory", "tell-2", "application/json", "{\"text\": \"The dye is blue.\"}").await;
    assert_eq!(program.get("/memory").await.json().as_array().unwrap().len(), 1);
    let sent = keyed(&program, &tell, "tell-1", "application/json", "{\"message\": \"In blue\"}").await;
    assert_eq!(sent.status, 200, "{}", sent.body);
    let world = world.restarted(&asks()).await;
    let sent = keyed(&Program::of(&world), &tell, "tell-1", "application/json", "{\"message\": \"In blue\"}").await;
    assert_eq!(sent.status, 200, "{}", sent.body);
    world.close().await;
}

#[tokio::test]
async fn a_message_that_is_stored_but_not_accepted_keeps_its_key() {
    let world = World::new(&asks()).await;
    let program = Program::of(&world);
    let run = program.start(&json!({ "goal": "Paint it", "agent": "clarification" })).await;
    program.until(&run, "waiting").await;
    let id = RunId::parse(&run).unwrap();
    let folders = AppFolders::under(&world.file("../home"));
    let journal = Journal::open(&folders.journal(), JournalOptions::default()).unwrap();
    let keep_at = async |home: Option<&str>| {
        let home = home.map(ToOwned::to_owned);
        let change = move |_| (home.clone().map_or(Change::Remove, Change::Set), ());
        journal.change_stored("homes", &run, change).await.unwrap();
    };
    keep_at(Some("another program")).await;
    let tell = format!("/runs/{run}/tell");
    let send = async || keyed(&program, &tell, "kept", "application/json", "{\"message\": \"In blue\"}").await;
    for _ in 0..2 {
        let sent = send().await;
        assert!(sent.status >= 400, "{}", sent.body);
        assert_eq!(journal.inbox(&id).unwrap().len(), 1);
    }
    let other = keyed(&program, &tell, "kept", "application/json", "{\"message\": \"In red\"}").await;
    assert_eq!(other.status, 422, "{}", other.body);
    keep_at(None).await;
    for _ in 0..2 {
        let sent = send().await;
        assert_eq!(sent.status, 200, "{}", sent.body);
    }
    let events = program.get(&format!("/runs/{run}/events?limit=1000")).await.json();
    assert_eq!(events["events"].as_array().unwrap().iter().filter(|event| event["type"] == "told").count(), 1);
    journal.close().await;
    world.close().await;
}

#[tokio::test]
async fn a_repetition_keeps_the_form_that_a_program_wants_of_the_answer() {
    let world = World::new(&json!({ "default": { "text": "{\"name\": \"loom\"}" } })).await;
    let program = Program::of(&world);
    let schema = json!({ "type": "object", "required": ["name"], "properties": { "name": { "type": "string" } } });
    let format = json!({ "type": "json_schema", "name": "thing", "schema": schema });
    let asked = json!({ "model": "updraft/thinker", "input": "Describe it", "text": { "format": format } });
    let headers = format!("{}Content-Type: application/json\r\n", program.bearer());
    let response = world.send("POST", "/v1/responses", &headers, &asked.to_string()).await;
    assert_eq!(response.status, 200, "{}", response.body);
    let run = response.json()["id"].as_str().unwrap().trim_start_matches("resp_").to_owned();
    let again = program.send("POST", &format!("/runs/{run}/rerun"), &json!({ "steps": ["thinker"] })).await;
    assert_eq!(again.status, 201, "{}", again.body);
    let again = again.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(program.until(&again, "done").await["answer"], "{\"name\": \"loom\"}");
    for one in [&run, &again] {
        let events = program.get(&format!("/runs/{one}/events?limit=1")).await.json();
        let start = &events["events"][0]["event"]["started"];
        assert_eq!(start["goal"]["answer_schema"], schema, "{start}");
        let card = start["roster"]["agents"].as_array().unwrap().iter().find(|card| card["name"] == "thinker");
        assert_eq!(card.unwrap()["schema"], schema, "{start}");
    }
    // Nothing has changed, so its result is kept.
    let kept = program.send("POST", &format!("/runs/{run}/rerun"), &json!({})).await;
    let kept = kept.json()["id"].as_str().unwrap().to_owned();
    program.until(&kept, "done").await;
    let replay = program.get(&format!("/runs/{kept}/replay")).await.json();
    assert_eq!((&replay["same"], &replay["prompts"]), (&json!(true), &json!(0)), "no model was asked: {replay}");
    world.close().await;
}
