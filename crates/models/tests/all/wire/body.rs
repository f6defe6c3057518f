//! What is sent, byte for byte.

use std::sync::Arc;

use serde_json::{Value, json};
use updraft_models::RequestDraft;
use updraft_run::{Message, ModelAnswer, ToolCall, ToolResult, ToolSpec};

use super::server::{Server, says, stream};
use super::talk::{Talk, model};

fn call(id: &str, args: Value) -> ToolCall {
    ToolCall { id: id.to_owned(), name: "read".to_owned(), args, fault: None }
}

fn result(call: &str, text: &str) -> ToolResult {
    ToolResult { call: call.to_owned(), name: "read".to_owned(), text: text.to_owned(), is_error: false }
}

fn long_talk() -> Talk {
    let mut talk = Talk::new();
    let parameters = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    talk.tools = vec![ToolSpec { name: "read".to_owned(), description: "Reads a \"file\".".to_owned(), parameters }];
    let calls = vec![call("a", json!({"path": "x\ny"})), call("b", Value::Null)];
    talk.messages = vec![
        Message::User("Hello".into()),
        Message::Assistant(Arc::new(ModelAnswer { calls, reasoning: "not sent".to_owned(), ..ModelAnswer::default() })),
        Message::Results(vec![result("a", "{\"role\":\"tool\"}"), result("b", "")]),
        Message::Assistant(Arc::new(ModelAnswer { text: "Done".to_owned(), ..ModelAnswer::default() })),
        Message::User("Thanks".into()),
        Message::Assistant(Arc::new(ModelAnswer::default())),
        Message::User("More".into()),
    ];
    talk
}

#[tokio::test]
async fn the_body_is_what_servers_expect() {
    let server = Server::always(stream(&says("hi"))).await;

    long_talk().ask(&*model(&server)).await.unwrap();

    let expected = concat!(
        r#"{"model":"test","stream":true,"stream_options":{"include_usage":true},"#,
        r#""tools":[{"type":"function","function":{"name":"read","description":"Reads a \"file\".","#,
        r#""parameters":{"properties":{"path":{"type":"string"}},"type":"object"}}}],"#,
        r#""messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hello"},"#,
        r#"{"role":"assistant","content":null,"tool_calls":["#,
        r#"{"id":"a","type":"function","function":{"name":"read","arguments":"{\"path\":\"x\\ny\"}"}},"#,
        r#"{"id":"b","type":"function","function":{"name":"read","arguments":"{}"}}]},"#,
        r#"{"role":"tool","tool_call_id":"a","content":"{\"role\":\"tool\"}"},"#,
        r#"{"role":"tool","tool_call_id":"b","content":""},"#,
        r#"{"role":"assistant","content":"Done"},{"role":"user","content":"Thanks"},"#,
        r#"{"role":"assistant","content":""},{"role":"user","content":"More"}],"max_tokens":100}"#,
    );
    assert_eq!(server.bodies(), [expected]);
    assert_eq!(expected.matches(r#""role":"tool""#).count(), 2);
    let head = server.heads().remove(0);
    assert!(head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("authorization: Bearer sk-secret-of-ours\r\n"), "{head}");
    assert!(head.contains("content-type: application/json\r\n"), "{head}");
}

#[tokio::test]
async fn each_body_begins_with_the_one_before_and_is_the_same_when_made_anew() {
    let server = Server::always(stream(&says("hi"))).await;
    let model = model(&server);
    let whole = long_talk();
    let mut grown = long_talk();
    for length in [1, 3, 5, 7] {
        grown.messages = whole.messages[..length].to_vec();
        grown.ask(&*model).await.unwrap();
    }
    let mut anew = long_talk();
    anew.ask(&*model).await.unwrap();

    let bodies = server.bodies();
    for pair in bodies[..4].windows(2) {
        let kept = pair[0].strip_suffix(r#"],"max_tokens":100}"#).unwrap();
        assert!(pair[1].starts_with(kept));
    }
    assert_eq!(bodies[3], bodies[4]);
}

#[tokio::test]
async fn a_conversation_that_became_shorter_is_written_anew() {
    let server = Server::always(stream(&says("hi"))).await;
    let model = model(&server);
    let mut talk = long_talk();
    talk.ask(&*model).await.unwrap();
    talk.messages.truncate(1);
    talk.ask(&*model).await.unwrap();
    talk.draft = RequestDraft::default();
    talk.ask(&*model).await.unwrap();

    let bodies = server.bodies();
    assert_eq!(bodies[1], bodies[2]);
}

#[tokio::test]
async fn a_schema_is_sent_where_no_tools_are() {
    let server = Server::always(stream(&says("hi"))).await;
    let mut talk = Talk::new();
    talk.schema = Some(json!({"type": "object"}));
    talk.ask(&*model(&server)).await.unwrap();
    let mut talk = long_talk();
    talk.schema = Some(json!({"type": "object"}));
    talk.ask(&*model(&server)).await.unwrap();

    let tail = r#"],"response_format":{"type":"json_schema","json_schema":{"name":"answer","schema":{"type":"object"}}},"max_tokens":100}"#;
    assert!(server.bodies()[0].ends_with(tail));
    assert!(!server.bodies()[1].contains("response_format"));
}
