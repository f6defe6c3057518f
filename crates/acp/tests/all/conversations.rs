//! What an editor sees of a conversation: plans, thoughts, calls, permissions and questions, now and when it is loaded.

use serde_json::{Value, json};

use crate::world::{Editor, World, prompt};

fn kinds(updates: &[Value]) -> Vec<&str> {
    updates.iter().map(|update| update["sessionUpdate"].as_str().unwrap()).collect()
}

/// The last state of each call.
fn calls(updates: &[Value]) -> Vec<Value> {
    let mut calls: Vec<Value> = Vec::new();
    for update in updates.iter().filter(|update| update["toolCallId"].is_string()) {
        let mut update = update.clone();
        update.as_object_mut().unwrap().remove("sessionUpdate");
        match calls.iter_mut().find(|call| call["toolCallId"] == update["toolCallId"]) {
            Some(known) => *known = update,
            None => calls.push(update),
        }
    }
    calls
}

fn requests(editor: &Editor, method: &str) -> Vec<Value> {
    let is_one = |message: &&Value| message["method"] == method && message.get("id").is_some();
    editor.said.iter().filter(is_one).map(|message| message["params"].clone()).collect()
}

#[tokio::test]
async fn a_planned_run_is_a_plan_with_thoughts_and_its_last_step_answers() {
    let world = World::new();
    let (mut editor, id) = world.with_session("auto").await;
    assert_eq!(editor.prompt(&id, "What is it?").await, "end_turn");
    let updates = editor.updates(0);
    let plans: Vec<&Value> = updates.iter().filter(|update| update["sessionUpdate"] == "plan").collect();
    let states = |plan: &Value| {
        plan["entries"].as_array().unwrap().iter().map(|step| step["status"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(states(plans[0]).len(), 2);
    assert_eq!(states(plans.last().unwrap()), ["completed", "completed"]);
    let last = &plans.last().unwrap()["entries"][1];
    assert_eq!((&last["content"], &last["priority"]), (&json!("Does answer"), &json!("medium")));
    assert_eq!(last["_meta"]["updraft.dev/step"]["after"], json!(["look"]));
    assert_eq!(editor.text(0, "agent_thought_chunk"), "Where to begin?I have looked.Threads become cloth.");
    assert_eq!(editor.text(0, "agent_message_chunk"), "A loom.");
    // What is loaded says the same, in the same order.
    let before = editor.said.len();
    editor.call("session/load", world.known(&id)).await.unwrap();
    assert_eq!(editor.text(before, "user_message_chunk"), "What is it?");
    assert_eq!(editor.text(before, "agent_thought_chunk"), "Where to begin?I have looked.Threads become cloth.");
    assert_eq!(editor.text(before, "agent_message_chunk"), "A loom.");
    let loaded = editor.updates(before);
    assert_eq!(kinds(&loaded)[..2], ["user_message_chunk", "plan"]);
}

#[tokio::test]
async fn an_edit_is_a_call_with_a_diff_and_a_place() {
    let world = World::new();
    std::fs::write(world.folder.join("notes.md"), "one\n").unwrap();
    let (mut editor, id) = world.with_session("coder").await;
    assert_eq!(editor.prompt(&id, "Inscribe the notes").await, "end_turn");
    assert_eq!(std::fs::read_to_string(world.folder.join("notes.md")).unwrap(), "one\ntwo\n");
    let updates = editor.updates(0);
    let calls = calls(&updates);
    let [call] = calls.as_slice() else { panic!("{calls:?}") };
    assert_eq!(
        (&call["kind"], &call["status"], &call["title"]),
        (&json!("edit"), &json!("completed"), &json!("Write `notes.md`"))
    );
    let path = json!(world.folder.join("notes.md"));
    assert_eq!(call["content"], json!([{ "type": "diff", "path": path, "oldText": "one\n", "newText": "one\ntwo\n" }]));
    assert_eq!(call["locations"][0], json!({ "path": path }));
    assert!(kinds(&updates).contains(&"tool_call"));
    assert_eq!(editor.text(0, "agent_message_chunk"), "I begin.It is written.");
    let before = editor.said.len();
    editor.call("session/load", world.known(&id)).await.unwrap();
    assert_eq!(crate::conversations::calls(&editor.updates(before)), calls);
}

#[tokio::test]
async fn a_permission_is_given_once_for_all_or_refused() {
    let world = World::new();
    let hook = world.folder.join(".git/hooks/pre-commit");
    let (mut editor, id) = world.with_session("coder").await;
    editor.picks = "reject_once";
    assert_eq!(editor.prompt(&id, "Hook").await, "end_turn");
    assert!(!hook.exists());
    let asked = requests(&editor, "session/request_permission");
    let kinds: Vec<&Value> = asked[0]["options"].as_array().unwrap().iter().map(|option| &option["kind"]).collect();
    assert_eq!((kinds[0], kinds[kinds.len() - 1]), (&json!("allow_once"), &json!("reject_once")));
    let call = calls(&editor.updates(0)).remove(0);
    assert_eq!((&call["status"], &call["toolCallId"]), (&json!("failed"), &asked[0]["toolCall"]["toolCallId"]));
    // An editor that cannot ask is one that refuses.
    editor.picks = "error";
    assert_eq!(editor.prompt(&id, "Hook").await, "end_turn");
    assert!(!hook.exists());
    editor.picks = "cancelled";
    assert_eq!(editor.prompt(&id, "Hook").await, "cancelled");
    assert!(!hook.exists());
    editor.picks = "allow_once";
    assert_eq!(editor.prompt(&id, "Hook").await, "end_turn");
    assert_eq!(std::fs::read_to_string(&hook).unwrap(), "#!/bin/sh\n");
    assert_eq!(requests(&editor, "session/request_permission").len(), 4);
}

#[tokio::test]
async fn a_choice_is_a_permission_with_the_answers_and_a_form_where_the_editor_has_forms() {
    let world = World::new();
    let (mut editor, id) = world.with_session("clarification").await;
    assert_eq!(editor.prompt(&id, "Pick a colour").await, "end_turn");
    let asked = requests(&editor, "session/request_permission").remove(0);
    let names: Vec<&Value> = asked["options"].as_array().unwrap().iter().map(|option| &option["name"]).collect();
    assert_eq!(names, ["red", "blue", "Do not answer"]);
    assert!(editor.text(0, "agent_message_chunk").ends_with("Which colour? (red / blue)Thank you."));
    let mut with_forms = world.editor();
    let able = json!({ "protocolVersion": 1, "clientCapabilities": { "elicitation": { "form": {} } } });
    with_forms.call("initialize", able).await.unwrap();
    let id = world.session(&mut with_forms, "clarification").await;
    assert_eq!(with_forms.prompt(&id, "Pick a colour").await, "end_turn");
    let asked = requests(&with_forms, "elicitation/create").remove(0);
    assert_eq!(asked["requestedSchema"]["properties"]["answer"]["enum"], json!(["red", "blue"]));
    assert!(with_forms.text(0, "agent_message_chunk").ends_with("Blue it is."));
}

#[tokio::test]
async fn a_question_in_words_ends_the_turn_and_the_next_prompt_answers_it() {
    let world = World::new();
    let (mut editor, id) = world.with_session("clarification").await;
    assert_eq!(editor.prompt(&id, "Tell me who I am").await, "end_turn");
    assert!(editor.text(0, "agent_message_chunk").ends_with("What is your name?"));
    let before = editor.said.len();
    assert_eq!(editor.prompt(&id, "Ada").await, "end_turn");
    assert_eq!(editor.text(before, "agent_message_chunk"), "Thank you.");
    assert_eq!(editor.text(before, "user_message_chunk"), "", "the editor knows what it has sent");
    let before = editor.said.len();
    editor.call("session/load", world.known(&id)).await.unwrap();
    assert_eq!(editor.text(before, "user_message_chunk"), "Tell me who I amAda");
}

#[tokio::test]
async fn what_an_editor_left_open_goes_on_in_the_next_one() {
    let world = World::new();
    let (mut editor, id) = world.with_session("coder").await;
    editor.prompt(&id, "What is it?").await;
    editor.ask("session/prompt", prompt(&id, "Hook")).await;
    while editor.next().await.unwrap()["method"] != "session/request_permission" {}
    editor.leave().await;
    let mut later = world.connected().await;
    later.call("session/load", world.known(&id)).await.unwrap();
    assert_eq!(later.text(0, "user_message_chunk"), "What is it?Hook");
    assert_eq!(calls(&later.updates(0)).len(), 0, "the call was never made");
    let before = later.said.len();
    assert_eq!(later.prompt(&id, "Go on").await, "end_turn");
    assert_eq!(requests(&later, "session/request_permission").len(), 1);
    // The model saw the message after the result of its call.
    assert_eq!(later.text(before, "agent_message_chunk"), "A loom.");
    assert_eq!(calls(&later.updates(before))[0]["status"], "completed");
    assert!(world.folder.join(".git/hooks/pre-commit").exists());
    // The conversation is one of two runs, and the next prompt begins a third.
    later.prompt(&id, "And now?").await;
    let book = updraft_workbench::service::ConversationBook::open(&world.folders()).unwrap().unwrap();
    let [conversation] = book.conversations(None).unwrap().try_into().unwrap();
    assert_eq!((conversation.root.as_str(), conversation.runs.len()), (id.as_str(), 3));
    book.close().await;
}

#[tokio::test]
async fn a_failed_run_says_why_and_the_session_goes_on() {
    let world = World::new();
    let (mut editor, id) = world.with_session("coder").await;
    assert_eq!(editor.prompt(&id, "Stumble").await, "end_turn");
    let said = editor.text(0, "agent_message_chunk");
    assert!(said.contains("did not succeed") || said.contains("has stopped"), "{said}");
}
