//! Sessions and the world around them: other faces, modes, pages of the list, and two things at once.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use updraft_run::{RunMode, Verdict};
use updraft_workbench::UpdraftService;
use updraft_workbench::service::{ConversationBook, RunOrder};

use crate::world::{World, prompt};

/// Another face of the same folder.
async fn elsewhere(world: &World) -> (UpdraftService, CancellationToken) {
    let stop = CancellationToken::new();
    let folders = world.folders();
    let opened =
        UpdraftService::open_idle(&folders, &world.folder, world.flags.clone(), stop.clone(), Arc::new(|_| {})).await;
    (opened.unwrap(), stop)
}

#[tokio::test]
async fn a_conversation_that_began_elsewhere_is_listed_loaded_and_continued() {
    let world = World::new();
    let (service, stop) = elsewhere(&world).await;
    let mode = RunMode::Agent("coder".into());
    let order = RunOrder { goal: "What is it?".into(), mode, ..RunOrder::default() };
    let run = service.runs.order(order).await.unwrap().to_string();
    while !service.runs.view(&run).await.unwrap().status.is_final() {
        tokio::task::yield_now().await;
    }
    stop.cancel();
    service.close().await;
    let mut editor = world.connected().await;
    let list = editor.call("session/list", json!({})).await.unwrap();
    let listed = &list["sessions"][0];
    assert_eq!((&listed["sessionId"], &listed["title"]), (&json!(run), &json!("What is it?")));
    assert_eq!(listed["cwd"], json!(world.folder));
    editor.call("session/load", world.known(&run)).await.unwrap();
    assert_eq!(editor.text(0, "agent_message_chunk"), "A loom.");
    assert_eq!(editor.prompt(&run, "And now?").await, "end_turn");
    let before = editor.said.len();
    editor.call("session/load", world.known(&run)).await.unwrap();
    assert_eq!(editor.text(before, "user_message_chunk"), "What is it?And now?");
}

#[tokio::test]
async fn a_permission_that_somebody_else_gives_is_withdrawn_from_the_editor() {
    let world = World::new();
    let (mut editor, id) = world.with_session("coder").await;
    let turn = editor.ask("session/prompt", prompt(&id, "Hook")).await;
    let asked = loop {
        let message = editor.next().await.unwrap();
        if message["method"] == "session/request_permission" {
            break message["id"].clone();
        }
    };
    let (service, stop) = elsewhere(&world).await;
    let allow = Verdict { allow: true, by: "somebody".into(), ..Verdict::default() };
    service.runs.decide(&id, None, allow).await.unwrap();
    assert_eq!(editor.answer(turn).await.unwrap()["stopReason"], "end_turn");
    let withdrawn = editor.said.iter().find(|message| message["method"] == "$/cancel_request").unwrap();
    assert_eq!(withdrawn["params"], json!({ "requestId": asked }));
    assert!(world.folder.join(".git/hooks/pre-commit").exists());
    stop.cancel();
    service.close().await;
}

#[tokio::test]
async fn the_mode_of_a_session_decides_what_is_done_without_asking() {
    let world = World::new();
    let (mut editor, id) = world.with_session("coder").await;
    let permissions =
        |said: &[Value]| said.iter().filter(|message| message["method"] == "session/request_permission").count();
    editor.call("session/set_mode", json!({ "sessionId": id, "modeId": "read-only" })).await.unwrap();
    editor.prompt(&id, "Inscribe the notes").await;
    assert!(!world.folder.join("notes.md").exists());
    editor.call("session/set_mode", json!({ "sessionId": id, "modeId": "full" })).await.unwrap();
    editor.prompt(&id, "Hook").await;
    assert!(world.folder.join(".git/hooks/pre-commit").exists());
    assert_eq!(permissions(&editor.said), 0);
    let unknown = json!({ "sessionId": id, "modeId": "reckless" });
    assert_eq!(editor.call("session/set_mode", unknown).await.unwrap_err()["code"], -32602);
}

#[tokio::test]
async fn a_session_works_on_one_prompt_at_a_time() {
    let world = World::new();
    let (mut editor, id) = world.with_session("coder").await;
    let first = editor.ask("session/prompt", prompt(&id, "Dawdle")).await;
    let second = editor.call("session/prompt", prompt(&id, "And this")).await.unwrap_err();
    assert_eq!(second["code"], -32600);
    assert_eq!(editor.call("session/load", world.known(&id)).await.unwrap_err()["code"], -32600);
    editor.notify("session/cancel", json!({ "sessionId": id })).await;
    assert_eq!(editor.answer(first).await.unwrap()["stopReason"], "cancelled");
}

#[tokio::test]
async fn a_long_list_has_pages() {
    let world = World::new();
    let mut editor = world.connected().await;
    editor.call("session/new", world.place()).await.unwrap();
    let book = ConversationBook::open(&world.folders()).unwrap().unwrap();
    let folder = world.folder.display().to_string();
    for n in 0..51 {
        book.keep_note("acp", &folder, &format!("session-{n}"), json!({ "cwd": folder }).to_string()).await.unwrap();
    }
    book.close().await;
    let first = editor.call("session/list", json!({})).await.unwrap();
    let rest = editor.call("session/list", json!({ "cursor": first["nextCursor"] })).await.unwrap();
    let count = |page: &Value| page["sessions"].as_array().unwrap().len();
    assert_eq!((count(&first), count(&rest), rest.get("nextCursor")), (50, 2, None));
}

#[test]
fn the_entry_for_the_registry_names_this_version() {
    let entry: Value = serde_json::from_str(include_str!("../../../../editors/acp/agent.json")).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(entry["version"], version);
    for (way, package) in [("npx", "updraft"), ("uvx", "updraft")] {
        let found = &entry["distribution"][way];
        assert_eq!((&found["package"], &found["args"]), (&json!(format!("{package}@{version}")), &json!(["acp"])));
    }
    for target in entry["distribution"]["binary"].as_object().unwrap().values() {
        assert!(target["archive"].as_str().unwrap().contains(&format!("/v{version}/updraft-{version}-")));
    }
}
