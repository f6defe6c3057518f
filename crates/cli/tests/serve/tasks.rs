//! Tasks: work that goes on without the client, and is found again after everyone was killed.

use serde_json::{Value, json};

use crate::client::{Client, Era};
use crate::world::World;

fn takes_tasks() -> Value {
    json!({ "extensions": { "io.modelcontextprotocol/tasks": {} }, "elicitation": { "form": {} } })
}

fn serve(world: &World, model: &str) -> Client {
    Client::of(world.command(&["mcp", "serve", "--model", model]), Era::New, takes_tasks())
}

/// Looks until the task is as it should be.
fn until(client: &mut Client, id: &Value, status: &str) -> Value {
    loop {
        let task = client.ask("tasks/get", json!({ "taskId": id })).unwrap();
        if task["status"] == status {
            return task;
        }
        assert!(["working", "input_required"].contains(&task["status"].as_str().unwrap()), "{task}");
    }
}

#[test]
fn a_client_killed_in_the_middle_finds_exactly_one_result_after_our_restart() {
    let world = World::new();
    let write = json!({ "name": "write_file", "args": { "path": "made.txt", "content": "made\n" } });
    let script = json!([{ "calls": [write] }, { "text": "It is made.", "delay_ms": 1500 }]);
    let model = world.script("script.json", &script);

    let mut client = serve(&world, &model);
    let call = json!({ "name": "dispatch_agent_task", "arguments": { "prompt": "make it", "agent": "coder" } });
    let task = client.ask("tools/call", call).unwrap();
    assert_eq!((&task["resultType"], &task["status"]), (&json!("task"), &json!("working")), "{task}");
    let id = task["taskId"].clone();
    while !world.ws().join("made.txt").exists() {
        client.ask("tasks/get", json!({ "taskId": id })).unwrap();
    }
    // Both ends at once, as with a power cut.
    client.child.kill().unwrap();
    drop(client);
    assert_eq!(world.runs()[0]["status"], "interrupted");

    let mut client = serve(&world, &model);
    let done = until(&mut client, &id, "completed");
    assert_eq!(done["result"]["structuredContent"]["answer"], "It is made.", "{done}");
    assert_ne!(done["result"]["isError"], true);
    assert_eq!(client.ask("tasks/get", json!({ "taskId": id })).unwrap()["result"], done["result"]);
    let runs = world.runs();
    assert_eq!((runs.len(), &runs[0]["run"], &runs[0]["status"]), (1, &id, &json!("done")));
    drop(client);
    world.updraft(&["replay", id.as_str().unwrap()]).code(0);
}

#[test]
fn a_run_whose_server_is_gone_is_told_as_such_by_another_and_resumed_there() {
    let world = World::new();
    let model = world.script("script.json", &json!({ "default": { "text": "It is made.", "delay_ms": 60_000 } }));
    let quick = world.script("quick.json", &json!({ "default": { "text": "It is made." } }));
    let (mut first, mut second) = (serve(&world, &model), serve(&world, &quick));
    let call = json!({ "name": "dispatch_agent_task", "arguments": { "prompt": "make it", "agent": "coder" } });
    let id = first.ask("tools/call", call).unwrap()["taskId"].clone();
    let run = json!({ "run": id });
    assert_eq!(second.data("task_status", run.clone())["status"], "working");
    first.child.kill().unwrap();
    drop(first);
    let told = second.data("task_status", run.clone());
    assert!(told["status"] == "paused" && told["message"].as_str().unwrap().contains("interrupted"), "{told}");
    std::fs::copy(quick.trim_start_matches("scripted/"), model.trim_start_matches("scripted/")).unwrap();
    second.data("resume_task", run);
    let done = until(&mut second, &id, "completed");
    assert_eq!(done["result"]["structuredContent"]["answer"], "It is made.", "{done}");
}

#[test]
fn a_task_that_asks_goes_on_with_the_answer_and_ignores_other_keys() {
    let world = World::new();
    let asks = json!({"rules": [
        {"when": {"turn": 0}, "answer": {"calls": [{"name": "ask_user", "args": {"question": "Which colour?"}}]}},
        {"when": {"contains": "blue"}, "answer": {"text": "Blue it is."}},
    ], "default": {"text": "Some colour."}});
    let model = world.script("script.json", &asks);
    let mut client = serve(&world, &model);
    let call = json!({ "name": "dispatch_agent_task", "arguments": { "prompt": "choose", "agent": "clarification" } });
    let id = client.ask("tools/call", call).unwrap()["taskId"].clone();
    let waits = until(&mut client, &id, "input_required");
    let key = waits["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
    let answer = |key: &str| json!({ "taskId": id, "inputResponses": { key: { "action": "accept", "content": { "answer": "blue" } } } });
    client.ask("tasks/update", answer("another/0/0/question.0")).unwrap();
    assert_eq!(client.ask("tasks/get", json!({ "taskId": id })).unwrap()["status"], "input_required");
    client.ask("tasks/update", answer(&key)).unwrap();
    let done = until(&mut client, &id, "completed");
    assert_eq!(done["result"]["structuredContent"]["answer"], "Blue it is.");
    // Answered once more, it makes no difference.
    client.ask("tasks/update", answer(&key)).unwrap();
    assert_eq!(client.ask("tasks/get", json!({ "taskId": id })).unwrap()["result"], done["result"]);
}

#[test]
fn a_task_does_not_go_on_at_a_lower_level_than_it_began_with() {
    let world = World::new();
    let level = world.updraft(&["sandbox", "probe", "--json"]).value()["level"].clone();
    if level == "none" {
        return;
    }
    let asks = json!({"rules": [
        {"when": {"turn": 0}, "answer": {"calls": [{"name": "ask_user", "args": {"question": "Which colour?"}}]}},
        {"when": {"contains": "blue"}, "answer": {"text": "Blue it is."}},
    ], "default": {"text": "Some colour."}});
    let model = world.script("script.json", &asks);
    let mut client = serve(&world, &model);
    let call = json!({ "name": "dispatch_agent_task", "arguments": { "prompt": "choose", "agent": "clarification" } });
    let id = client.ask("tools/call", call).unwrap()["taskId"].clone();
    let waits = until(&mut client, &id, "input_required");
    let key = waits["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
    drop(client);

    let free = ["mcp", "serve", "--model", &model, "--no-sandbox"];
    let mut client = Client::of(world.command(&free), Era::New, takes_tasks());
    let answer = json!({ "action": "accept", "content": { "answer": "blue" } });
    let update = json!({ "taskId": id, "inputResponses": { key: answer } });
    let refused = client.ask("tasks/update", update).unwrap_err();
    assert!(refused["message"].as_str().unwrap().contains("it began at the sandbox level"), "{refused}");
    assert_eq!(world.runs()[0]["sandbox"], level);
    drop(client);

    // The answer was kept, and counts where the run may go on.
    let mut client = serve(&world, &model);
    let done = until(&mut client, &id, "completed");
    assert_eq!(done["result"]["structuredContent"]["answer"], "Blue it is.");
}

#[test]
fn a_task_is_cancelled_and_a_failed_run_is_a_complete_task_with_an_error() {
    let world = World::new();
    let script = json!({"rules": [{"when": {"contains": "slowly"}, "answer": {"text": "at last", "delay_ms": 60_000}}],
                        "default": {"fail": "the model is broken"}});
    let model = world.script("script.json", &script);
    let mut client = serve(&world, &model);
    let call =
        |prompt: &str| json!({ "name": "dispatch_agent_task", "arguments": { "prompt": prompt, "agent": "thinker" } });
    let id = client.ask("tools/call", call("slowly")).unwrap()["taskId"].clone();
    client.ask("tasks/cancel", json!({ "taskId": id })).unwrap();
    until(&mut client, &id, "cancelled");

    let id = client.ask("tools/call", call("at once")).unwrap()["taskId"].clone();
    let done = until(&mut client, &id, "completed");
    assert_eq!(done["result"]["isError"], true, "{done}");
    assert_eq!(done["result"]["structuredContent"]["status"], "failed");
    assert_eq!(client.ask("tasks/get", json!({ "taskId": "unknown" })).unwrap_err()["code"], -32602);
}

#[test]
fn a_run_that_was_begun_by_a_server_is_resumed_with_the_flags_of_the_server() {
    let world = World::new();
    let model = world.script("script.json", &json!({ "default": { "text": "It is made.", "delay_ms": 60_000 } }));
    world.config("config.toml", "[sandbox]\nnetwork = \"host\"\n");
    let command = world.command(&["mcp", "serve", "--model", &model, "--network", "none"]);
    let mut client = Client::of(command, Era::New, takes_tasks());
    let call = json!({ "name": "dispatch_agent_task", "arguments": { "prompt": "make it", "agent": "coder" } });
    let id = client.ask("tools/call", call).unwrap()["taskId"].clone();
    client.child.kill().unwrap();
    drop(client);
    let quick = world.script("quick.json", &json!({ "default": { "text": "It is made." } }));
    std::fs::copy(quick.trim_start_matches("scripted/"), model.trim_start_matches("scripted/")).unwrap();
    let resumed = world.updraft(&["resume", id.as_str().unwrap()]).code(0);
    assert!(resumed.err.contains("keeping what the run was started with: --network none"), "{}", resumed.err);
}
