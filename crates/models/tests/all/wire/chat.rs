//! What a stream says, however it is cut and whoever wrote it.

use serde_json::{Value, json};
use updraft_models::{Price, resolve};
use updraft_run::{Cost, FinishReason, Message, ModelAnswer, TokenUsage, ToolCall};

use super::server::{Server, events, says, status, stream, stream_in};
use super::talk::{CHAT, Talk, access, hear, model};

fn call(id: &str, name: &str, args: Value) -> ToolCall {
    ToolCall { id: id.to_owned(), name: name.to_owned(), args, fault: None }
}

#[tokio::test]
async fn text_reasoning_and_usage_are_folded_and_heard() {
    let (answer, heard) = hear(stream(&events(&[
        r#"{"id":"x","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null}"#,
        r#"{"choices":[{"index":0,"delta":{"reasoning_content":"Hm, "}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"reasoning":"well.","content":null}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":"Gr\u00fc\u00df"}}]}"#,
        r#"{"choices":[{"index":1,"delta":{"content":"another choice"}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":" Gott\n"}}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":20,"completion_tokens":9,"prompt_tokens_details":{"cached_tokens":16},"completion_tokens_details":{"reasoning_tokens":4}}}"#,
    ])))
    .await;

    let usage = TokenUsage { input: 20, output: 9, cached: 16, reasoning: 4, ..TokenUsage::default() };
    let text = "Grüß Gott\n".to_owned();
    assert_eq!(answer, ModelAnswer { text, reasoning: "Hm, well.".to_owned(), usage, ..ModelAnswer::default() });
    assert_eq!(heard, ["reasoning Hm, ", "reasoning well.", "text Grüß", "text  Gott\n"]);
}

const PARALLEL: [&str; 7] = [
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"read","arguments":""}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\": \"ä"}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"list","arguments":""}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"","function":{"name":null,"arguments":".txt\"}"}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"{}"}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
    r#"{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}"#,
];

#[tokio::test]
async fn calls_in_pieces_are_the_same_however_the_stream_is_cut() {
    let expected = [call("a", "read", json!({"path": "ä.txt"})), call("b", "list", json!({}))];
    let plain = format!(": hello\n\n{}", events(&PARALLEL));
    for text in [plain.clone(), plain.replace('\n', "\r\n")] {
        for size in [1, 2, 3, 7, 50, 1000, 100_000] {
            let (answer, heard) = hear(stream_in(size, &text)).await;

            assert_eq!(answer.calls, expected, "{size}");
            assert_eq!(heard, ["call read", "call list"]);
        }
    }
}

#[tokio::test]
async fn calls_without_an_index_or_all_with_the_first_are_told_apart_by_id() {
    for index in ["", r#""index":0,"#] {
        let begin = |id: &str| {
            format!(
                r#"{{"choices":[{{"delta":{{"tool_calls":[{{{index}"id":"{id}","function":{{"name":"f","arguments":"{{\"x\":"}}}}]}}}}]}}"#
            )
        };
        let more =
            format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{{{index}"function":{{"arguments":"1}}"}}}}]}}}}]}}"#);
        let end = r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#;

        let (answer, _) = hear(stream(&events(&[&begin("a"), &more, &begin("b"), &more, end]))).await;

        assert_eq!(answer.calls, [call("a", "f", json!({"x": 1})), call("b", "f", json!({"x": 1}))]);
    }
}

#[tokio::test]
async fn calls_without_an_id_or_with_one_twice_get_one_of_their_own() {
    let part =
        |index: u32, id: &str| format!(r#"{{"index":{index},"id":{id},"function":{{"name":"f","arguments":"{{}}"}}}}"#);
    let calls = [part(0, "null"), part(1, r#""x""#), part(2, r#""x""#)].join(",");
    let (answer, _) = hear(stream(&events(&[&format!(
        r#"{{"choices":[{{"delta":{{"tool_calls":[{calls}]}},"finish_reason":"tool_calls"}}]}}"#
    )])))
    .await;

    let ids: Vec<&str> = answer.calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["c1.0", "x", "c1.2"]);
}

#[tokio::test]
async fn a_call_with_the_id_of_an_earlier_turn_gets_one_of_its_own() {
    let server = Server::new(vec![stream(&events(&PARALLEL)), stream(&events(&PARALLEL))]).await;
    let mut talk = Talk::new();
    let first = talk.ask(&*model(&server)).await.unwrap();
    talk.messages.push(Message::Assistant(first.into()));
    talk.messages.push(Message::User("And now?".into()));
    let second = talk.ask(&*model(&server)).await.unwrap();

    let ids: Vec<&str> = second.calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["c3.0", "c3.1"]);
}

#[tokio::test]
async fn a_call_cut_off_by_the_limit_has_a_fault_even_where_it_reads_well() {
    let (answer, _) = hear(stream(&events(&[
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"rm","arguments":"{\"path\":\"/\"}"}}]}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"length"}]}"#,
    ])))
    .await;

    assert_eq!(answer.finish, FinishReason::Length);
    let fault = Some("the answer was cut off at the limit on output".to_owned());
    assert_eq!(answer.calls, [ToolCall { fault, ..call("a", "rm", json!({})) }]);
}

#[tokio::test]
async fn arguments_that_cannot_be_read_are_a_fault_and_none_are_an_empty_object() {
    for (arguments, fault) in [
        (r#""{\"path\": \"a""#, Some("the arguments are not JSON: EOF while parsing a string at line 1 column 11")),
        (r#""[1]""#, Some("the arguments are not an object: `[1]`")),
        (r#"" ""#, None),
        (r#""null""#, None),
        ("null", None),
        ("{}", None),
    ] {
        let (answer, _) = hear(stream(&events(&[&format!(
            r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":0,"id":"a","function":{{"name":"f","arguments":{arguments}}}}}]}},"finish_reason":"stop"}}]}}"#
        )])))
        .await;

        assert_eq!(answer.calls, [ToolCall { fault: fault.map(str::to_owned), ..call("a", "f", json!({})) }]);
    }
}

#[tokio::test]
async fn slips_in_the_arguments_are_repaired() {
    for arguments in [r#"{\"x\": 1,}"#, r#"\"{\\\"x\\\": 1}\""#] {
        let (answer, _) = hear(stream(&events(&[&format!(
            r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":0,"id":"a","function":{{"name":"f","arguments":"{arguments}"}}}}]}},"finish_reason":"stop"}}]}}"#
        )])))
        .await;

        assert_eq!(answer.calls, [call("a", "f", json!({"x": 1}))]);
    }
}

#[tokio::test]
async fn missing_usage_is_estimated_and_a_known_price_gives_the_cost() {
    let (answer, _) =
        hear(stream(&events(&[r#"{"choices":[{"delta":{"content":"twelve bytes"},"finish_reason":"stop"}]}"#]))).await;
    assert!(answer.usage.estimated);
    assert_eq!(answer.usage.output, 3);
    assert!(answer.usage.input > 20);

    let server = Server::new(vec![stream(&says("hi"))]).await;
    let price = Price::per_million(1.0, 2.0, None, None);
    let mut access = access(&server);
    access.prices.insert("openai-compatible/test".into(), price);
    let mut talk = Talk { priced: true, ..Talk::new() };
    let answer = talk.ask(&*resolve(CHAT, &access).unwrap()).await.unwrap();
    let cost = Some(Cost(11_000));
    assert_eq!(answer.usage, TokenUsage { input: 7, output: 2, cost, price: Some(price), ..TokenUsage::default() });
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_understood() {
    let (answer, heard) = hear(status(
        200,
        "",
        r#"{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":[{"type":"text","text":"two "},{"type":"text","text":"parts"}],
            "tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":{"x":"object"}}}]},"finish_reason":"tool_calls"}],
            "usage":{"prompt_tokens":3,"completion_tokens":4}}"#,
    ))
    .await;

    let usage = TokenUsage { input: 3, output: 4, ..TokenUsage::default() };
    let calls = vec![call("a", "f", json!({"x": "object"}))];
    assert_eq!(answer, ModelAnswer { text: "two parts".to_owned(), calls, usage, ..ModelAnswer::default() });
    assert_eq!(heard, ["text two parts", "call f"]);
}

#[tokio::test]
async fn an_answer_is_whole_once_it_says_why_it_stopped_or_that_it_is_done() {
    let stopped = r#"data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}"#;
    let done = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]";
    for text in [stopped, done] {
        assert_eq!(hear(stream(text)).await.0.text, "a");
    }
}

#[tokio::test]
async fn reasoning_that_is_counted_beside_the_answer_is_added() {
    for (total, output) in [(30, 10), (34, 14)] {
        let (answer, _) = hear(stream(&events(&[
            r#"{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}"#,
            &format!(
                r#"{{"choices":[],"usage":{{"prompt_tokens":20,"completion_tokens":10,"total_tokens":{total},"completion_tokens_details":{{"reasoning_tokens":4}}}}}}"#
            ),
        ])))
        .await;
        assert_eq!(answer.usage, TokenUsage { input: 20, output, reasoning: 4, ..TokenUsage::default() });
    }
}

#[tokio::test]
async fn a_server_that_refuses_a_schema_is_asked_without_it_from_then_on() {
    let refusal = r#"{"error":{"message":"This response_format type is unavailable now"}}"#;
    let answer = || stream(&says("{}"));
    let server = Server::new(vec![status(400, "", refusal), answer(), answer()]).await;
    let (model, mut talk) = (model(&server), Talk::new());
    talk.schema = Some(json!({"type": "object"}));
    for _ in 0..2 {
        assert_eq!(talk.ask(&*model).await.unwrap().text, "{}");
    }
    let sent: Vec<bool> = server.bodies().iter().map(|body| body.contains("response_format")).collect();
    assert_eq!(sent, [true, false, false]);
}
