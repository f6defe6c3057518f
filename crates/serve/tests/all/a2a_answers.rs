//! A2A: a task asks its client, and goes on with the answer, which is in its history once.

use serde_json::{Value, json};

use crate::a2a::{Peer, id, in_context, says, script, state};
use crate::world::World;

#[tokio::test]
async fn a_task_that_asks_needs_input_and_goes_on_with_it() {
    let world = World::new(&script()).await;
    let peer = Peer::of(&world);
    let asks = peer.send("clarification", says("m1", "Paint it")).await;
    assert_eq!(state(&asks), "TASK_STATE_INPUT_REQUIRED", "{asks}");
    assert_eq!(asks["status"]["message"]["parts"][0]["text"], "Which colour? (red / blue)");
    assert_eq!(asks["status"]["message"]["role"], "ROLE_AGENT");
    let (task, context) = (id(&asks), asks["contextId"].as_str().unwrap().to_owned());
    let answer = |message: &str, context: &str| {
        let mut message = in_context(says(message, "red"), context);
        message["taskId"] = task.as_str().into();
        message
    };
    assert_eq!(peer.code("SendMessage", json!({ "message": answer("m2", "another") })).await, -32602);
    let done = peer.send("", answer("m3", &context)).await;
    assert_eq!((state(&done), id(&done)), ("TASK_STATE_COMPLETED", task.clone()), "{done}");
    let said: Vec<&Value> = done["history"].as_array().unwrap().iter().map(|message| &message["role"]).collect();
    assert_eq!(said, ["ROLE_USER", "ROLE_AGENT", "ROLE_USER"]);
    // The same message again changes nothing; another one comes too late.
    assert_eq!(id(&peer.send("", answer("m3", &context)).await), task);
    assert_eq!(peer.code("SendMessage", json!({ "message": answer("m4", "") })).await, -32004);
    let mut unknown = says("m5", "x");
    unknown["taskId"] = "nobody".into();
    assert_eq!(peer.code("SendMessage", json!({ "message": unknown })).await, -32001);
    for (length, count) in [(Some(0), 0), (Some(2), 2), (Some(9), 3), (None, 3)] {
        let got = peer.result("GetTask", json!({ "id": task, "historyLength": length })).await;
        assert_eq!(got["history"].as_array().map_or(0, Vec::len), count, "{got}");
        let got = length.map(|length| format!("?historyLength={length}")).unwrap_or_default();
        let got = peer.rest("GET", &format!("/tasks/{task}{got}"), &Value::Null).await.json();
        assert_eq!(got["history"].as_array().map_or(0, Vec::len), count, "{got}");
    }
    assert_eq!(peer.code("GetTask", json!({ "id": task, "historyLength": -1 })).await, -32602);
    assert_eq!(peer.code("GetTask", json!({ "id": "nobody" })).await, -32001);
    let missing = peer.rest("GET", "/tasks/nobody", &Value::Null).await;
    let info = json!({ "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "TASK_NOT_FOUND",
                       "domain": "a2a-protocol.org" });
    assert_eq!(missing.status, 404);
    assert_eq!(missing.header("content-type"), Some("application/a2a+json"));
    assert_eq!(
        missing.json(),
        json!({ "error": { "code": 404, "status": "NOT_FOUND", "details": [info],
                                                  "message": "there is no task `nobody`" } })
    );
    world.close().await;
}

#[tokio::test]
async fn an_answer_that_was_noted_but_not_passed_on_is_passed_on_when_it_comes_again() {
    let world = World::new(&script()).await;
    let peer = Peer::of(&world);
    let asks = peer.send("clarification", says("m1", "Paint it")).await;
    let mut reply = in_context(says("m2", "red"), asks["contextId"].as_str().unwrap());
    reply["taskId"] = asks["id"].clone();
    // As a process leaves it that is killed in between.
    let messages = [&asks["history"][0], &asks["status"]["message"], &reply];
    let note = json!({ "context": asks["contextId"], "messages": messages }).to_string();
    world.service.runs.keep_note("a2a", &format!("task {}", id(&asks)), note).await.unwrap();
    for _ in 0..2 {
        let done = peer.send("", reply.clone()).await;
        assert_eq!((state(&done), &done["history"]), ("TASK_STATE_COMPLETED", &json!(messages)), "{done}");
    }
    world.close().await;
}

#[tokio::test]
async fn an_answer_that_is_refused_is_not_in_the_history() {
    let world = World::with_settings(&script(), "[rules]\nask = [\"write_file(*)\"]\n").await;
    let peer = Peer::of(&world);
    let asks = peer.send("coder", says("m1", "Paint it")).await;
    let reply = |message: &str, text: &str| {
        let mut message = in_context(says(message, text), asks["contextId"].as_str().unwrap());
        message["taskId"] = asks["id"].clone();
        message
    };
    assert_eq!(peer.code("SendMessage", json!({ "message": reply("m2", "perhaps") })).await, -32602);
    let done = peer.send("", reply("m2", "approve")).await;
    let said: Vec<&Value> =
        done["history"].as_array().unwrap().iter().map(|message| &message["parts"][0]["text"]).collect();
    assert_eq!((state(&done), said.len(), said[2]), ("TASK_STATE_COMPLETED", 3, &json!("approve")), "{done}");
    world.close().await;
}
