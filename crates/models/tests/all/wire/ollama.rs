//! Ollama's own language, there and back.

use std::sync::Arc;

use serde_json::{Value, json};
use updraft_models::{Error, ModelAccess, ProviderAccess, choose, resolve};
use updraft_run::{
    FinishReason, Message, ModelAnswer, Picture, ThinkingEffort, TokenUsage, ToolCall, ToolResult, ToolSpec,
};

use super::server::{Act, Server, lines, lines_in, status};
use super::talk::{Talk, access};

const QWEN: &str = "ollama/qwen3:8b";

/// What a server says about a model that can do these.
fn able_to(capabilities: &[&str]) -> Vec<Act> {
    let facts = json!({"general.architecture": "qwen3", "qwen3.context_length": 40_960});
    status(200, "", &json!({"capabilities": capabilities, "model_info": facts}).to_string())
}

fn says(text: &str) -> Vec<Act> {
    lines(&[
        &format!(
            r#"{{"model":"qwen3:8b","created_at":"2026-11-01T12:00:00Z","message":{{"role":"assistant","content":"{text}"}},"done":false}}"#
        ),
        r#"{"model":"qwen3:8b","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","total_duration":9,"prompt_eval_count":7,"eval_count":2}"#,
    ])
}

async fn hear(exchange: Vec<Act>) -> (ModelAnswer, Vec<String>) {
    let server = Server::new(vec![exchange]).await;
    let mut talk = Talk::new();
    let answer = talk.ask(&*resolve(QWEN, &access(&server)).unwrap()).await.unwrap();
    (answer, talk.heard)
}

/// The bodies of these talks with one model.
async fn bodies(spec: &str, capabilities: &[&str], talks: &mut [Talk]) -> Vec<String> {
    let server = Server::always(says("hi")).await.says_about(able_to(capabilities));
    let model = resolve(spec, &access(&server)).unwrap();
    for talk in talks {
        talk.ask(&*model).await.unwrap();
    }
    server.bodies()
}

fn call(id: &str, name: &str, args: Value) -> ToolCall {
    ToolCall { id: id.to_owned(), name: name.to_owned(), args, fault: None }
}

#[tokio::test]
async fn text_thoughts_and_usage_are_folded_and_heard() {
    let (answer, heard) = hear(lines(&[
        r#"{"message":{"role":"assistant","content":"","thinking":"Hm, "},"done":false}"#,
        r#"{"message":{"role":"assistant","content":"","thinking":"well."},"done":false}"#,
        r#"{"message":{"role":"assistant","content":"Gr\u00fc\u00df"},"done":false}"#,
        r#"{"message":{"role":"assistant","content":" Gott\n","images":null,"novelty":1},"done":false}"#,
        r#"{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":20,"eval_count":9}"#,
    ]))
    .await;

    let usage = TokenUsage { input: 20, output: 9, ..TokenUsage::default() };
    let opaque = vec![json!({"of": QWEN})];
    let (text, reasoning) = ("Grüß Gott\n".to_owned(), "Hm, well.".to_owned());
    assert_eq!(answer, ModelAnswer { text, reasoning, usage, opaque, ..ModelAnswer::default() });
    assert_eq!(heard, ["reasoning Hm, ", "reasoning well.", "text Grüß", "text  Gott\n"]);
}

const PARALLEL: [&str; 4] = [
    r#"{"message":{"role":"assistant","content":"","tool_calls":[{"id":"call_x1","function":{"index":0,"name":"read","arguments":{"path":"ä.txt"}}}]},"done":false}"#,
    r#"{"message":{"role":"assistant","content":"","tool_calls":[{"function":{"index":0,"name":"list","arguments":{}}},{"function":{"name":"now"}}]},"done":false}"#,
    r#"{"message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"odd","arguments":"{\"a\": 1}"}}]},"done":false}"#,
    r#"{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":1,"eval_count":1}"#,
];

#[tokio::test]
async fn calls_are_the_same_however_the_lines_are_cut() {
    let expected = [
        call("call_x1", "read", json!({"path": "ä.txt"})),
        call("c1.1", "list", json!({})),
        call("c1.2", "now", json!({})),
        call("c1.3", "odd", json!({"a": 1})),
    ];
    for newline in ["\n", "\r\n"] {
        let text = PARALLEL.join(newline);
        for size in [1, 2, 3, 7, 50, 1000, 100_000] {
            let (answer, heard) = hear(lines_in(size, &text)).await;

            assert_eq!(answer.calls, expected, "{size}");
            assert_eq!(answer.finish, FinishReason::Stop);
            assert_eq!(heard, ["call read", "call list", "call now", "call odd"]);
        }
    }
}

#[tokio::test]
async fn an_answer_that_reached_the_limit_says_so() {
    let (answer, _) = hear(lines(&[
        r#"{"message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"rm","arguments":{"path":"/"}}}]},"done":false}"#,
        r#"{"message":{"role":"assistant","content":""},"done":true,"done_reason":"length","prompt_eval_count":5}"#,
    ]))
    .await;

    assert_eq!(answer.finish, FinishReason::Length);
    let fault = Some("the answer was cut off at the limit on output".to_owned());
    assert_eq!(answer.calls, [ToolCall { fault, ..call("c1.0", "rm", json!({})) }]);
    assert_eq!(answer.usage, TokenUsage { input: 5, ..TokenUsage::default() });
}

#[tokio::test]
async fn a_prompt_that_was_not_counted_is_estimated() {
    let (answer, _) = hear(lines(&[r#"{"message":{"content":"hi"},"done":true,"eval_count":2}"#])).await;

    assert!(answer.usage.estimated && answer.usage.input > 10, "{:?}", answer.usage);
}

#[tokio::test]
async fn lines_that_are_called_one_document_and_one_that_is_are_understood() {
    for text in [PARALLEL.join("\n"), PARALLEL[3].replace("\"\"", "\n\"hi\"")] {
        let (answer, _) = hear(status(200, "", &text)).await;

        assert_eq!(answer.usage, TokenUsage { input: 1, output: 1, ..TokenUsage::default() });
        assert_eq!((answer.calls.len(), answer.text.as_str()), if text.contains("hi") { (0, "hi") } else { (4, "") });
    }
}

fn read_spec() -> ToolSpec {
    let parameters = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    ToolSpec { name: "read".to_owned(), description: "Reads.".to_owned(), parameters }
}

fn result(call: &str, name: &str, text: &str, is_error: bool) -> ToolResult {
    ToolResult { call: call.to_owned(), name: name.to_owned(), text: text.to_owned(), is_error }
}

/// Messages of every kind, some of them from other models.
fn long_talk() -> Talk {
    let mut talk = Talk::new();
    talk.tools = vec![read_spec()];
    let said = |answer: ModelAnswer| Message::Assistant(Arc::new(answer));
    let ours = ModelAnswer {
        calls: vec![call("a", "read", json!({"path": "x\ny"})), call("toolu_01|b", "read", Value::Null)],
        reasoning: "Let me look.".to_owned(),
        opaque: vec![json!({"of": QWEN})],
        ..ModelAnswer::default()
    };
    let theirs = ModelAnswer {
        text: "Done".to_owned(),
        reasoning: "not for us".to_owned(),
        opaque: vec![json!({"of": "anthropic/claude", "signature": "x"})],
        ..ModelAnswer::default()
    };
    let picture =
        |name: &str| Picture { name: name.into(), mime: "image/png".into(), bytes: b"\x89PNG\r\n\x1a\n"[..].into() };
    talk.messages = vec![
        Message::User("Hello".into()),
        said(ours),
        Message::Results(vec![result("a", "read", "{}", false), result("toolu_01|b", "read", "no file", true)]),
        said(theirs),
        Message::User("Thanks".into()),
        Message::User("Really".into()),
        said(ModelAnswer::default()),
        Message::Pictures(vec![picture("a.png"), picture("b.png")].into()),
        Message::User("More".into()),
    ];
    talk
}

#[tokio::test]
async fn the_body_is_what_ollama_expects() {
    let server = Server::always(says("hi")).await.says_about(able_to(&["completion", "tools", "vision"]));

    long_talk().ask(&*resolve(QWEN, &access(&server)).unwrap()).await.unwrap();

    let expected = concat!(
        r#"{"model":"qwen3:8b","stream":true,"tools":[{"type":"function","function":{"name":"read","description":"Reads.","#,
        r#""parameters":{"properties":{"path":{"type":"string"}},"type":"object"}}}],"#,
        r#""messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hello"},"#,
        r#"{"role":"assistant","content":"","thinking":"Let me look.","tool_calls":["#,
        r#"{"id":"a","function":{"name":"read","arguments":{"path":"x\ny"}}},"#,
        r#"{"id":"toolu_01|b","function":{"name":"read","arguments":{}}}]},"#,
        r#"{"role":"tool","tool_name":"read","tool_call_id":"a","content":"{}"},"#,
        r#"{"role":"tool","tool_name":"read","tool_call_id":"toolu_01|b","content":"no file"},"#,
        r#"{"role":"assistant","content":"Done"},{"role":"user","content":"Thanks"},{"role":"user","content":"Really"},"#,
        r#"{"role":"assistant","content":""},"#,
        r#"{"role":"user","content":"a.png","images":["iVBORw0KGgo="]},{"role":"user","content":"b.png","images":["iVBORw0KGgo="]},"#,
        r#"{"role":"user","content":"More"}],"options":{"num_ctx":16384,"num_predict":100}}"#,
    );
    assert_eq!(server.bodies(), [expected]);
    let head = server.heads().remove(0);
    assert!(head.starts_with("POST /api/chat HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("authorization: Bearer sk-secret-of-ours\r\n"), "{head}");
    let (head, body) = server.questions().remove(0);
    assert!(head.contains("authorization: Bearer sk-secret-of-ours\r\n"), "{head}");
    assert_eq!(body, r#"{"model":"qwen3:8b"}"#);
}

#[tokio::test]
async fn each_body_begins_with_the_one_before_and_is_the_same_when_made_anew() {
    let server = Server::always(says("hi")).await.says_about(able_to(&["tools", "vision"]));
    let model = resolve(QWEN, &access(&server)).unwrap();
    let whole = long_talk();
    let mut grown = long_talk();
    for length in [1, 3, 5, 7, 9] {
        grown.messages = whole.messages[..length].to_vec();
        grown.ask(&*model).await.unwrap();
    }
    long_talk().ask(&*model).await.unwrap();

    let bodies = server.bodies();
    for pair in bodies[..5].windows(2) {
        let (kept, _) = pair[0].rsplit_once(r#"],"options""#).unwrap();
        assert!(pair[1].starts_with(kept));
    }
    assert_eq!(bodies[4], bodies[5]);
    assert_eq!(server.questions().len(), 1);
}

#[tokio::test]
async fn thinking_is_asked_for_in_the_words_of_the_model() {
    let levels = [
        ThinkingEffort::Auto,
        ThinkingEffort::Off,
        ThinkingEffort::Low,
        ThinkingEffort::Medium,
        ThinkingEffort::High,
        ThinkingEffort::Tokens(3_000),
    ];
    let of = async |spec: &str, capabilities: &[&str]| -> Vec<(Value, u64)> {
        let mut talks = levels.map(|think| Talk { think, ..Talk::new() });
        let bodies = bodies(spec, capabilities, &mut talks).await;
        let bodies = bodies.iter().map(|body| serde_json::from_str::<Value>(body).unwrap());
        bodies.map(|body| (body["think"].clone(), body["options"]["num_predict"].as_u64().unwrap())).collect()
    };
    let no = || Value::Null;

    let plain = of("ollama/llama3.2", &["completion", "tools"]).await;
    assert!(plain.iter().all(|sent| *sent == (no(), 100)), "{plain:?}");
    let qwen = of(QWEN, &["completion", "thinking"]).await;
    let yes = |room: u64| (json!(true), 100 + room);
    assert_eq!(qwen, [(no(), 8_292), (json!(false), 100), yes(2_048), yes(8_192), yes(24_576), yes(3_000)]);
    let oss = of("ollama/gpt-oss:20b", &["completion", "thinking"]).await;
    let level = |level: &str, room: u64| (json!(level), 100 + room);
    assert_eq!(oss[0], (no(), 8_292));
    let rest = [("low", 2_048), ("low", 2_048), ("medium", 8_192), ("high", 24_576), ("medium", 3_000)];
    assert_eq!(oss[1..], rest.map(|(word, room)| level(word, room)));
}

#[tokio::test]
async fn a_server_that_says_nothing_about_the_model_is_not_told_to_think() {
    let server = Server::always(says("hi")).await;
    let model = resolve(QWEN, &access(&server)).unwrap();
    let mut omitted = Vec::new();
    for think in [ThinkingEffort::High, ThinkingEffort::Off] {
        omitted.push(Talk { think, ..Talk::new() }.ask(&*model).await.unwrap().omitted);
    }
    let said = format!("{} cannot be told how much to think, so `think` was ignored", model.name());
    assert_eq!(omitted, [vec![said], Vec::new()], "nobody misses what they did not want");

    let bodies = server.bodies();
    assert!(!bodies[0].contains("think"), "{}", bodies[0]);
    assert!(bodies[1].contains(r#""think":false"#), "{}", bodies[1]);
}

#[tokio::test]
async fn a_schema_is_sent_where_no_tools_are_and_bounded() {
    let schema = || Some(json!({"type": "object", "properties": {"a": {"type": "string"}}}));
    let mut talks = [Talk { schema: schema(), ..Talk::new() }, Talk { schema: schema(), ..long_talk() }];
    let sent = bodies("ollama/llama3.2?temperature=0.5", &["tools"], &mut talks).await;

    let tail = r#"],"format":{"properties":{"a":{"maxLength":50,"type":"string"}},"type":"object"},"options":{"num_ctx":4096,"num_predict":100,"temperature":0.5}}"#;
    assert!(sent[0].ends_with(tail), "{}", sent[0]);
    assert!(!sent[1].contains("format"), "{}", sent[1]);
    let far = bodies("ollama/gpt-oss:120b-cloud", &["tools"], &mut [Talk { schema: schema(), ..Talk::new() }]).await;
    assert!(!far[0].contains("maxLength"), "{}", far[0]);
}

#[tokio::test]
async fn the_user_hears_of_a_picture_that_a_model_is_not_shown() {
    let server = Server::always(says("hi")).await.says_about(able_to(&["completion"]));
    let model = resolve("ollama/gemma2", &access(&server)).unwrap();
    let picture = Picture { name: "chart.png".into(), mime: "image/png".into(), bytes: vec![1].into() };
    let messages = vec![Message::User("What is it?".into()), Message::Pictures(vec![picture].into())];
    let answer = Talk { messages, ..Talk::new() }.ask(&*model).await.unwrap();
    assert_eq!(
        answer.omitted,
        [format!("{} does not accept pictures, so `chart.png` was not sent to it", model.name())]
    );
}

#[tokio::test]
async fn a_model_without_tools_or_eyes_is_told_in_words() {
    let sent = bodies("ollama/gemma2", &["completion"], &mut [long_talk()]).await.remove(0);

    assert!(!sent.contains(r#""tools""#) && !sent.contains(r#""images""#), "{sent}");
    assert!(sent.contains(r#""format":{"anyOf":["#), "{sent}");
    assert!(sent.contains("a picture (image/png, 8 bytes) that this model does not accept"), "{sent}");
}

#[tokio::test]
async fn the_window_grows_with_the_conversation_up_to_what_the_model_holds() {
    let long = |letters: usize| {
        let mut talk = Talk::new();
        talk.messages = vec![Message::User("x".repeat(letters).into())];
        talk
    };
    let sent = bodies(QWEN, &["tools"], &mut [long(10), long(30_000), long(10), long(300_000)]).await;

    let windows: Vec<u64> = sent
        .iter()
        .map(|body| serde_json::from_str::<Value>(body).unwrap()["options"]["num_ctx"].as_u64().unwrap())
        .collect();
    assert_eq!(windows, [4_096, 16_384, 16_384, 40_960]);
}

#[tokio::test]
async fn an_error_among_the_lines_is_no_answer() {
    let half = r#"{"message":{"role":"assistant","content":"half"},"done":false}"#;
    for (last, why) in [
        (r#"{"error":"model runner has unexpectedly stopped"}"#, "model runner has unexpectedly stopped"),
        (r#"{"message":{"content":"#, "EOF while parsing a value"),
        ("", "the stream ended before the answer did"),
    ] {
        let server = Server::new(vec![lines(&[half, last]), says("whole")]).await;
        let mut talk = Talk::new();
        let model = resolve(QWEN, &access(&server)).unwrap();

        let error = talk.ask(&*model).await.unwrap_err();

        let Error::Broken { message, .. } = &error else { panic!("{error:?}") };
        assert!(message.starts_with(why), "{message}");
        talk.attempt = 2;
        assert_eq!(talk.ask(&*model).await.unwrap().text, "whole");
        assert_eq!(talk.heard, ["text half", "again: the answer was interrupted", "text whole"]);
    }
}

#[tokio::test]
async fn more_calls_than_any_model_makes_are_no_answer() {
    let calls = vec![r#"{"function":{}}"#; 200_000].join(",");
    let server = Server::always(lines(&[&format!(r#"{{"message":{{"tool_calls":[{calls}]}},"done":true}}"#)])).await;

    let error = Talk::new().ask(&*resolve(QWEN, &access(&server)).unwrap()).await.unwrap_err();

    assert!(error.to_string().ends_with("an answer with 200000 calls"), "{error}");
    assert_eq!(server.bodies().len(), 1);
}

#[tokio::test]
async fn a_model_that_is_not_there_can_be_pulled() {
    let server = Server::always(status(404, "", r#"{"error":"model 'qwen3:8b' not found"}"#)).await;

    let error = Talk::new().ask(&*resolve(QWEN, &access(&server)).unwrap()).await.unwrap_err();

    assert_eq!(error.to_string(), "`ollama/qwen3:8b` refused the request with status 404: model 'qwen3:8b' not found");
    assert_eq!(error.hint().unwrap(), "run `ollama pull qwen3:8b`; `ollama list` shows what is there");
    assert_eq!(server.bodies().len(), 1);
}

#[tokio::test]
async fn auto_finds_a_host_as_people_write_it() {
    let tags = json!({"models": [{"name": "old", "capabilities": ["completion"]}, {"name": "able", "capabilities": ["tools"]}]});
    let server = Server::always(status(200, "", &tags.to_string())).await;
    let written = format!(" {}/ ", server.root().trim_start_matches("http://"));
    let reach = ProviderAccess { base: Some(written), ..ProviderAccess::default() };
    let access = ModelAccess { reach: [("ollama".to_owned(), reach)].into(), ..ModelAccess::default() };

    let chosen = choose("auto", &access).await.unwrap();

    assert_eq!(chosen.spec, format!("ollama/able?base={}", server.root()));
    assert_eq!(chosen.why, format!("ollama/able: Ollama at {} has it", server.root()));
    assert!(server.heads()[0].starts_with("GET /api/tags HTTP/1.1"));
}
