//! A handler over a pair of streams in memory, spoken to line by line.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::rounds::Seal;
use super::{Ended, Handler, Plain, PlainTool, over};

/// A key as long as it should be.
const KEY: &[u8] = b"a key that is as long as it should be, or longer";

fn handler() -> Handler {
    let schema = json!({ "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] });
    let echo = PlainTool::new("echo", "Echo", schema.clone(), |args: Value| async move { Ok(args["text"].clone()) });
    let data = PlainTool::new("data", "Data", json!({ "type": "object" }), |_| async { Ok(json!({ "n": 1 })) });
    let fail = PlainTool::new("fail", "Fail", json!({ "type": "object" }), |_| async { Err("it rains".to_owned()) });
    Handler::new(Arc::new(Plain::new("test", "0", "", vec![echo, data, fail])), KEY).unwrap()
}

struct Line {
    input: WriteHalf<DuplexStream>,
    output: BufReader<ReadHalf<DuplexStream>>,
    serving: JoinSet<Result<Ended, String>>,
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

    /// One that has said hello.
    async fn begun() -> Self {
        let mut line = Self::open(CancellationToken::new());
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "0" } });
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

    async fn leave(mut self) -> Result<Ended, String> {
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
    assert_eq!(line.leave().await, Ok(Ended::Left));
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
    assert_eq!(line.leave().await, Ok(Ended::Left));
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
async fn a_client_that_leaves_at_once_has_done_no_wrong_and_one_that_stays_is_stopped() {
    assert_eq!(Line::open(CancellationToken::new()).leave().await, Ok(Ended::Left));
    let stop = CancellationToken::new();
    let mut line = Line::open(stop.clone());
    stop.cancel();
    assert_eq!(line.serving.join_next().await.unwrap().unwrap(), Ok(Ended::Stopped));
}

#[test]
fn a_tool_whose_schema_cannot_be_used_is_named() {
    let endless = json!({ "type": "object", "$ref": "#" });
    let bad = PlainTool::new("bad", "Bad", endless, |_| async { Ok(Value::Null) });
    let refused = Handler::new(Arc::new(Plain::new("test", "0", "", vec![bad])), KEY).err();
    assert!(refused.as_ref().is_some_and(|why| why.contains("`bad`")), "{refused:?}");
}

#[test]
fn what_a_client_carries_for_us_comes_back_unchanged_and_for_the_same_call() {
    let seal = Seal::new(KEY);
    let state = json!({ "run": "r1" });
    let sealed = seal.close("query", &state).unwrap();
    assert_eq!(seal.open("query", Some(&sealed)).unwrap(), Some(state));
    assert_eq!(seal.open("query", None).unwrap(), None);
    assert!(seal.open("other", Some(&sealed)).is_err());
    assert!(Seal::new(b"another key of the same length, or about that").open("query", Some(&sealed)).is_err());
    let end = sealed.len() / 2;
    let changed =
        format!("{}{}{}", &sealed[..end], if sealed.as_bytes()[end] == b'A' { "B" } else { "A" }, &sealed[end + 1..]);
    assert!(seal.open("query", Some(&changed)).is_err());
}
