//! Tests of a handler over a pair of in-memory streams, line by line.

use std::sync::Arc;

use futures_util::FutureExt;
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::task::JoinSet;
use tokio_util::bytes::Bytes;
use tokio_util::sync::CancellationToken;
use tower_service::Service;

use super::rounds::StateSeal;
use super::{ConversationEnd, HttpService, McpHandler, PlainBackend, PlainTool, http, over};

/// A key of the recommended length.
const KEY: &[u8] = b"a key that is as long as it should be, or longer";

fn handler() -> McpHandler {
    let schema = json!({ "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] });
    let echo = PlainTool::new("echo", "Echo", schema.clone(), |args: Value| async move { Ok(args["text"].clone()) });
    let data = PlainTool::new("data", "Data", json!({ "type": "object" }), |_| async { Ok(json!({ "n": 1 })) });
    let fail = PlainTool::new("fail", "Fail", json!({ "type": "object" }), |_| async { Err("it rains".to_owned()) });
    McpHandler::new(Arc::new(PlainBackend::new("test", "0", "", vec![echo, data, fail])), KEY).unwrap()
}

struct Line {
    input: WriteHalf<DuplexStream>,
    output: BufReader<ReadHalf<DuplexStream>>,
    serving: JoinSet<Result<ConversationEnd, String>>,
}

impl Line {
    fn open(stop: CancellationToken) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (read, write) = tokio::io::split(theirs);
        let mut serving = JoinSet::new();
        serving.spawn(async move { over(&handler(), read, write, stop).await });
        let (output, input) = tokio::io::split(ours);
        Self { input, output: BufReader::new(output), serving }
    }

    /// A client that has sent `initialize`.
    async fn begun() -> Self {
        Self::begun_in("2025-06-18").await
    }

    async fn begun_in(revision: &str) -> Self {
        let mut line = Self::open(CancellationToken::new());
        let hello =
            json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": { "name": "t", "version": "0" } });
        line.ask(0, "initialize", hello).await;
        line.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        line
    }

    async fn say(&mut self, text: &str) {
        self.input.write_all(format!("{text}\n").as_bytes()).await.unwrap();
    }

    async fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).await.unwrap();
        serde_json::from_str(&line).unwrap()
    }

    async fn ask(&mut self, id: u64, method: &str, params: Value) -> Value {
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()).await;
        loop {
            let heard = self.hear().await;
            if heard["id"] == id {
                return heard;
            }
        }
    }

    async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask(7, "tools/call", json!({ "name": tool, "arguments": arguments })).await
    }

    async fn leave(mut self) -> Result<ConversationEnd, String> {
        self.input.shutdown().await.unwrap();
        drop((self.input, self.output));
        self.serving.join_next().await.unwrap().unwrap()
    }
}

#[tokio::test]
async fn a_plain_tool_gives_text_data_or_why_not() {
    let mut line = Line::begun().await;
    let text = line.call("echo", json!({ "text": "hello" })).await;
    assert_eq!(text["result"]["content"], json!([{ "type": "text", "text": "hello" }]));
    let data = line.call("data", json!({})).await;
    assert_eq!(data["result"]["structuredContent"], json!({ "n": 1 }));
    let failed = line.call("fail", json!({})).await;
    assert_eq!(
        (&failed["result"]["isError"], &failed["result"]["content"][0]["text"]),
        (&json!(true), &json!("it rains"))
    );
    assert_eq!(line.leave().await, Ok(ConversationEnd::Left));
}

#[tokio::test]
async fn what_does_not_fit_is_a_result_and_what_is_not_there_an_error() {
    let mut line = Line::begun().await;
    let unfit = line.call("echo", json!({ "text": 5 })).await;
    assert_eq!(unfit["result"]["isError"], true);
    assert!(unfit["result"]["content"][0]["text"].as_str().unwrap().contains("do not fit its schema"), "{unfit}");
    let unknown = line.call("nothing", json!({})).await;
    assert_eq!(unknown["error"]["code"], -32602);
    assert!(unknown["error"]["message"].as_str().unwrap().contains("tools/list"), "{unknown}");
    // This offer declares tools only.
    for method in ["prompts/list", "resources/list", "resources/templates/list"] {
        assert_eq!(line.ask(8, method, json!({})).await["error"]["code"], -32601, "{method}");
    }
    assert_eq!(line.leave().await, Ok(ConversationEnd::Left));
}

#[tokio::test]
async fn garbage_is_survived() {
    let mut line = Line::begun().await;
    for garbage in ["no JSON at all", "{\"jsonrpc\":\"2.0\"", "[]", "\u{0}\u{1}", "{\"id\":{}}", ""] {
        line.say(garbage).await;
    }
    assert_eq!(line.call("echo", json!({ "text": "still here" })).await["result"]["content"][0]["text"], "still here");
}

#[tokio::test]
async fn what_is_no_request_is_answered_with_its_id_so_that_nobody_waits() {
    let mut line = Line::begun().await;
    for (sent, id, code) in [
        ("no JSON at all", Value::Null, -32700),
        (r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"\ud800"}}"#, json!(5), -32700),
        (r#"{"jsonrpc":"1.0","id":5,"method":"ping"}"#, json!(5), -32600),
        (r#"{"jsonrpc":"2.0","id":5,"method":"ping","params":[1]}"#, json!(5), -32602),
        (r#"[{"jsonrpc":"2.0","id":5,"method":"ping"}]"#, Value::Null, -32600),
        (r#"{"jsonrpc":"2.0","id":5,"method":"tools/call"}"#, json!(5), -32602),
        (r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"arguments":{}}}"#, json!(5), -32602),
        (r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"x","arguments":[1]}}"#, json!(5), -32602),
        (r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":5}}"#, json!(5), -32602),
        (r#"{"jsonrpc":"2.0","id":5,"method":"prompts/get","params":{}}"#, json!(5), -32601),
        (r#"{"jsonrpc":"2.0","id":5,"method":"tools/none","params":{}}"#, json!(5), -32601),
    ] {
        line.say(sent).await;
        let heard = line.hear().await;
        assert_eq!((&heard["id"], &heard["error"]["code"]), (&id, &json!(code)), "{sent}: {heard}");
    }
}

#[tokio::test]
async fn a_hello_that_is_none_is_answered_and_another_may_follow() {
    let mut line = Line::open(CancellationToken::new());
    assert_eq!(line.ask(1, "initialize", json!({ "protocolVersion": 5 })).await["error"]["code"], -32602);
    let hello =
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "0" } });
    assert_eq!(line.ask(2, "initialize", hello).await["result"]["protocolVersion"], "2025-06-18");
}

#[tokio::test]
async fn a_batch_is_answered_as_one_in_the_revision_that_has_them() {
    let mut line = Line::begun_in("2025-03-26").await;
    let call = json!({ "name": "echo", "arguments": { "text": "x" } });
    let batch = json!([
        { "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call },
        { "jsonrpc": "2.0", "method": "notifications/roots/list_changed" },
        7,
        { "jsonrpc": "2.0", "id": 2, "method": "initialize", "params": {} },
        { "jsonrpc": "2.0", "id": "three", "method": "ping" },
    ]);
    line.say(&batch.to_string()).await;
    let heard = line.hear().await;
    let of = |id: Value| heard.as_array().unwrap().iter().find(|answer| answer["id"] == id).unwrap().clone();
    assert_eq!(heard.as_array().unwrap().len(), 4, "{heard}");
    assert_eq!(of(json!(1))["result"]["content"][0]["text"], "x");
    assert_eq!(of(json!(2))["error"]["code"], -32600);
    assert_eq!(of(Value::Null)["error"]["code"], -32600);
    assert_eq!(of(json!("three"))["result"], json!({}));
    // One of notifications has no answer, an empty one an error, and single messages go on as before.
    line.say(r#"[{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}]"#).await;
    line.say("[]").await;
    assert_eq!(line.hear().await["error"]["code"], -32600);
    assert_eq!(line.call("echo", json!({ "text": "y" })).await["result"]["content"][0]["text"], "y");
}

/// Posts a text, with these headers besides the usual ones. Returns the status, the content type, the session and the
/// body.
async fn post(service: &HttpService, more: &[(&str, &str)], text: &str) -> (u16, String, String, String) {
    let mut request = Request::post("http://localhost/mcp").header("host", "localhost");
    let usual = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
    for (name, value) in usual.iter().chain(more) {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::new(Bytes::from(text.to_owned()))).unwrap();
    let answer = service.clone().call(request).await.unwrap();
    let named =
        |name: &str| answer.headers().get(name).map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default();
    let (status, kind, session) = (answer.status().as_u16(), named("content-type"), named("mcp-session-id"));
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    (status, kind, session, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn over_http_too_what_is_no_request_is_told_in_json_and_batches_are_taken() {
    let service = http(&handler(), &[], &[], CancellationToken::new());
    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}"#;
    let (status, _, session, _) = post(&service, &[], hello).await;
    assert_eq!(status, 200);
    let inside = [("mcp-session-id", session.as_str())];
    let told = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(post(&service, &inside, told).await.0, 202);
    for (sent, id, code) in [
        ("xx", Value::Null, -32700),
        (r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"\ud800"}}"#, json!(5), -32700),
        (r#"{"id":5,"method":"ping"}"#, json!(5), -32600),
        ("[]", Value::Null, -32600),
    ] {
        let (status, kind, _, body) = post(&service, &inside, sent).await;
        let heard: Value = serde_json::from_str(&body).unwrap();
        assert_eq!((status, kind.as_str()), (400, "application/json"), "{sent}");
        assert_eq!((&heard["id"], &heard["error"]["code"]), (&id, &json!(code)), "{sent}: {heard}");
    }
    let (status, _, _, body) = post(&service, &inside, r#"{"jsonrpc":"2.0","id":5,"method":"tools/call"}"#).await;
    assert!(status == 200 && body.contains("-32602"), "{body}");

    let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/roots/list_changed"},
        5,{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"}}}]"#;
    let (status, kind, _, body) = post(&service, &inside, batch).await;
    assert_eq!((status, kind.as_str()), (200, "text/event-stream"), "{body}");
    let events = body.lines().filter_map(|line| line.strip_prefix("data:")).filter(|data| !data.trim().is_empty());
    let events: Vec<Value> = events.map(|data| serde_json::from_str(data).unwrap()).collect();
    let mut ids: Vec<String> = events.iter().map(|event| event["id"].to_string()).collect();
    ids.sort();
    assert_eq!(ids, ["1", "2", "null"], "{body}");
    assert_eq!(post(&service, &inside, &format!("[{told}]")).await.0, 202);
    assert_eq!(post(&service, &[("mcp-session-id", "none")], batch).await.0, 404);
    // Later revisions have no batches, and say which they are.
    let later = [("mcp-session-id", session.as_str()), ("mcp-protocol-version", "2025-06-18")];
    assert_eq!(post(&service, &later, batch).await.0, 400);
}

#[tokio::test]
async fn an_event_without_a_message_is_sent_only_to_clients_that_know_it() {
    let service = http(&handler(), &[], &[], CancellationToken::new());
    let revisions = [("2024-11-05", false), ("2025-03-26", false), ("2025-06-18", false), ("2025-11-25", true)];
    for (revision, is_known) in revisions {
        let hello =
            json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": { "name": "t", "version": "0" } });
        let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello }).to_string();
        let (_, _, session, begun) = post(&service, &[], &hello).await;
        let mut inside = vec![("mcp-session-id", session.as_str())];
        // The header came with this one.
        inside.extend((revision >= "2025-06-18").then_some(("mcp-protocol-version", revision)));
        let told = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(post(&service, &inside, told).await.0, 202);
        let (.., listed) = post(&service, &inside, r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await;
        for body in [begun, listed] {
            let data: Vec<&str> = body.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim).collect();
            assert_eq!(data.iter().any(|data| data.is_empty()), is_known, "{revision}: {body}");
            let last: Value = serde_json::from_str(data.last().unwrap()).unwrap();
            assert!(last["result"].is_object(), "{revision}: {body}");
        }

        let mut request =
            Request::get("http://localhost/mcp").header("host", "localhost").header("accept", "text/event-stream");
        for (name, value) in inside {
            request = request.header(name, value);
        }
        let answer = service.clone().call(request.body(Full::<Bytes>::default()).unwrap()).await.unwrap();
        assert_eq!(answer.status(), 200);
        // Nothing else is sent on this stream until there is something to say.
        let first = answer.into_body().frame().now_or_never();
        assert_eq!(first.is_some(), is_known, "{revision}: {first:?}");
    }
}

#[tokio::test]
async fn a_client_that_leaves_at_once_has_done_no_wrong_and_one_that_stays_is_stopped() {
    assert_eq!(Line::open(CancellationToken::new()).leave().await, Ok(ConversationEnd::Left));
    let stop = CancellationToken::new();
    let mut line = Line::open(stop.clone());
    stop.cancel();
    assert_eq!(line.serving.join_next().await.unwrap().unwrap(), Ok(ConversationEnd::Stopped));
}

#[test]
fn a_tool_whose_schema_cannot_be_used_is_named() {
    let endless = json!({ "type": "object", "$ref": "#" });
    let bad = PlainTool::new("bad", "Bad", endless, |_| async { Ok(Value::Null) });
    let refused = McpHandler::new(Arc::new(PlainBackend::new("test", "0", "", vec![bad])), KEY).err();
    assert!(refused.as_ref().is_some_and(|why| why.contains("`bad`")), "{refused:?}");
}

#[test]
fn what_a_client_carries_for_us_comes_back_unchanged_and_for_the_same_call() {
    let seal = StateSeal::new(KEY);
    let state = json!({ "run": "r1" });
    let sealed = seal.close("query", &state).unwrap();
    assert_eq!(seal.open("query", Some(&sealed)).unwrap(), Some(state));
    assert_eq!(seal.open("query", None).unwrap(), None);
    assert!(seal.open("other", Some(&sealed)).is_err());
    assert!(StateSeal::new(b"another key of the same length, or about that").open("query", Some(&sealed)).is_err());
    let end = sealed.len() / 2;
    let changed =
        format!("{}{}{}", &sealed[..end], if sealed.as_bytes()[end] == b'A' { "B" } else { "A" }, &sealed[end + 1..]);
    assert!(seal.open("query", Some(&changed)).is_err());
}
