//! The 56 requirements of acp-tck for version 1 of the protocol, by their ids. Those about what we do not offer say so.

use serde_json::{Value, json};

use crate::allowed_keys;
use crate::world::{Editor, World, prompt};

/// A picture with one white pixel.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4//8/AAX+Av4N70a4AAAAAElFTkSuQmCC";
const REASONS: [&str; 5] = ["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"];

/// Every requirement, as the kit names it.
const ALL: [&str; 56] = [
    "TRANSPORT-001",
    "TRANSPORT-002",
    "JSONRPC-001",
    "JSONRPC-002",
    "JSONRPC-003",
    "JSONRPC-004",
    "JSONRPC-005",
    "INIT-001",
    "INIT-002",
    "INIT-003",
    "INIT-004",
    "SCHEMA-001",
    "SCHEMA-002",
    "SESSION-001",
    "SESSION-002",
    "PROMPT-001",
    "PROMPT-002",
    "PROMPT-003",
    "CANCEL-001",
    "CANCEL-002",
    "LOAD-001",
    "LOAD-002",
    "LOAD-003",
    "RESUME-001",
    "RESUME-002",
    "LIST-001",
    "LIST-002",
    "DELETE-001",
    "DELETE-002",
    "CLOSE-001",
    "CLOSE-002",
    "ADDDIRS-001",
    "MODES-001",
    "MODES-002",
    "CONFIG-001",
    "CONFIG-002",
    "CONFIG-003",
    "PROMPTCAP-001",
    "PROMPTCAP-002",
    "PROMPTCAP-003",
    "AUTH-001",
    "AUTH-002",
    "AUTH-003",
    "AUTH-004",
    "AUTH-005",
    "CLIENTCAP-001",
    "CLIENTCAP-002",
    "CLIENTCAP-003",
    "EXT-001",
    "META-001",
    "ERROR-001",
    "SHUTDOWN-001",
    "STDERR-001",
    "INFO-PARSE-001",
    "INFO-INVALIDREQ-001",
    "INFO-UNKNOWNSESSION-001",
];

#[test]
fn every_requirement_of_the_kit_is_tried() {
    let source = include_str!("requirements.rs");
    let missing: Vec<&&str> = ALL.iter().filter(|id| !source.contains(&format!("ACP-{id}"))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

fn initialize(version: u16) -> Value {
    json!({ "protocolVersion": version, "clientCapabilities": {} })
}

fn ended(outcome: Result<Value, Value>) -> String {
    let reason = outcome.unwrap()["stopReason"].as_str().unwrap().to_owned();
    assert!(REASONS.contains(&reason.as_str()), "{reason}");
    reason
}

/// A prompt that takes long, until the agent has begun to work on it.
async fn begun(editor: &mut Editor, session: &str) -> u64 {
    let id = editor.ask("session/prompt", prompt(session, "Dawdle, please.")).await;
    loop {
        let message = editor.next().await.unwrap();
        if message["params"]["update"]["sessionUpdate"] == "session_info_update" {
            return id;
        }
    }
}

/// ACP-INIT-001, ACP-INIT-002, ACP-INIT-003, ACP-INIT-004, ACP-AUTH-001, ACP-AUTH-002, ACP-AUTH-003, ACP-AUTH-004,
/// ACP-AUTH-005, ACP-ADDDIRS-001, ACP-PROMPTCAP-002
#[tokio::test]
async fn the_agent_introduces_itself_and_never_echoes_an_unknown_version() {
    let world = World::new();
    let mut editor = world.editor();
    let own = editor.call("initialize", initialize(1)).await.unwrap();
    assert_eq!(own["protocolVersion"], 1);
    assert!(own["agentInfo"]["name"] == "updraft" && own["agentInfo"]["version"].is_string());
    let mut later = world.editor();
    let mut future = initialize(65535);
    future["info"] = json!({ "name": "an editor of tomorrow", "version": "9" });
    assert_eq!(later.call("initialize", future).await.unwrap()["protocolVersion"], 1);
    // Nothing has to be proved to the agent, so sessions begin at once and there is nothing to log out of.
    assert_eq!(own["authMethods"], json!([]));
    assert!(own["agentCapabilities"]["auth"]["logout"].is_null());
    assert!(editor.call("session/new", world.place()).await.is_ok());
    // Neither folders besides the one, nor sounds.
    assert!(own["agentCapabilities"]["sessionCapabilities"]["additionalDirectories"].is_null());
    assert_eq!(own["agentCapabilities"]["promptCapabilities"]["audio"], false);
}

/// ACP-TRANSPORT-001, ACP-TRANSPORT-002, ACP-SCHEMA-001, ACP-SCHEMA-002, ACP-PROMPT-002, ACP-STDERR-001 (nothing of the agent
/// prints: the lints forbid it), ACP-SHUTDOWN-001
#[tokio::test]
async fn every_line_is_a_message_of_the_protocol_and_the_agent_leaves_with_the_editor() {
    let world = World::new();
    let mut editor = world.editor();
    let mut methods = Vec::new();
    macro_rules! call {
        ($method:literal, $params:expr) => {{
            let id = editor.ask($method, $params).await;
            methods.push((id, $method));
            editor.answer(id).await.unwrap()
        }};
    }
    call!("initialize", initialize(1));
    let first = call!("session/new", world.place())["sessionId"].as_str().unwrap().to_owned();
    call!("session/prompt", prompt(&first, "What is it? 織機"));
    call!("session/set_mode", json!({ "sessionId": first, "modeId": "read-only" }));
    call!("session/set_config_option", json!({ "sessionId": first, "configId": "mode", "value": "workspace" }));
    call!("session/set_config_option", json!({ "sessionId": first, "configId": "agent", "value": "coder" }));
    for text in ["Hook", "Inscribe", "Stumble"] {
        call!("session/prompt", prompt(&first, text));
    }
    call!("session/set_config_option", json!({ "sessionId": first, "configId": "agent", "value": "clarification" }));
    call!("session/prompt", prompt(&first, "Pick a colour"));
    call!("session/load", world.known(&first));
    call!("session/resume", world.known(&first));
    call!("session/list", json!({}));
    call!("session/close", json!({ "sessionId": first }));
    call!("session/delete", json!({ "sessionId": first }));
    let updates = editor.said.iter().filter(|message| message["method"] == "session/update");
    assert!(
        updates.clone().count() > 20 && updates.clone().all(|update| update["params"]["sessionId"] == json!(first))
    );
    let (late, said) = editor.leave().await;
    assert_eq!(late, Vec::<Value>::new());
    allowed_keys::check_all(&said, |id| {
        methods.iter().find(|(asked, _)| json!(asked) == *id).map(|(_, method)| *method)
    });
}

/// ACP-JSONRPC-001, ACP-JSONRPC-002, ACP-JSONRPC-003, ACP-JSONRPC-004, ACP-JSONRPC-005, ACP-EXT-001, ACP-ERROR-001,
/// ACP-INFO-PARSE-001, ACP-INFO-INVALIDREQ-001, ACP-INFO-UNKNOWNSESSION-001
#[tokio::test]
async fn ids_are_echoed_notifications_get_no_answer_and_what_is_wrong_does_not_end_the_conversation() {
    let world = World::new();
    let mut editor = world.editor();
    editor
        .write(&json!({ "jsonrpc": "2.0", "id": 424_242, "method": "initialize", "params": initialize(1) }).to_string())
        .await;
    assert_eq!(editor.answer(424_242).await.unwrap()["protocolVersion"], 1);
    editor
        .write(
            &json!({ "jsonrpc": "2.0", "id": "a text", "method": "session/new", "params": world.place() }).to_string(),
        )
        .await;
    let id = editor.answer("a text").await.unwrap()["sessionId"].as_str().unwrap().to_owned();
    editor.notify("session/cancel", json!({ "sessionId": id })).await;
    editor.notify("session/cancel", json!({ "sessionId": "unknown" })).await;
    editor.notify("_tck/unknown", json!({})).await;
    editor.notify("$/cancel_request", json!({ "requestId": 7 })).await;
    editor.write("{not JSON").await;
    assert_eq!(editor.answer(Value::Null).await.unwrap_err()["code"], -32700);
    editor.write(r#"{"foo": "bar"}"#).await;
    assert_eq!(editor.answer(Value::Null).await.unwrap_err()["code"], -32600);
    let mut code = async |method: &str, params: Value| editor.call(method, params).await.unwrap_err()["code"].clone();
    assert_eq!(code("_tck/does_not_exist", Value::Null).await, -32601);
    assert_eq!(code("session/fork", json!({ "sessionId": id })).await, -32601);
    assert_eq!(code("session/new", json!({ "mcpServers": [] })).await, -32602);
    assert_eq!(code("session/new", json!({ "cwd": "relative", "mcpServers": [] })).await, -32602);
    assert_eq!(code("session/prompt", prompt("unknown", "Hello")).await, -32002);
    assert_eq!(code("session/load", world.known("unknown")).await, -32002);
    assert_eq!(code("session/list", json!({ "cursor": "x" })).await, -32602);
    assert!(editor.call("session/new", world.place()).await.is_ok());
    let (late, said) = editor.leave().await;
    assert!(late.is_empty() && said.iter().all(|message| message.get("id").is_some()), "no notification was answered");
    allowed_keys::check_all(&said, |_| None);
}

/// ACP-SESSION-001, ACP-SESSION-002, ACP-MODES-001, ACP-MODES-002, ACP-CONFIG-001, ACP-CONFIG-002, ACP-CONFIG-003
#[tokio::test]
async fn sessions_have_ids_of_their_own_and_offer_choices_that_can_be_made() {
    let world = World::new();
    let mut editor = world.connected().await;
    let new = editor.call("session/new", world.place()).await.unwrap();
    let other = editor.call("session/new", world.place()).await.unwrap();
    let id = new["sessionId"].as_str().unwrap();
    assert!(!id.is_empty() && new["sessionId"] != other["sessionId"]);
    let modes: Vec<&Value> =
        new["modes"]["availableModes"].as_array().unwrap().iter().map(|mode| &mode["id"]).collect();
    assert_eq!(modes, ["read-only", "workspace", "full"]);
    assert_eq!(new["modes"]["currentModeId"], "workspace");
    let options = new["configOptions"].as_array().unwrap();
    for option in options {
        assert_eq!(option["type"], "select", "no editor is shown a switch that it does not know");
        let values: Vec<&Value> = option["options"].as_array().unwrap().iter().map(|one| &one["value"]).collect();
        assert!(values.contains(&&option["currentValue"]), "{option}");
    }
    editor.call("session/set_mode", json!({ "sessionId": id, "modeId": "full" })).await.unwrap();
    let update = editor.updates(0).pop().unwrap();
    assert_eq!(update, json!({ "sessionUpdate": "current_mode_update", "currentModeId": "full" }));
    for (option, value) in [("mode", "read-only"), ("agent", "thinker")] {
        let choice = json!({ "sessionId": id, "configId": option, "value": value });
        let all = editor.call("session/set_config_option", choice).await.unwrap();
        let ids = |list: &[Value]| list.iter().map(|option| option["id"].clone()).collect::<Vec<_>>();
        let all = all["configOptions"].as_array().unwrap();
        assert_eq!(ids(all), ids(options));
        assert_eq!(all.iter().find(|one| one["id"] == option).unwrap()["currentValue"], value);
    }
    for (option, value) in [("mode", json!("none")), ("model", json!(true)), ("colour", json!("red"))] {
        let choice = json!({ "sessionId": id, "configId": option, "value": value });
        assert_eq!(editor.call("session/set_config_option", choice).await.unwrap_err()["code"], -32602);
    }
    // What was chosen is there again.
    let (_, _) = editor.leave().await;
    let mut later = world.connected().await;
    let loaded = later.call("session/load", world.known(id)).await.unwrap();
    assert_eq!(loaded["modes"]["currentModeId"], "read-only");
    assert_eq!(loaded["configOptions"][2]["currentValue"], "thinker");
}

/// ACP-PROMPT-001, ACP-PROMPT-003, ACP-PROMPTCAP-001, ACP-PROMPTCAP-003, ACP-META-001
#[tokio::test]
async fn prompts_with_text_links_pictures_and_files_come_to_an_end() {
    let world = World::new();
    let (mut editor, id) = world.with_session("coder").await;
    let file = format!("file://{}/context.txt", world.folder.display());
    let image = json!({ "type": "image", "data": PIXEL, "mimeType": "image/png" });
    let link = json!({ "type": "resource_link", "uri": file, "name": "context.txt" });
    let resource =
        json!({ "type": "resource", "resource": { "uri": file, "text": "some context", "mimeType": "text/plain" } });
    for block in [json!({ "type": "text", "text": "now" }), link, image, resource] {
        let params = json!({ "sessionId": id, "prompt": [{ "type": "text", "text": "Look at this: " }, block],
                             "_meta": { "traceparent": "00-80e1afed08e019fc1110464cfa66635c-7a085853722dc6d2-01" } });
        assert_eq!(ended(editor.call("session/prompt", params).await), "end_turn");
    }
    let audio = json!({ "sessionId": id, "prompt": [{ "type": "audio", "data": "", "mimeType": "audio/wav" }] });
    assert_eq!(editor.call("session/prompt", audio).await.unwrap_err()["code"], -32602);
}

/// ACP-CANCEL-001, ACP-CANCEL-002, ACP-CLOSE-001, ACP-CLOSE-002
#[tokio::test]
async fn a_cancelled_turn_says_so_and_nothing_follows_it() {
    let world = World::new();
    let (mut editor, id) = world.with_session("coder").await;
    let turn = begun(&mut editor, &id).await;
    editor.notify("session/cancel", json!({ "sessionId": id })).await;
    assert_eq!(ended(editor.answer(turn).await), "cancelled");
    assert_eq!(editor.said.last().unwrap()["id"], turn);
    // A request can also be cancelled by itself, and the session goes on.
    let turn = editor.ask("session/prompt", prompt(&id, "Dawdle again.")).await;
    editor.notify("$/cancel_request", json!({ "requestId": turn })).await;
    assert_eq!(ended(editor.answer(turn).await), "cancelled");
    assert_eq!(editor.prompt(&id, "What is it?").await, "end_turn");
    let other = world.session(&mut editor, "coder").await;
    let turn = begun(&mut editor, &other).await;
    let closing = editor.ask("session/close", json!({ "sessionId": other })).await;
    let mut answers = Vec::new();
    while answers.len() < 2 {
        let message = editor.next().await.unwrap();
        if message.get("method").is_none() {
            answers.push((message["id"].as_u64().unwrap(), message["result"].clone()));
        }
    }
    answers.sort_by_key(|(id, _)| *id);
    assert_eq!(answers, [(turn, json!({ "stopReason": "cancelled" })), (closing, json!({}))]);
    assert_eq!(editor.call("session/close", json!({ "sessionId": id })).await.unwrap(), json!({}));
    assert_eq!(editor.leave().await.0, Vec::<Value>::new(), "no update follows");
}

/// ACP-LOAD-001, ACP-LOAD-002, ACP-LOAD-003, ACP-RESUME-001, ACP-RESUME-002
#[tokio::test]
async fn a_loaded_session_is_told_before_the_answer_and_a_resumed_one_is_not() {
    let world = World::new();
    let (mut editor, id) = world.with_session("coder").await;
    // A session without a turn can be loaded too, and the answer is an object.
    assert!(editor.call("session/load", world.known(&id)).await.unwrap().is_object());
    editor.prompt(&id, "hello").await;
    let before = editor.said.len();
    assert!(editor.call("session/load", world.known(&id)).await.unwrap().is_object());
    assert_eq!(editor.text(before, "user_message_chunk"), "hello");
    assert_eq!(editor.text(before, "agent_message_chunk"), "A loom.");
    let before = editor.said.len();
    let resume = json!({ "sessionId": id, "cwd": world.folder });
    assert!(editor.call("session/resume", resume).await.unwrap().is_object());
    assert_eq!(editor.updates(before), Vec::<Value>::new());
    assert_eq!(editor.leave().await.0, Vec::<Value>::new(), "nothing follows the answers");
}

/// ACP-LIST-001, ACP-LIST-002, ACP-DELETE-001, ACP-DELETE-002
#[tokio::test]
async fn sessions_are_listed_until_they_are_deleted_with_or_without_a_turn() {
    let world = World::new();
    let mut editor = world.connected().await;
    assert_eq!(editor.call("session/list", json!({})).await.unwrap(), json!({ "sessions": [] }));
    let unused = world.session(&mut editor, "coder").await;
    let used = world.session(&mut editor, "coder").await;
    editor.prompt(&used, "What is a loom?").await;
    let listed = async |editor: &mut Editor, params: Value| {
        let list = editor.call("session/list", params).await.unwrap();
        list["sessions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["sessionId"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let mut all = listed(&mut editor, json!({ "cwd": world.folder })).await;
    all.sort();
    let mut expected = vec![unused.clone(), used.clone()];
    expected.sort();
    assert_eq!(all, expected);
    let empty = world.folder.join("no-session-here");
    std::fs::create_dir(&empty).unwrap();
    assert_eq!(editor.call("session/list", json!({ "cwd": empty })).await.unwrap(), json!({ "sessions": [] }));
    assert_eq!(editor.call("session/delete", json!({ "sessionId": unused })).await.unwrap(), json!({}));
    assert_eq!(listed(&mut editor, json!({})).await, std::slice::from_ref(&used));
    for id in [used.as_str(), used.as_str(), "never-created"] {
        assert_eq!(editor.call("session/delete", json!({ "sessionId": id })).await.unwrap(), json!({}));
    }
    assert_eq!(listed(&mut editor, json!({})).await, Vec::<String>::new());
    assert_eq!(editor.call("session/load", world.known(&used)).await.unwrap_err()["code"], -32002);
}

/// ACP-CLIENTCAP-001, ACP-CLIENTCAP-002, ACP-CLIENTCAP-003
#[tokio::test]
async fn an_editor_that_offers_nothing_is_asked_for_nothing_but_permissions() {
    let world = World::new();
    let mut editor = world.connected().await;
    for (agent, text) in
        [("coder", "Inscribe it"), ("coder", "Hook"), ("clarification", "Pick a colour"), ("clarification", "Tell me")]
    {
        let id = world.session(&mut editor, agent).await;
        editor.prompt(&id, text).await;
    }
    let asked: Vec<&str> = editor
        .said
        .iter()
        .filter(|message| message.get("id").is_some())
        .filter_map(|message| message["method"].as_str())
        .collect();
    assert!(asked.len() >= 2 && asked.iter().all(|method| *method == "session/request_permission"), "{asked:?}");
}
