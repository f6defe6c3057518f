//! What the commands of the terminal do, over HTTP: logs, audits, replays, statistics, import, prune, permissions.

use serde_json::{Value, json};
use updraft_run::ApprovalMode;
use updraft_serve::UserRole;

use crate::api::Program;
use crate::world::{Answer, World, WorldOptions};

fn writes() -> Value {
    let call = json!({ "name": "write_file", "args": { "path": "made.txt", "content": "new\n" } });
    json!({ "rules": [{ "when": { "agent": "coder", "turn": 0 }, "answer": { "calls": [call] } }],
            "default": { "text": "Written." } })
}

async fn allowing(script: &Value) -> World {
    World::with(script, WorldOptions { approvals: Some(ApprovalMode::Allow), ..WorldOptions::default() }).await
}

async fn ended(program: &Program<'_>) -> String {
    let run = program.start(&json!({ "goal": "Write", "agent": "coder" })).await;
    program.until(&run, "done").await;
    run
}

#[tokio::test]
async fn a_run_is_accounted_for_line_by_line_call_by_call_and_decided_again() {
    let world = allowing(&writes()).await;
    let program = Program::of_user(&world, "ann", UserRole::See);
    let run = ended(&Program::of(&world)).await;
    let get = async |path: &str| program.get(&format!("/runs/{run}{path}")).await;

    let whole = get("/logs?limit=1000").await.json();
    let lines = whole["lines"].as_array().unwrap();
    let messages: Vec<&str> = lines.iter().filter_map(|line| line["message"].as_str()).collect();
    assert_eq!((messages.first(), messages.last()), (Some(&"run started"), Some(&"run done")), "{whole}");
    assert!(messages.contains(&"call ended") && whole["all"] == lines.len(), "{whole}");
    let mut parts = Vec::new();
    while parts.len() < lines.len() {
        let part = get(&format!("/logs?skip={}&limit=2", parts.len())).await.json();
        assert_eq!((&part["skipped"], &part["all"]), (&json!(parts.len()), &whole["all"]));
        parts.extend(part["lines"].as_array().unwrap().clone());
    }
    assert_eq!(parts, *lines);
    let last = get("/logs?last=2").await.json();
    assert_eq!((&last["lines"], &last["skipped"]), (&json!(lines[lines.len() - 2..]), &json!(lines.len() - 2)));
    let text = get("/logs?log=reasoning&format=text&last=1").await;
    assert_eq!(text.header("content-type"), Some("text/plain; charset=utf-8"));
    assert!(text.body.contains("result") && text.body.contains("Written."), "{}", text.body);

    let audit = get("/audit").await.json();
    assert_eq!((&audit["all"], &audit["items"][0]["tool"]), (&json!(1), &json!("write_file")), "{audit}");
    assert!(audit["items"][0]["diff"].as_str().unwrap().contains("+new"), "{audit}");
    assert_eq!(get("/audit?skip=1").await.json(), json!({ "items": [], "all": 1 }));

    let replay = get("/replay").await.json();
    assert_eq!(
        (&replay["same"], &replay["own_version"], &replay["different"]),
        (&json!(true), &json!(true), &json!(0))
    );
    assert!(replay["events"].as_u64() > Some(5) && replay["prompts"] == 2, "{replay}");

    let prompts = get("/details/prompts").await.json();
    assert_eq!(prompts["all"], 2, "{prompts}");
    assert!(prompts["items"][0]["prompt"].as_str().unwrap().contains("Write"), "{prompts}");
    assert_eq!(get("/details/prompts?skip=1").await.json()["items"], json!([prompts["items"][1]]));
    assert!(get("/details/messages").await.json()["all"].as_u64() > Some(1));
    for detail in ["context", "sources", "proof"] {
        assert_eq!(get(&format!("/details/{detail}")).await.status, 200, "{detail}");
    }
    let stats = program.get("/stats").await.json();
    assert_eq!((&stats["runs"], &stats["agents"][0]["agent"]), (&json!(1), &json!("coder")), "{stats}");

    for (path, status) in [
        ("/logs?log=other", 400),
        ("/logs?limit=0", 400),
        ("/logs?last=1001", 400),
        ("/logs?wrong=1", 400),
        ("/audit?skip=-1", 400),
        ("/details/secrets", 404),
    ] {
        assert_eq!(get(path).await.status, status, "{path}");
    }
    assert_eq!(program.get("/runs/nobody/replay").await.status, 404);
    world.close().await;
}

/// A body that was sent in chunks, as one.
fn without_chunks(body: &str) -> String {
    let (mut rest, mut whole) = (body, String::new());
    while let Some((size, more)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        whole += &more[..size];
        rest = &more[size + 2..];
    }
    whole
}

async fn import(program: &Program<'_>, query: &str, kind: &str, more: &str, body: &str) -> Answer {
    let headers = format!("{}Content-Type: {kind}\r\n{more}", program.bearer());
    program.world.send("POST", &format!("/api/v1/import{query}"), &headers, body).await
}

#[tokio::test]
async fn an_exported_run_is_brought_in_and_an_unfinished_one_continues_after_it_was_adopted() {
    let question = json!({ "name": "ask_user", "args": { "question": "Which colour?" } });
    let script = json!({ "rules": [{ "when": { "agent": "clarification", "turn": 0 }, "answer": { "calls": [question] } }],
                         "default": { "text": "Painted." } });
    let world = World::new(&script).await;
    let program = Program::of(&world);
    let run = program.start(&json!({ "goal": "Paint it", "agent": "clarification" })).await;
    program.until(&run, "waiting").await;
    let lines = without_chunks(&program.get(&format!("/runs/{run}/export")).await.body);

    let taken = import(&program, "", "application/jsonl", "", &lines).await;
    assert_eq!(taken.status, 409, "{}", taken.body);
    let key = "Idempotency-Key: in-1\r\n";
    for _ in 0..2 {
        let held = import(&program, "?id=held", "application/jsonl", key, &lines).await;
        assert_eq!((held.status, held.header("location")), (201, Some("/api/v1/runs/held")), "{}", held.body);
        assert_eq!(held.json(), json!({ "id": "held", "next": "adopt", "notes": [] }));
    }
    assert_eq!(import(&program, "?id=other", "application/jsonl", key, &lines).await.status, 422);
    let refused = program.send("POST", "/runs/held/resume", &json!({})).await;
    assert_eq!(refused.status, 409, "{}", refused.body);
    let adopted = program.send("POST", "/runs/held/adopt", &json!({})).await;
    assert_eq!(adopted.status, 200, "{}", adopted.body);
    program.until("held", "waiting").await;
    let answered = program.send("POST", "/runs/held/answer", &json!({ "text": "red" })).await;
    assert_eq!(answered.status, 200, "{}", answered.body);
    assert_eq!(program.until("held", "done").await["answer"], "Painted.");
    assert_eq!(program.send("POST", "/runs/held/adopt", &json!({})).await.status, 409);
    assert_eq!(program.get(&format!("/runs/{run}")).await.json()["status"], "waiting", "the other is as it was");

    let graph = program.get("/runs/held/export?format=node-link").await.body;
    let again = import(&program, "?id=drawn", "application/json", "", &graph).await;
    assert_eq!(again.status, 201, "{}", again.body);
    assert_eq!(again.json()["next"], "nothing");
    assert_eq!(program.get("/runs/drawn").await.json()["answer"], "Painted.");

    let steers = Program::of_user(&world, "tom", UserRole::Steer);
    assert_eq!(import(&steers, "", "application/jsonl", "", &lines).await.status, 403);
    for (kind, body, status) in [
        ("text/plain", "x", 415),
        ("application/jsonl", "", 409),
        ("application/jsonl", "[1]", 409),
        ("application/json", "{}", 409),
        ("application/json", "{\"nodes\": 7}", 409),
    ] {
        let wrong = import(&program, "", kind, "", body).await;
        assert_eq!((wrong.status, wrong.header("content-type")), (status, Some("application/problem+json")), "{body}");
    }
    world.close().await;
}

#[tokio::test]
async fn old_runs_of_this_workspace_are_removed_by_those_who_may() {
    let world = allowing(&writes()).await;
    let program = Program::of(&world);
    let run = ended(&program).await;
    let steers = Program::of_user(&world, "tom", UserRole::Steer);
    let order = |seconds: u64, dry_run: bool| json!({ "older_than_seconds": seconds, "dry_run": dry_run });
    assert_eq!(steers.send("POST", "/prune", &order(0, true)).await.status, 403);
    assert_eq!(program.send("POST", "/prune", &json!({})).await.status, 400);
    assert_eq!(program.send("POST", "/prune", &order(3600, false)).await.json(), json!({ "runs": [] }));
    // It ended at some millisecond, and that must be over.
    while program.send("POST", "/prune", &order(0, true)).await.json() != json!({ "runs": [run] }) {}
    assert_eq!(program.get(&format!("/runs/{run}")).await.status, 200);
    assert_eq!(program.send("POST", "/prune", &order(0, false)).await.json(), json!({ "runs": [run] }));
    assert_eq!(program.get(&format!("/runs/{run}")).await.status, 404);
    world.close().await;
}

#[tokio::test]
async fn a_rule_that_is_added_or_removed_holds_for_the_next_run() {
    let command = json!({ "name": "run_command", "args": { "command": "echo hello" } });
    let script = json!({ "rules": [{ "when": { "agent": "coder", "turn": 0 }, "answer": { "calls": [command] } }],
                         "default": { "text": "Said." } });
    let world = World::trusted(&script).await;
    let program = Program::of(&world);
    let start = async || program.start(&json!({ "goal": "Say it", "agent": "coder" })).await;
    program.until(&start().await, "waiting").await;

    let rule = json!({ "rule": " run_command(echo) " });
    for _ in 0..2 {
        let added = program.send("POST", "/permissions", &rule).await;
        assert_eq!((added.status, added.json()), (201, json!({ "rule": "run_command(echo)" })));
    }
    let listed = async || {
        let all = program.get("/permissions").await.json();
        assert_eq!(all["mode"], "workspace");
        all["rules"].as_array().unwrap().iter().filter(|rule| rule["rule"] == "run_command(echo)").count()
    };
    assert_eq!(listed().await, 1);
    program.until(&start().await, "done").await;

    let forget = "/permissions?rule=run_command(echo)";
    assert_eq!(program.send("DELETE", forget, &json!({})).await.status, 204);
    assert_eq!(program.send("DELETE", forget, &json!({})).await.status, 404);
    assert_eq!(listed().await, 0);
    program.until(&start().await, "waiting").await;

    for (body, status) in [(json!({ "rule": "" }), 400), (json!({ "rule": "a(" }), 409), (json!({ "rule": 7 }), 400)] {
        assert_eq!(program.send("POST", "/permissions", &body).await.status, status, "{body}");
    }
    assert_eq!(program.send("POST", "/permissions/clear", &json!({ "all": true })).await.json()["cleared"], 0);
    assert_eq!(program.send("POST", "/permissions/clear", &json!({ "files": ["a"] })).await.status, 409);
    let steers = Program::of_user(&world, "tom", UserRole::Steer);
    assert_eq!(steers.get("/permissions").await.status, 200);
    assert_eq!(steers.send("POST", "/permissions", &rule).await.status, 403);
    world.close().await;
}

#[tokio::test]
async fn what_surrounds_runs_is_listed_and_settings_only_for_administrators() {
    let world = World::new(&json!([{ "text": "done" }])).await;
    let (owner, sees) = (Program::of(&world), Program::of_user(&world, "ann", UserRole::See));
    assert_eq!(sees.get("/skills").await.json(), json!([]));
    assert_eq!(sees.get("/servers").await.json(), json!({ "servers": [], "remarks": [] }));
    assert_eq!(sees.get("/aside").await.json(), json!([]));
    assert_eq!(owner.send("POST", "/aside/restore", &json!({ "name": "x/y" })).await.status, 409);
    assert_eq!(owner.send("DELETE", "/aside?name=x/y", &json!({})).await.status, 404);
    assert_eq!(sees.get("/settings").await.status, 403);
    let settings = owner.get("/settings").await.json();
    assert!(settings.as_array().unwrap().iter().any(|one| one["name"] == "model"), "{settings}");
    world.close().await;
}

#[tokio::test]
async fn a_plan_variables_and_requirements_come_with_a_goal_and_one_step_is_cancelled() {
    let script = json!({ "rules": [{ "when": { "contains": "Slowly" }, "answer": { "text": "late", "delay_ms": 600_000 } }],
                         "default": { "text": "Done." } });
    let world = World::new(&script).await;
    let program = Program::of(&world);
    let steps = json!([{ "id": "one", "agent": "thinker", "prompt": "Slowly" },
                       { "id": "two", "agent": "thinker", "prompt": "At once" }]);
    let body = json!({ "goal": "Think", "plan": { "steps": steps }, "variables": { "n": 3 },
                       "requirements": ["file notes.md exists"] });
    let run = program.start(&body).await;
    let events = program.get(&format!("/runs/{run}/events?limit=1")).await.json();
    let goal = &events["events"][0]["event"]["started"]["goal"];
    assert_eq!((&goal["variables"], &goal["mode"]), (&json!({ "n": 3 }), &json!("given")), "{goal}");
    assert_eq!(goal["requirements"][0]["text"], "file notes.md exists", "{goal}");
    let cancel = |step: &str| format!("/runs/{run}/steps/{step}/cancel");
    assert_eq!(program.send("POST", &cancel("three"), &json!({})).await.status, 409);
    let cancelled = program.send("POST", &cancel("one"), &json!({})).await;
    assert_eq!(cancelled.status, 200, "{}", cancelled.body);
    loop {
        let seen = program.get(&format!("/runs/{run}")).await.json();
        if !["running", "waiting"].contains(&seen["status"].as_str().unwrap()) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let events = program.get(&format!("/runs/{run}/events?limit=1000")).await.json();
    let is_it = |event: &&Value| event["type"] == "step_cancelled" && event["event"]["step_cancelled"]["step"] == "one";
    assert_eq!(events["events"].as_array().unwrap().iter().filter(is_it).count(), 1, "{events}");
    for wrong in
        [json!({ "goal": "x", "plan": {} }), json!({ "goal": "x", "plan": { "steps": steps }, "agent": "coder" })]
    {
        assert_eq!(program.send("POST", "/runs", &wrong).await.status, 409, "{wrong}");
    }
    world.close().await;
}
