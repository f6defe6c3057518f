//! What OpenAI's responses say, however the stream is cut.

use std::sync::Arc;

use serde_json::{Value, json};
use updraft_models::{Error, Model, resolve};
use updraft_run::{FinishReason, ModelAnswer, TokenUsage, ToolCall};

use super::anthropic::events;
use super::server::{Act, Server, broken, status, stream, stream_in};
use super::talk::{Talk, access};

pub(crate) const GPT: &str = "openai-responses/gpt-5-mini";

pub(crate) fn gpt(name: &str, server: &Server) -> Arc<dyn Model> {
    resolve(name, &access(server)).unwrap()
}

/// The shortest answer.
pub(crate) fn says(text: &str) -> String {
    events(&[
        r#"{"type":"response.created","response":{"object":"response","status":"in_progress","output":[],"usage":null}}"#,
        r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"msg_1","type":"message","role":"assistant","content":[]}}"#,
        &format!(r#"{{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"{text}"}}"#),
        &format!(r#"{{"type":"response.output_text.done","output_index":0,"text":"{text}"}}"#),
        &format!(
            r#"{{"type":"response.output_item.done","output_index":0,"item":{{"type":"message","content":[{{"type":"output_text","text":"{text}"}}]}}}}"#
        ),
        END,
    ])
}

const END: &str = r#"{"type":"response.completed","response":{"object":"response","status":"completed","output":[],"usage":{"input_tokens":20,"input_tokens_details":{"cached_tokens":16,"cache_write_tokens":2},"output_tokens":9,"output_tokens_details":{"reasoning_tokens":4},"total_tokens":29}}}"#;

async fn hear(exchange: Vec<Act>) -> (ModelAnswer, Vec<String>) {
    let server = Server::new(vec![exchange]).await;
    let mut talk = Talk::new();
    let answer = talk.ask(&*gpt(GPT, &server)).await.unwrap();
    (answer, talk.heard)
}

fn call(id: &str, name: &str, args: Value) -> ToolCall {
    ToolCall { id: id.to_owned(), name: name.to_owned(), args, fault: None }
}

#[tokio::test]
async fn text_reasoning_and_usage_are_folded_and_heard() {
    let (answer, heard) = hear(stream(&events(&[
        r#"{"type":"response.created","response":{"object":"response","status":"in_progress","usage":null}}"#,
        r#"{"type":"response.in_progress","response":{"object":"response","status":"in_progress"}}"#,
        r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"half"}}"#,
        r#"{"type":"response.reasoning_summary_part.added","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}}"#,
        r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"Hm,"}"#,
        r#"{"type":"response.reasoning_summary_part.added","output_index":0,"summary_index":1,"part":{"type":"summary_text","text":""}}"#,
        r#"{"type":"response.reasoning_text.delta","output_index":0,"delta":"well."}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","status":"completed","summary":[{"type":"summary_text","text":"Hm,"}],"encrypted_content":"whole"}}"#,
        r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"message","role":"assistant","phase":"final_answer","content":[]}}"#,
        r#"{"type":"response.output_text.delta","output_index":1,"delta":"Gr\u00fc\u00df"}"#,
        r#"{"type":"response.a_new_event","output_index":1,"delta":"not ours"}"#,
        r#"{"type":"response.refusal.delta","output_index":1,"delta":" Gott\n"}"#,
        r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"message","phase":"final_answer","content":[{"type":"output_text","text":"twice"}]}}"#,
        END,
    ])))
    .await;

    let usage = TokenUsage { input: 20, output: 9, cached: 16, stored: 2, reasoning: 4, ..TokenUsage::default() };
    let item = json!({"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm,"}], "encrypted_content": "whole"});
    let opaque = vec![
        json!({"of": GPT, "text": 0, "calls": 0, "item": item}),
        json!({"of": GPT, "text": 0, "calls": 0, "phase": "final_answer"}),
    ];
    let (text, reasoning) = ("Grüß Gott\n".to_owned(), "Hm,\n\nwell.".to_owned());
    assert_eq!(answer, ModelAnswer { text, reasoning, usage, opaque, ..ModelAnswer::default() });
    assert_eq!(heard, ["reasoning Hm,", "reasoning \n\n", "reasoning well.", "text Grüß", "text  Gott\n"]);
}

const PARALLEL: [&str; 9] = [
    r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"fc_1","type":"function_call","call_id":"call_1","name":"read","arguments":""}}"#,
    r#"{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"fc_1","delta":"{\"path\": \"ä"}"#,
    r#"{"type":"response.output_item.added","output_index":1,"item":{"id":"fc_2","type":"function_call","call_id":"call_2","name":"list","arguments":""}}"#,
    r#"{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"fc_1","delta":".txt\"}"}"#,
    r#"{"type":"response.function_call_arguments.delta","output_index":1,"item_id":"fc_2","delta":"{}"}"#,
    r#"{"type":"response.function_call_arguments.done","output_index":0,"item_id":"fc_1","arguments":"{\"path\": \"ä.txt\"}"}"#,
    r#"{"type":"response.output_item.done","output_index":0,"item":{"id":"fc_1","type":"function_call","call_id":"call_1","name":"read","arguments":"{\"path\": \"ä.txt\"}"}}"#,
    r#"{"type":"response.output_item.done","output_index":2,"item":{"id":"fc_3","type":"function_call","call_id":"call_3","name":"late","arguments":"{\"x\":1}"}}"#,
    END,
];

#[tokio::test]
async fn calls_in_pieces_are_the_same_however_the_stream_is_cut() {
    let expected = [
        call("call_1", "read", json!({"path": "ä.txt"})),
        call("call_2", "list", json!({})),
        call("call_3", "late", json!({"x": 1})),
    ];
    let plain = events(&PARALLEL);
    for text in [plain.clone(), plain.replace('\n', "\r\n")] {
        for size in [1, 2, 3, 7, 50, 1000, 100_000] {
            let (answer, heard) = hear(stream_in(size, &text)).await;

            assert_eq!(answer.calls, expected, "{size}");
            assert_eq!(heard, ["call read", "call list", "call late"]);
        }
    }
}

#[tokio::test]
async fn calls_without_an_id_get_one_of_their_own() {
    let (answer, _) = hear(stream(&events(&PARALLEL).replace(r#""call_id":"call_2","#, ""))).await;

    assert_eq!(answer.calls[1].id, "c1.1");
}

#[tokio::test]
async fn an_answer_that_is_not_complete_says_why() {
    for (reason, finish) in [("max_output_tokens", FinishReason::Length), ("content_filter", FinishReason::Filtered)] {
        let end = format!(
            r#"{{"type":"response.incomplete","response":{{"status":"incomplete","incomplete_details":{{"reason":"{reason}"}},"usage":{{"input_tokens":1,"output_tokens":2}}}}}}"#
        );
        let (answer, _) =
            hear(stream(&events(&PARALLEL).replace(END, &end).replace("response.completed", "response.incomplete")))
                .await;

        assert_eq!(answer.finish, finish);
        assert_eq!(answer.usage, TokenUsage { input: 1, output: 2, ..TokenUsage::default() });
        assert!(answer.calls.iter().all(|call| call.fault.is_some() && call.args == json!({})));
    }
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_understood() {
    let (answer, heard) = hear(status(
        200,
        "",
        r#"{"id":"resp_1","object":"response","status":"completed","error":null,"incomplete_details":null,"output":[
            {"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Hm."}],"encrypted_content":"e"},
            {"type":"message","role":"assistant","content":[{"type":"output_text","text":"So:"}]},
            {"type":"function_call","call_id":"a","name":"f","arguments":"{\"x\":1}"}],
            "usage":{"input_tokens":3,"output_tokens":4}}"#,
    ))
    .await;

    assert_eq!(answer.calls, [call("a", "f", json!({"x": 1}))]);
    assert_eq!(answer.usage, TokenUsage { input: 3, output: 4, ..TokenUsage::default() });
    assert_eq!(answer.opaque.len(), 1);
    assert_eq!(heard, ["reasoning Hm.", "text So:", "call f"]);
}

#[tokio::test]
async fn errors_in_mid_stream_pass_or_not_by_their_code() {
    let half = says("half").replace(&events(&[END]), "");
    for (event, passes, expected) in [
        (
            r#"{"type":"error","code":"server_error","message":"no sk-secret-of-ours","param":null}"#,
            true,
            "status 500: server_error: no (key)",
        ),
        (
            r#"{"type":"error","error":{"type":"server_error","code":"rate_limit_exceeded","message":"slow"}}"#,
            true,
            "status 429: rate_limit_exceeded: slow",
        ),
        (r#"{"type":"error","code":null,"message":"lost"}"#, true, "lost"),
        (r#"{"type":"error","code":"invalid_prompt","message":"bad"}"#, false, "status 400: invalid_prompt: bad"),
        (
            r#"{"type":"error","code":"insufficient_quota","message":"pay"}"#,
            false,
            "status 429: insufficient_quota: pay",
        ),
        (
            r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"no"}}}"#,
            true,
            "status 500: server_error: no",
        ),
        (
            r#"{"type":"response.failed","response":{"error":{"code":"invalid_image","message":"no"}}}"#,
            false,
            "status 400: invalid_image: no",
        ),
    ] {
        let server = Server::always(stream(&format!("{half}{}", events(&[event])))).await;

        let error = Talk::new().ask(&*gpt(GPT, &server)).await.unwrap_err();

        assert_eq!(server.bodies().len(), 1);
        match error {
            Error::Broken { message, again, .. } => assert_eq!((message.as_str(), again), (expected, passes)),
            other => panic!("{event}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_stream_that_ends_too_early_is_no_answer() {
    let half = says("half").replace(&events(&[END]), "");
    for exchange in [stream(&half), broken(&half)] {
        let server = Server::always(exchange).await;

        let error = Talk::new().ask(&*gpt(GPT, &server)).await.unwrap_err();

        assert!(matches!(error, Error::Broken { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn refusals_are_final_and_free_of_the_key() {
    for code in [400, 401, 404] {
        let body =
            r#"{"error":{"message":"no sk-secret-of-ours","type":"invalid_request_error","param":null,"code":null}}"#;
        let server = Server::always(status(code, "", body)).await;

        let error = Talk::new().ask(&*gpt(GPT, &server)).await.unwrap_err();

        let Error::Refused { status, message, .. } = &error else { panic!("{error:?}") };
        assert_eq!((*status, message.as_str()), (code, "no (key)"));
        assert_eq!(server.bodies().len(), 1);
    }
}
