//! The HTTP API as programs use it: runs started, followed and steered; errors as problem details; roles.

use serde_json::{Value, json};
use updraft_run::ApprovalMode;
use updraft_serve::UserRole;

use crate::world::{Answer, World, WorldOptions};

/// A program that uses the API with a token.
pub(crate) struct Program<'a> {
    pub(crate) world: &'a World,
    pub(crate) token: String,
}

impl<'a> Program<'a> {
    /// The owner's.
    pub(crate) fn of(world: &'a World) -> Self {
        Self { world, token: world.token.reveal().to_owned() }
    }

    /// A user's.
    pub(crate) fn of_user(world: &'a World, name: &str, role: UserRole) -> Self {
        Self { world, token: world.users.add(name, role).unwrap() }
    }

    pub(crate) fn bearer(&self) -> String {
        format!("Authorization: Bearer {}\r\n", self.token)
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.world.send("GET", &format!("/api/v1{path}"), &self.bearer(), "").await
    }

    pub(crate) async fn send(&self, method: &str, path: &str, body: &Value) -> Answer {
        let headers = format!("{}Content-Type: application/json\r\n", self.bearer());
        self.world.send(method, &format!("/api/v1{path}"), &headers, &body.to_string()).await
    }

    /// Starts a run.
    pub(crate) async fn start(&self, body: &Value) -> String {
        let started = self.send("POST", "/runs", body).await;
        assert_eq!(started.status, 201, "{}", started.body);
        let id = started.json()["id"].as_str().unwrap().to_owned();
        assert_eq!(started.header("location"), Some(format!("/api/v1/runs/{id}").as_str()));
        id
    }

    /// The run, once it has this status.
    pub(crate) async fn until(&self, run: &str, status: &str) -> Value {
        loop {
            let seen = self.get(&format!("/runs/{run}")).await.json();
            if seen["status"] == status {
                return seen;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }
}

fn asks() -> Value {
    let question = json!({ "name": "ask_user", "args": { "question": "Which colour?", "options": ["red", "blue"] } });
    json!({ "rules": [{ "when": { "turn": 0 }, "answer": { "calls": [question] } }], "default": { "text": "Painted." } })
}

#[tokio::test]
async fn a_program_starts_a_run_answers_its_question_and_reads_the_answer() {
    let world = World::new(&asks()).await;
    let program = Program::of_user(&world, "tom", UserRole::Steer);
    let run = program.start(&json!({ "goal": "Paint it", "agent": "clarification" })).await;
    let waits = program.until(&run, "waiting").await;
    assert_eq!(waits["waits"][0]["text"], "Which colour?");
    assert_eq!(waits["waits"][0]["kind"], "question");
    let listed = program.get("/runs?group=needs-you").await.json();
    assert_eq!((listed["found"].as_u64(), listed["runs"][0]["id"].as_str()), (Some(1), Some(run.as_str())));
    let question = &waits["waits"][0]["id"];
    let answered =
        program.send("POST", &format!("/runs/{run}/answer"), &json!({ "question": question, "text": "red" })).await;
    assert_eq!(answered.status, 200, "{}", answered.body);
    assert_eq!(program.until(&run, "done").await["answer"], "Painted.");
    let again = program.send("POST", &format!("/runs/{run}/answer"), &json!({ "text": "blue" })).await;
    assert_eq!(again.status, 409, "{}", again.body);
    let events = program.get(&format!("/runs/{run}/events?limit=1000")).await.json();
    let events = events["events"].as_array().unwrap();
    assert_eq!(events.first().unwrap()["type"], "started");
    assert_eq!(events.last().unwrap()["type"], "finished");
    assert!(events.iter().zip(1_u64..).all(|(event, number)| event["seq"] == number), "{events:?}");
    world.close().await;
}

#[tokio::test]
async fn what_a_run_changed_is_shown_with_the_text_before_and_one_file_is_put_back() {
    let write =
        |path: &str, content: &str| json!({ "name": "write_file", "args": { "path": path, "content": content } });
    let calls = [write("kept.txt", "one\ntwo\n"), write("made.txt", "new\n"), write("sub/back.txt", "B\n")];
    let script = json!({
        "rules": [{ "when": { "turn": 0 }, "answer": { "calls": calls } }], "default": { "text": "Written." }
    });
    let world = World::with(&script, WorldOptions { approvals: Some(ApprovalMode::Allow), ..WorldOptions::default() });
    let world = world.await;
    std::fs::create_dir(world.file("sub")).unwrap();
    std::fs::write(world.file("kept.txt"), "one\n").unwrap();
    std::fs::write(world.file("sub/back.txt"), "a\n").unwrap();
    let program = Program::of(&world);
    let run = program.start(&json!({ "goal": "Write", "agent": "coder" })).await;
    program.until(&run, "done").await;
    std::fs::write(world.file("made.txt"), "newer\n").unwrap();

    let file = |path: &str, change: &str, state: &str, before: Option<&str>| json!({ "path": path, "change": change, "state": state, "before": before, "hidden": null });
    let shown = program.get(&format!("/runs/{run}/changes")).await.json();
    let expected = [
        file("kept.txt", "changed", "as_left", Some("one\n")),
        file("made.txt", "created", "changed_since", None),
        file("sub/back.txt", "changed", "as_left", Some("a\n")),
    ];
    assert_eq!(shown["files"], json!(expected));

    let undone = program.send("POST", &format!("/runs/{run}/undo"), &json!({ "path": "sub" })).await.json();
    assert_eq!((&undone["restored"], &undone["left"]), (&json!(["sub/back.txt"]), &json!([])), "{undone}");
    let read = |name: &str| std::fs::read_to_string(world.file(name)).unwrap();
    assert_eq!([read("kept.txt"), read("made.txt"), read("sub/back.txt")], ["one\ntwo\n", "newer\n", "a\n"]);
    let shown = program.get(&format!("/runs/{run}/changes")).await.json();
    assert_eq!(shown["files"][2]["state"], "as_before");
    assert_eq!(program.get("/health").await.json()["workspace"], json!(world.service.runs.workspace()));
    world.close().await;
}

#[tokio::test]
async fn what_is_wrong_is_said_as_problem_details() {
    let world = World::new(&json!([{ "text": "done" }])).await;
    let program = Program::of(&world);
    let bearer = program.bearer();
    let typed = format!("{bearer}Content-Type: application/json\r\n");
    let plain = format!("{bearer}Content-Type: text/plain\r\n");
    let wrong = [
        ("GET", "/api/v1/nowhere", bearer.as_str(), "", 404),
        ("GET", "/api/v1/runs/nobody", &bearer, "", 404),
        ("GET", "/api/v1/runs/..%2f..%2fetc", &bearer, "", 404),
        ("GET", "/api/v1/runs/%ff", &bearer, "", 404),
        ("GET", "/api/v1/runs?limit=x", &bearer, "", 400),
        ("GET", "/api/v1/runs?limit=0", &bearer, "", 400),
        ("GET", "/api/v1/runs?wrods=x", &bearer, "", 400),
        ("PATCH", "/api/v1/runs", &bearer, "", 405),
        ("POST", "/api/v1/runs", &plain, "{}", 415),
        ("POST", "/api/v1/runs", &typed, "{", 400),
        ("POST", "/api/v1/runs", &typed, "{}", 400),
        ("POST", "/api/v1/runs", &typed, "{\"goal\":7}", 400),
        ("POST", "/api/v1/runs", &typed, "{\"goal\":\"x\",\"gaol\":1}", 400),
        ("POST", "/api/v1/runs", &typed, "{\"goal\":\" \"}", 409),
        ("POST", "/api/v1/runs", &typed, "{\"goal\":\"x\",\"agent\":\"nobody\"}", 409),
        ("POST", "/api/v1/runs", &typed, "[\"x\"]", 400),
        ("GET", "/api/v1/runs", "", "", 401),
        ("GET", "/api/v1/runs", "Authorization: Bearer wrong\r\n", "", 401),
        ("GET", "/api/v1/runs", "Authorization: Basic dDp0\r\n", "", 401),
        ("GET", "/api/v1/runs", &format!("{bearer}Origin: https://evil.example\r\n"), "", 403),
        ("GET", "/api/v1/runs", &format!("{bearer}Host: evil.example\r\n"), "", 403),
    ];
    for (method, path, headers, body, status) in wrong {
        let answer = world.send(method, path, headers, body).await;
        assert_eq!(answer.status, status, "{method} {path} {}: {}", &body[..body.len().min(60)], answer.body);
        assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{method} {path}");
        let problem = answer.json();
        assert_eq!((&problem["type"], &problem["status"]), (&json!("about:blank"), &json!(status)), "{problem}");
        assert!(problem["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{problem}");
        assert_eq!(answer.header("allow").is_some(), status == 405, "{method} {path}");
    }
    world.close().await;
}

#[tokio::test]
async fn an_address_without_the_version_is_a_problem_and_not_a_page() {
    let world = World::new(&json!([])).await;
    for path in ["/api/runs", "/api/v2/runs", "/api/v1/nothing"] {
        let answer = world.send("GET", path, &Program::of(&world).bearer(), "").await;
        assert_eq!(answer.status, 404, "{path}");
        assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{path}");
        assert!(answer.body.contains("/api/v1/openapi.json"), "{path}: {}", answer.body);
    }
    world.close().await;
}
