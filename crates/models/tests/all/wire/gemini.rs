//! What Gemini says, however its stream is cut.

use std::sync::Arc;

use serde_json::{Value, json};
use updraft_models::{Model, resolve};
use updraft_run::{FinishReason, ModelAnswer, TokenUsage, ToolCall};

use super::server::{Act, Server, status, stream, stream_in};
use super::talk::{Talk, access};

pub(crate) const FLASH: &str = "gemini/gemini-2.5-flash";
pub(crate) const THREE: &str = "gemini/gemini-3-flash-preview";

pub(crate) fn model(server: &Server, name: &str) -> Arc<dyn Model> {
    resolve(name, &access(server)).unwrap()
}

/// Events of these data, as Google ends them; there is no last word.
pub(crate) fn events(data: &[&str]) -> String {
    format!("data: {}\r\n\r\n", data.join("\r\n\r\ndata: "))
}

/// The shortest answer.
pub(crate) fn says(text: &str) -> String {
    events(&[&format!(
        r#"{{"candidates":[{{"content":{{"parts":[{{"text":"{text}"}}],"role":"model"}},"finishReason":"STOP"}}],"usageMetadata":{{"promptTokenCount":7,"candidatesTokenCount":2}}}}"#
    )])
}

async fn hear(exchange: Vec<Act>) -> (ModelAnswer, Vec<String>) {
    let server = Server::new(vec![exchange]).await;
    let mut talk = Talk::new();
    let answer = talk.ask(&*model(&server, FLASH)).await.unwrap();
    (answer, talk.heard)
}

fn call(id: &str, name: &str, args: Value) -> ToolCall {
    ToolCall { id: id.to_owned(), name: name.to_owned(), args, fault: None }
}

fn parts(parts: &str, finish: &str) -> String {
    format!(r#"{{"candidates":[{{"content":{{"parts":[{parts}],"role":"model"}},"index":0{finish}}}]}}"#)
}

#[tokio::test]
async fn text_reasoning_and_usage_are_folded_and_heard() {
    let (answer, heard) = hear(stream(&events(&[
        r#"{"candidates":[{"content":{"parts":[{"text":"Hm, ","thought":true}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":55,"totalTokenCount":55,"thoughtsTokenCount":3},"modelVersion":"x"}"#,
        r#"{"candidates":[{"content":{"parts":[{"text":"well.","thought":true},{"text":"Gr\u00fc\u00df"}]}}],"usageMetadata":{"promptTokenCount":55,"candidatesTokenCount":1}}"#,
        r#"{"candidates":[{"index":1,"content":{"parts":[{"text":"another candidate"}]}}]}"#,
        r#"{"candidates":[{"content":{"parts":[{"text":" Gott"}],"role":"model"},"safetyRatings":[{"category":"X"}]}],"unknown":{"a":1}}"#,
        r#"{"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":257,"candidatesTokenCount":9,"thoughtsTokenCount":4,"cachedContentTokenCount":100,"toolUsePromptTokenCount":3,"promptTokensDetails":[{"modality":"TEXT","tokenCount":240},{"modality":"IMAGE","tokenCount":17}]}}"#,
    ])))
    .await;

    let usage = TokenUsage { input: 260, output: 13, cached: 100, pictures: 17, reasoning: 4, ..TokenUsage::default() };
    let text = "Grüß Gott".to_owned();
    assert_eq!(answer, ModelAnswer { text, reasoning: "Hm, well.".to_owned(), usage, ..ModelAnswer::default() });
    assert_eq!(heard, ["reasoning Hm, ", "reasoning well.", "text Grüß", "text  Gott"]);
}

#[tokio::test]
async fn parallel_calls_are_the_same_however_the_stream_is_cut() {
    let first = parts(
        r#"{"text":"Ich läse"},{"functionCall":{"name":"read","args":{"path":"ä.txt"}},"thoughtSignature":"c2ln"}"#,
        "",
    );
    let second = parts(r#"{"functionCall":{"id":"x7","name":"list","args":{}}},{"functionCall":{"name":"now"}}"#, "");
    let last = parts(r#"{"text":"","thoughtSignature":"ZW5k"}"#, r#","finishReason":"STOP""#);
    let expected = [call("c1.0", "read", json!({"path": "ä.txt"})), call("x7", "list", json!({}))];
    let marks = [
        json!({"of": FLASH, "part": "call", "from": 9, "to": 9, "calls": 0, "signature": "c2ln"}),
        json!({"of": FLASH, "part": "text", "from": 9, "to": 9, "calls": 3, "signature": "ZW5k"}),
    ];
    let crlf = format!(": hello\r\n\r\n{}", events(&[&first, &second, &last]));
    for text in [crlf.clone(), crlf.replace("\r\n", "\n")] {
        for size in [1, 2, 3, 7, 50, 1000, 100_000] {
            let (answer, heard) = hear(stream_in(size, &text)).await;

            assert_eq!(answer.calls[..2], expected, "{size}");
            assert_eq!(answer.calls[2], call("c1.2", "now", json!({})));
            assert_eq!((answer.opaque.as_slice(), answer.finish), (marks.as_slice(), FinishReason::Stop));
            assert_eq!(heard, ["text Ich läse", "call read", "call list", "call now"]);
        }
    }
}

#[tokio::test]
async fn reasons_to_stop_are_told_apart() {
    let cases = [
        ("STOP", FinishReason::Stop),
        ("MAX_TOKENS", FinishReason::Length),
        ("SAFETY", FinishReason::Filtered),
        ("RECITATION", FinishReason::Filtered),
        ("PROHIBITED_CONTENT", FinishReason::Filtered),
        ("A_NEW_ONE", FinishReason::Filtered),
    ];
    for (reason, finish) in cases {
        let (answer, _) = hear(stream(&events(&[
            &parts(r#"{"text":"a"}"#, ""),
            // The last may have no parts, or no content at all.
            &format!(r#"{{"candidates":[{{"content":{{"role":"model"}},"finishReason":"{reason}"}}]}}"#),
        ])))
        .await;
        assert_eq!((answer.text.as_str(), answer.finish), ("a", finish), "{reason}");
    }
}

#[tokio::test]
async fn a_blocked_prompt_is_filtered() {
    let (answer, _) = hear(stream(&events(&[
        r#"{"promptFeedback":{"blockReason":"SAFETY","safetyRatings":[]},"usageMetadata":{"promptTokenCount":7}}"#,
    ])))
    .await;

    let usage = TokenUsage { input: 7, ..TokenUsage::default() };
    let withheld = "SAFETY".to_owned();
    assert_eq!(answer, ModelAnswer { finish: FinishReason::Filtered, withheld, usage, ..ModelAnswer::default() });
}

#[tokio::test]
async fn a_call_cut_off_by_the_limit_has_a_fault() {
    let (answer, _) = hear(stream(&events(&[&parts(
        r#"{"functionCall":{"name":"rm","args":{"path":"/"}}}"#,
        r#","finishReason":"MAX_TOKENS""#,
    )])))
    .await;

    let fault = Some("the answer was cut off at the limit on output".to_owned());
    assert_eq!(answer.calls, [ToolCall { fault, ..call("c1.0", "rm", json!({})) }]);
}

#[tokio::test]
async fn a_call_that_google_could_not_read_is_told_to_the_model() {
    let (answer, heard) = hear(stream(&events(&[
        r#"{"candidates":[{"content":{},"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"Malformed function call: print(default_api.read(path='a'))"}],"usageMetadata":{"promptTokenCount":9}}"#,
    ])))
    .await;

    let fault = "the call could not be read; write it as a function call with JSON: Malformed function call: print(default_api.read(path='a'))";
    assert_eq!(answer.calls, [ToolCall { fault: Some(fault.to_owned()), ..call("c1.0", "read", json!({})) }]);
    assert_eq!((answer.finish, answer.usage.input), (FinishReason::Stop, 9));
    assert_eq!(heard, ["call read"]);
}

#[tokio::test]
async fn arguments_that_are_no_object_are_a_fault() {
    let (answer, _) = hear(stream(&events(&[&parts(
        r#"{"functionCall":{"name":"f","args":[1]}},{"functionCall":{"name":"g","args":null}}"#,
        r#","finishReason":"STOP""#,
    )])))
    .await;

    let fault = Some("the arguments are not an object: `[1]`".to_owned());
    assert_eq!(answer.calls, [ToolCall { fault, ..call("c1.0", "f", json!({})) }, call("c1.1", "g", json!({}))]);
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_understood() {
    let one = r#"{"candidates":[{"content":{"parts":[{"text":"two "}]}}]}"#;
    let two = r#"{"candidates":[{"content":{"parts":[{"text":"parts"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":4}}"#;
    let whole = two.replace("parts\"}", "two parts\"}");
    for body in [format!("[{one}\n,\r\n{two}]"), whole] {
        let (answer, _) = hear(status(200, "", &body)).await;

        let usage = TokenUsage { input: 3, output: 4, ..TokenUsage::default() };
        assert_eq!(answer, ModelAnswer { text: "two parts".to_owned(), usage, ..ModelAnswer::default() });
    }
}

#[tokio::test]
async fn missing_usage_is_estimated() {
    let (answer, _) = hear(stream(&events(&[&parts(r#"{"text":"twelve bytes"}"#, r#","finishReason":"STOP""#)]))).await;

    assert!(answer.usage.estimated);
    assert_eq!(answer.usage.output, 3);
}
