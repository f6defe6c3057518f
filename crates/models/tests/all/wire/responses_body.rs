//! What is sent to OpenAI's responses, byte for byte.

use std::sync::Arc;

use serde_json::{Value, json};
use updraft_run::{Message, ModelAnswer, Picture, ThinkingEffort, ToolCall, ToolResult, ToolSpec};

use super::responses::{GPT, gpt, says};
use super::server::{Server, stream};
use super::talk::Talk;

fn call(id: &str, name: &str, args: Value) -> ToolCall {
    ToolCall { id: id.to_owned(), name: name.to_owned(), args, fault: None }
}

fn result(call: &str, text: &str) -> ToolResult {
    ToolResult { call: call.to_owned(), name: "read".to_owned(), text: text.to_owned(), is_error: false }
}

fn answer(answer: ModelAnswer) -> Message {
    Message::Assistant(Arc::new(answer))
}

fn thought(of: &str, text: usize, calls: usize, id: &str) -> Value {
    let item = json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": "e"});
    json!({"of": of, "text": text, "calls": calls, "item": item})
}

/// Everything that a conversation may hold, also from other models.
fn long_talk() -> Talk {
    let mut talk = Talk::new();
    let parameters = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    talk.tools = vec![ToolSpec { name: "read".to_owned(), description: "Reads a \"file\".".to_owned(), parameters }];
    let calls = vec![call("call_1", "read", json!({"path": "x\ny"})), call("c1.0", "functions.list", Value::Null)];
    let opaque = vec![
        thought(GPT, 0, 0, "rs_1"),
        json!({"of": GPT, "text": 0, "calls": 0, "phase": "commentary"}),
        thought("openai-responses/gpt-5", 0, 0, "rs_theirs"),
        thought(GPT, 3, 1, "rs_2"),
        thought(GPT, 3, 2, "rs_last"),
    ];
    let png = Picture { name: "a.png".to_owned(), mime: "image/png".to_owned(), bytes: (*b"\x89PNG\r\n\x1a\n").into() };
    let svg = Picture { name: "b.svg".to_owned(), mime: "image/svg+xml".to_owned(), ..png.clone() };
    talk.messages = vec![
        Message::User("Hello".into()),
        answer(ModelAnswer {
            text: "So:".to_owned(),
            calls,
            opaque,
            reasoning: "not sent".to_owned(),
            ..ModelAnswer::default()
        }),
        Message::Results(vec![result("call_1", "gone"), result("c1.0", "")]),
        Message::Pictures([png, svg].into()),
        answer(ModelAnswer::default()),
        Message::User("Thanks".into()),
        answer(ModelAnswer {
            text: "Done".to_owned(),
            opaque: vec![json!("odd"), json!({"of": GPT})],
            ..ModelAnswer::default()
        }),
        answer(ModelAnswer { opaque: vec![thought(GPT, 0, 0, "rs_alone")], ..ModelAnswer::default() }),
        Message::User("More".into()),
    ];
    talk
}

#[tokio::test]
async fn the_body_is_what_the_provider_expects() {
    let server = Server::always(stream(&says("hi"))).await;

    long_talk().ask(&*gpt(GPT, &server)).await.unwrap();

    let expected = concat!(
        r#"{"model":"gpt-5-mini","stream":true,"store":false,"include":["reasoning.encrypted_content"],"instructions":"Be brief.","#,
        r#""tools":[{"type":"function","name":"read","description":"Reads a \"file\".","#,
        r#""parameters":{"properties":{"path":{"type":"string"}},"type":"object"},"strict":false}],"#,
        r#""input":[{"type":"message","role":"user","content":"Hello"},"#,
        r#"{"encrypted_content":"e","id":"rs_1","summary":[],"type":"reasoning"},"#,
        r#"{"type":"message","role":"assistant","content":"So:","phase":"commentary"},"#,
        r#"{"type":"function_call","call_id":"call_1","name":"read","arguments":"{\"path\":\"x\\ny\"}"},"#,
        r#"{"encrypted_content":"e","id":"rs_2","summary":[],"type":"reasoning"},"#,
        r#"{"type":"function_call","call_id":"c1_2e0","name":"functions_list","arguments":"{}"},"#,
        r#"{"type":"function_call_output","call_id":"call_1","output":"gone"},"#,
        r#"{"type":"function_call_output","call_id":"c1_2e0","output":""},"#,
        r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"a.png"},"#,
        r#"{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,iVBORw0KGgo="},"#,
        r#"{"type":"input_text","text":"b.svg"},{"type":"input_text","text":"[a picture (image/svg+xml) that cannot be shown]"}]},"#,
        r#"{"type":"message","role":"user","content":"Thanks"},{"type":"message","role":"assistant","content":"Done"},"#,
        r#"{"type":"message","role":"user","content":"More"}],"#,
        r#""max_output_tokens":8292,"reasoning":{"summary":"auto"}}"#,
    );
    assert_eq!(server.bodies(), [expected]);
    let head = server.heads().remove(0);
    assert!(head.starts_with("POST /v1/responses HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("authorization: Bearer sk-secret-of-ours\r\n"), "{head}");
}

#[tokio::test]
async fn each_body_begins_with_the_one_before_and_is_the_same_when_made_anew() {
    let server = Server::always(stream(&says("hi"))).await;
    let model = gpt(GPT, &server);
    let whole = long_talk();
    let mut grown = long_talk();
    let thoughts =
        [ThinkingEffort::Auto, ThinkingEffort::Off, ThinkingEffort::High, ThinkingEffort::Low, ThinkingEffort::Medium];
    for (length, think) in [1, 3, 4, 6, 9].into_iter().zip(thoughts) {
        grown.messages = whole.messages[..length].to_vec();
        grown.think = think;
        grown.schema = (length > 4).then(|| json!({"type": "object"}));
        grown.ask(&*model).await.unwrap();
    }
    let mut anew = long_talk();
    (anew.think, anew.schema) = (grown.think, grown.schema.clone());
    anew.ask(&*model).await.unwrap();

    let bodies = server.bodies();
    for pair in bodies[..5].windows(2) {
        let kept = &pair[0][..pair[0].rfind(r#"],"max_output_tokens""#).unwrap()];
        assert!(pair[1].starts_with(kept));
    }
    assert_eq!(bodies[4], bodies[5]);
}

/// What a body says after its input.
async fn tail(model: &str, talk: &mut Talk) -> String {
    let server = Server::always(stream(&says("hi"))).await;
    talk.ask(&*gpt(model, &server)).await.unwrap();
    let body = server.bodies().remove(0);
    assert_eq!(body.contains("encrypted_content"), body.contains(r#""reasoning":{"#), "{body}");
    body[body.rfind(r#""max_output_tokens""#).unwrap()..].to_owned()
}

#[tokio::test]
async fn models_that_think_are_told_how_much_and_others_are_not() {
    for (model, think, expected) in [
        ("gpt-4.1", ThinkingEffort::High, r#""max_output_tokens":100}"#),
        ("gpt-5-chat-latest", ThinkingEffort::High, r#""max_output_tokens":100}"#),
        ("o3", ThinkingEffort::Low, r#""max_output_tokens":2148,"reasoning":{"effort":"low","summary":"auto"}}"#),
        (
            "gpt-5",
            ThinkingEffort::Off,
            r#""max_output_tokens":1124,"reasoning":{"effort":"minimal","summary":"auto"}}"#,
        ),
        ("gpt-5.4-mini", ThinkingEffort::Off, r#""max_output_tokens":100,"reasoning":{"effort":"none"}}"#),
        (
            "gpt-5.1-codex",
            ThinkingEffort::Off,
            r#""max_output_tokens":1124,"reasoning":{"effort":"low","summary":"auto"}}"#,
        ),
        ("gpt-6-luna", ThinkingEffort::Off, r#""max_output_tokens":100,"reasoning":{"effort":"none"}}"#),
        (
            "gpt-6.1-sol",
            ThinkingEffort::Off,
            r#""max_output_tokens":1124,"reasoning":{"effort":"low","summary":"auto"}}"#,
        ),
        ("gpt-6-astra", ThinkingEffort::Auto, r#""max_output_tokens":8292,"reasoning":{"summary":"auto"}}"#),
        (
            "gpt-6-astra",
            ThinkingEffort::Tokens(5_000),
            r#""max_output_tokens":5100,"reasoning":{"effort":"medium","summary":"auto"}}"#,
        ),
    ] {
        let mut talk = Talk::new();
        talk.think = think;
        assert_eq!(tail(&format!("openai-responses/{model}"), &mut talk).await, expected, "{model} {think:?}");
    }
}

#[tokio::test]
async fn a_temperature_is_sent_only_to_models_that_do_not_think() {
    let tail_of = async |spec: &str| tail(spec, &mut Talk::new()).await;
    assert_eq!(
        tail_of("openai-responses/gpt-4.1?temperature=0.3&max_output=5").await,
        r#""max_output_tokens":16,"temperature":0.3}"#
    );
    assert!(!tail_of("openai-responses/gpt-5?temperature=0.3").await.contains("temperature"));
}

#[tokio::test]
async fn a_schema_is_sent_also_beside_tools_and_strict_where_it_leaves_nothing_open() {
    let shut = json!({"type": "object", "properties": {}, "additionalProperties": false});
    for (schema, strict) in [(json!({"type": "object"}), false), (shut, true)] {
        let mut talk = long_talk();
        talk.schema = Some(schema.clone());
        let expected = format!(
            r#","text":{{"format":{{"type":"json_schema","name":"answer","schema":{schema},"strict":{strict}}}}}}}"#
        );
        assert!(tail(GPT, &mut talk).await.ends_with(&expected));
    }
}

#[tokio::test]
async fn what_was_thought_is_given_back_to_the_one_who_thought_it() {
    let item = r#"{"type":"response.output_item.done","output_index":7,"item":{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"e","status":null}}"#;
    let thinks = format!("data: {item}\n\n{}", says("hi"));
    let server = Server::always(stream(&thinks)).await;
    let model = gpt(GPT, &server);
    let mut talk = Talk::new();
    let first = talk.ask(&*model).await.unwrap();
    talk.messages.extend([answer(first), Message::User("Go on".into())]);
    talk.ask(&*model).await.unwrap();
    talk.ask(&*gpt("openai-responses/gpt-5", &server)).await.unwrap();

    let said = r#"{"type":"message","role":"assistant","content":"hi"}"#;
    let given = format!(r#"{{"encrypted_content":"e","id":"rs_1","summary":[],"type":"reasoning"}},{said}"#);
    let bodies = server.bodies();
    assert!(bodies[1].contains(&given), "{}", bodies[1]);
    assert!(bodies[2].contains(said) && !bodies[2].contains("rs_1"), "{}", bodies[2]);
}
