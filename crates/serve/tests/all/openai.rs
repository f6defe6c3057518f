//! OpenAI's API by hand: who is let in, wrong requests, a run that outlives its client, and one that does not.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use updraft_serve::UserRole;

use crate::world::{Answer, World};

const TOKEN: &str = "the token of this test";

fn script() -> Value {
    let question = json!({ "name": "ask_user", "args": { "question": "Which colour?", "options": ["red", "blue"] } });
    json!({ "rules": [{ "when": { "contains": "Slowly" }, "answer": { "text": "late", "delay_ms": 600_000 } },
                      { "when": { "agent": "clarification", "turn": 0 }, "answer": { "calls": [question] } }],
            "default": { "text": "A loom.", "usage": { "input": 3, "output": 2 } } })
}

async fn ask(world: &World, token: &str, method: &str, path: &str, body: &str) -> Answer {
    world.send(method, path, &format!("Authorization: Bearer {token}\r\n"), body).await
}

async fn respond(world: &World, body: &Value) -> (u16, Value) {
    let answer = ask(world, TOKEN, "POST", "/v1/responses", &body.to_string()).await;
    (answer.status, serde_json::from_str(&answer.body).unwrap())
}

#[tokio::test]
async fn only_programs_with_a_token_and_the_role_come_in() {
    let world = World::new(&script()).await;
    let viewer = world.users.add("viewer", UserRole::See).unwrap();
    let driver = world.users.add("driver", UserRole::Steer).unwrap();
    let body = json!({ "model": "updraft/thinker", "input": "What is it?" }).to_string();
    let routes = [
        ("GET", "/v1/models"),
        ("GET", "/v1/models/updraft"),
        ("POST", "/v1/chat/completions"),
        ("POST", "/v1/responses"),
        ("GET", "/v1/responses/resp_x"),
        ("DELETE", "/v1/responses/resp_x"),
        ("POST", "/v1/responses/resp_x/cancel"),
        ("GET", "/v1/responses/resp_x/input_items"),
        ("GET", "/v1/nothing"),
    ];
    for (method, path) in routes {
        // A cookie of the page is no token, and neither is that of somebody unknown.
        let cookie = format!("Cookie: {}\r\n", world.cookie);
        for headers in ["", &cookie, "Authorization: Bearer x\r\n", "Authorization: Basic x\r\n"] {
            let answer = world.send(method, path, headers, &body).await;
            assert_eq!(answer.status, 401, "{method} {path}: {}", answer.body);
            let error: Value = serde_json::from_str(&answer.body).unwrap();
            assert_eq!(error["error"]["code"], "invalid_api_key");
        }
        let elsewhere = format!("Host: evil.example\r\nAuthorization: Bearer {TOKEN}\r\n");
        assert_eq!(world.send(method, path, &elsewhere, &body).await.status, 403, "{method} {path}");
        let page = format!("Origin: https://evil.example\r\nAuthorization: Bearer {TOKEN}\r\n");
        assert_eq!(world.send(method, path, &page, &body).await.status, 403, "{method} {path}");
        let seen = ask(&world, &viewer, method, path, &body).await.status;
        assert_eq!(seen == 403, method != "GET", "{method} {path}: {seen}");
    }
    // Pages of this machine may ask, and are told that they may read the answer.
    let page = "Origin: http://127.0.0.1:3000\r\n";
    let before = world.send("OPTIONS", "/v1/responses", page, "").await;
    assert_eq!((before.status, before.header("access-control-allow-origin")), (204, Some("http://127.0.0.1:3000")));
    let listed = world.send("GET", "/v1/models", &format!("{page}Authorization: Bearer {viewer}\r\n"), "").await;
    assert_eq!((listed.status, listed.header("access-control-allow-origin")), (200, Some("http://127.0.0.1:3000")));
    let made = ask(&world, &driver, "POST", "/v1/responses", &body).await;
    let made: Value = serde_json::from_str(&made.body).unwrap();
    let path = format!("/v1/responses/{}", made["id"].as_str().unwrap());
    assert_eq!(ask(&world, &viewer, "GET", &path, "").await.status, 200);
    world.users.remove("driver").unwrap();
    assert_eq!(ask(&world, &driver, "GET", &path, "").await.status, 401);
    world.close().await;
}

#[tokio::test]
async fn wrong_requests_are_refused_in_openais_form_and_start_nothing() {
    let world = World::new(&script()).await;
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let bodies = [
        "",
        "[]",
        "{",
        "null",
        "\u{0}",
        &deep,
        "{\"model\": \"updraft\"}",
        "{\"model\": 5, \"input\": \"x\", \"messages\": []}",
        "{\"model\": \"updraft\", \"input\": {}, \"messages\": {}}",
        "{\"model\": \"updraft\", \"input\": [5], \"messages\": [5]}",
        "{\"model\": \"updraft\", \"input\": \" \", \"messages\": [{\"role\": \"user\", \"content\": \" \"}]}",
        "{\"model\": \"updraft/../coder\", \"input\": \"x\", \"messages\": [{\"role\": \"user\", \"content\": \"x\"}]}",
    ];
    for path in ["/v1/chat/completions", "/v1/responses"] {
        for body in bodies {
            let answer = ask(&world, TOKEN, "POST", path, body).await;
            let beginning = &body[..body.len().min(80)];
            assert!([400, 404].contains(&answer.status), "{path} {beginning}: {} {}", answer.status, answer.body);
            let error: Value = serde_json::from_str(&answer.body).unwrap();
            assert!(error["error"]["message"].as_str().is_some_and(|text| !text.is_empty()), "{error}");
        }
    }
    let mut stream = world.connect().await;
    let head = format!(
        "POST /v1/responses HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 1073741824\r\n\r\n",
        world.address
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut first = [0; 12];
    stream.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1 413", "a gigabyte is refused before it is sent");
    for (method, path, status) in [
        ("PUT", "/v1/responses", 405),
        ("POST", "/v1/models", 405),
        ("GET", "/v1/responses/resp_x", 404),
        ("GET", "/v1/responses/..%2Fx", 404),
        ("DELETE", "/v1/responses/resp_x", 404),
        ("POST", "/v1/responses/resp_x/cancel", 404),
        ("GET", "/v1/files", 404),
    ] {
        assert_eq!(ask(&world, TOKEN, method, path, "").await.status, status, "{method} {path}");
    }
    assert!(world.service.runs.list().unwrap().is_empty());
    world.close().await;
}

#[tokio::test]
async fn a_response_in_the_background_outlives_its_client_and_the_process() {
    let world = World::new(&script()).await;
    let (status, made) =
        respond(&world, &json!({ "model": "updraft/thinker", "input": "Slowly", "background": true })).await;
    assert_eq!((status, made["status"].as_str(), made["background"].as_bool()), (200, Some("in_progress"), Some(true)));
    let world = world.restarted(&json!({ "default": { "text": "In time." } })).await;
    let path = format!("/v1/responses/{}", made["id"].as_str().unwrap());
    let whole = ask(&world, TOKEN, "GET", &format!("{path}?stream=true"), "").await.body;
    assert!(whole.contains("event: response.completed") && whole.contains("In time."), "{whole}");
    let events = whole.lines().filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok());
    let numbers: Vec<u64> = events.filter_map(|event| event["sequence_number"].as_u64()).collect();
    // The question was asked again after the restart, so there is a gap.
    assert!(numbers.is_sorted() && *numbers.last().unwrap() >= 1_000_000, "{numbers:?}");
    let last_but_one = numbers[numbers.len() - 2];
    let tail = ask(&world, TOKEN, "GET", &format!("{path}?stream=true&starting_after={last_but_one}"), "").await;
    assert_eq!(tail.body.matches("sequence_number").count(), 1, "{}", tail.body);
    let now = ask(&world, TOKEN, "GET", &path, "").await.body;
    assert_eq!(serde_json::from_str::<Value>(&now).unwrap()["status"], "completed");
    world.close().await;
}

#[tokio::test]
async fn an_answer_on_the_page_completes_the_response_that_asked() {
    let world = World::new(&script()).await;
    let (_, asked) = respond(&world, &json!({ "model": "updraft/clarification", "input": "Paint it" })).await;
    assert_eq!(asked["status"], "incomplete", "{asked}");
    let id = asked["id"].as_str().unwrap();
    let run = id.strip_prefix("resp_").unwrap();
    let text = asked["output"].to_string();
    assert!(text.contains("Which colour? (red / blue)") && text.contains(&format!("/runs/{run}")), "{text}");
    world.service.runs.answer(run, None, "red".to_owned()).await.unwrap();
    world.until(run, "A loom.").await;
    let now = ask(&world, TOKEN, "GET", &format!("/v1/responses/{id}"), "").await.body;
    let now: Value = serde_json::from_str(&now).unwrap();
    assert_eq!(now["status"], "completed", "{now}");
    let (status, late) =
        respond(&world, &json!({ "model": "updraft/thinker", "input": "And?", "previous_response_id": id })).await;
    assert_eq!((status, late["status"].as_str()), (200, Some("completed")), "{late}");
    world.close().await;
}
