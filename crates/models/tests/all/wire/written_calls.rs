//! Models that are given native tools and write their calls as text.

use std::sync::Arc;

use serde_json::{Value, json};
use updraft_models::{CallStyles, Model, ModelAccess, ToolCallStyle, resolve};
use updraft_run::{Message, ModelAnswer, ToolResult, ToolSpec};

use super::server::{Act, Server, events, status, stream};
use super::talk::{Talk, access};

const FENCED: &str =
    "```json\n{\"name\": \"write_file\", \"arguments\": {\"content\": \"hi\", \"path\": \"hello.txt\"}}\n```";

fn said(text: &str) -> Vec<Act> {
    stream(&events(&[&json!({"choices": [{"delta": {"content": text}, "finish_reason": "stop"}]}).to_string()]))
}

fn natively_called() -> Vec<Act> {
    let call = json!({"index": 0, "id": "n1", "function": {"name": "write_file", "arguments": "{\"path\": \"a\", \"content\": \"b\"}"}});
    stream(&events(&[
        &json!({"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}).to_string()
    ]))
}

/// What llama.cpp says of its model, which each instance of a model asks first.
fn props() -> Vec<Act> {
    status(
        200,
        "",
        r#"{"chat_template_caps": {"supports_tools": true}, "default_generation_settings": {"n_ctx": 32768}}"#,
    )
}

fn bodies(server: &Server) -> Vec<Value> {
    server.bodies().iter().filter(|body| !body.is_empty()).map(|body| serde_json::from_str(body).unwrap()).collect()
}

fn talk() -> Talk {
    let properties = json!({"path": {"type": "string"}, "content": {"type": "string"}});
    let parameters = json!({"type": "object", "required": ["path", "content"], "properties": properties});
    let description = "Write a file.".into();
    Talk { tools: vec![ToolSpec { name: "write_file".into(), description, parameters }], ..Talk::new() }
}

fn model(server: &Server, styles: &CallStyles, settings: &str) -> Arc<dyn Model> {
    let access = ModelAccess { styles: styles.clone(), ..access(server) };
    resolve(&format!("openai-compatible/qwen{settings}"), &access).unwrap()
}

fn goes_on(talk: &mut Talk, answer: ModelAnswer) {
    let (call, name) = (answer.calls[0].id.clone(), answer.calls[0].name.clone());
    talk.messages.push(Message::Assistant(Arc::new(answer)));
    talk.messages.push(Message::Results(vec![ToolResult { call, name, text: "written".into(), is_error: false }]));
}

#[tokio::test]
async fn a_call_as_text_is_made_and_from_then_on_tools_are_told_in_text() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tool-calls.json");
    let server = Server::new(vec![
        props(),
        said(FENCED),
        said(r#"{"answer": "done"}"#),
        props(),
        said(r#"{"answer": "again"}"#),
    ])
    .await;
    let styles = CallStyles::at(&file);
    let asked = model(&server, &styles, "");
    let mut talk = talk();

    let answer = talk.ask(&*asked).await.unwrap();
    assert_eq!((answer.calls[0].name.as_str(), answer.text.as_str()), ("write_file", ""));
    assert_eq!(answer.calls[0].args, json!({"path": "hello.txt", "content": "hi"}));

    goes_on(&mut talk, answer);
    assert_eq!(talk.ask(&*asked).await.unwrap().text, "done");
    // Another process.
    let again = model(&server, &CallStyles::at(&file), "");
    assert_eq!(self::talk().ask(&*again).await.unwrap().text, "again");

    let bodies = bodies(&server);
    assert!(bodies[0]["tools"].is_array());
    for body in &bodies[1..] {
        assert!(body["tools"].is_null());
        assert!(body["messages"][0]["content"].as_str().unwrap().contains("## write_file"), "{body}");
        assert!(body["response_format"].is_object());
    }
    let earlier = bodies[1]["messages"][2]["content"].as_str().unwrap();
    assert_eq!(
        earlier, r#"{"action":"write_file","args":{"path":"hello.txt","content":"hi"}}"#,
        "as the example shows it"
    );
}

#[tokio::test]
async fn a_server_that_has_made_a_native_call_is_taken_at_its_word() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tool-calls.json");
    let server = Server::new(vec![props(), natively_called(), said(FENCED), props(), said(FENCED)]).await;
    let styles = CallStyles::at(&file);
    let asked = model(&server, &styles, "");
    assert_eq!(talk().ask(&*asked).await.unwrap().calls[0].id, "n1");
    let answer = talk().ask(&*asked).await.unwrap();
    assert_eq!((answer.calls.len(), answer.text.as_str()), (0, FENCED));
    let another = model(&server, &CallStyles::at(&file), "");
    assert_eq!(talk().ask(&*another).await.unwrap().text, FENCED, "it is remembered");
}

#[tokio::test]
async fn who_sets_native_tools_keeps_them_and_json_stays_an_answer() {
    let json = r#"{"name": "Ann", "arguments": {"age": 3}}"#;
    let server = Server::new(vec![props(), said(FENCED), said(json)]).await;
    let styles = CallStyles::default();
    let asked = model(&server, &styles, "?tools=native");
    assert_eq!(talk().ask(&*asked).await.unwrap().calls.len(), 1);
    assert_eq!(talk().ask(&*asked).await.unwrap().text, json);
    assert!(bodies(&server).iter().all(|body| body["tools"].is_array()));
    assert!(styles.of(&format!("openai-compatible/qwen at {}/v1", server.root())).is_none());
}

#[tokio::test]
async fn a_style_can_be_learnt_by_hand() {
    let server = Server::new(vec![props(), said(r#"{"answer": "done"}"#)]).await;
    let styles = CallStyles::default();
    styles.learn(&format!("openai-compatible/qwen at {}/v1", server.root()), ToolCallStyle::Text);
    assert_eq!(talk().ask(&*model(&server, &styles, "")).await.unwrap().text, "done");
}
