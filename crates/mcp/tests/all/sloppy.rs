//! Servers that are careless in what they say: what can be used is, and what is wrong is named.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::time::Duration;

use crate::support::World;
use crate::support::web::{Web, result_to};
use serde_json::{Value, json};
use updraft_mcp::Error;

/// A server with a handshake that answers in this revision, and lists these tools.
async fn server(revision: &'static str, tools: Value) -> Web {
    Web::serve(move |method, _, body| {
        let result = match (method, body["method"].as_str().unwrap_or_default()) {
            ("POST", "initialize") => json!({"protocolVersion": revision, "capabilities": {"tools": {}},
                "serverInfo": {"name": "sloppy", "version": "1"}}),
            ("POST", "notifications/initialized") => return (202, "", String::new()),
            ("POST", "tools/list") => json!({ "tools": tools }),
            ("POST", "tools/call") => json!({"content": [{"type": "text", "text": body["params"]["name"]}]}),
            _ => return (405, "", String::new()),
        };
        result_to(&body["id"], &result)
    })
    .await
}

#[tokio::test]
async fn a_tool_that_is_badly_described_costs_no_other() {
    let tools = json!([{"name": "bare"}, {"name": "word", "inputSchema": {"type": "string"}}, {"nameless": true},
        {"name": "good", "inputSchema": {"type": "object"}}, {"name": "open", "inputSchema": {}}]);
    let web = server("2025-06-18", tools).await;
    let world = World::new();
    let servers = world.servers(json!({"s": {"url": web.url()}})).await;
    let dispatcher = world.dispatcher(&servers).await;
    let manifest = servers.get("s").unwrap().manifest().unwrap();
    let names: Vec<&str> = manifest.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["bare", "good", "open"]);
    let nameless = "a tool without a name: it cannot be read";
    assert_eq!(manifest.left_out, ["`word`: its arguments are not an object", nameless]);
    for name in names {
        assert_eq!(world.output(&dispatcher, &format!("mcp_s_{name}"), json!({})).await.text, name);
    }
    servers.close().await;
}

#[tokio::test]
async fn a_revision_that_nobody_knows_is_named() {
    let web = server("1999-01-01", json!([])).await;
    let world = World::new();
    let servers = world.servers(json!({"s": {"url": web.url()}})).await;
    let error = servers.get("s").unwrap().check().await.unwrap_err();
    assert_eq!(error, Error::Start("it speaks MCP 1999-01-01, which is not a known revision".to_owned()));
    servers.close().await;
}

#[tokio::test]
async fn a_flood_of_empty_lines_is_cut_off_and_named() {
    let world = World::new();
    let answer = r#"read -r line; id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p');
        printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id""#;
    let script = format!(
        r#"{answer} '"error":{{"code":-32601,"message":"no"}}'
        {answer} '"result":{{"protocolVersion":"2025-06-18","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"s","version":"1"}}}}'
        read -r line; {answer} '"result":{{"tools":[]}}'
        yes """#
    );
    let servers = world.servers(json!({"s": {"command": "sh", "args": ["-c", script]}})).await;
    let server = servers.get("s").unwrap();
    let _ = server.check().await;
    while !server.health().misdeeds.floods {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let words = server.health().misdeeds.words();
    assert_eq!(words, ["it sent more messages or lines than anybody asked for, and was cut off"]);
    servers.close().await;
}

/// What a server on pipes prints as its answer to a call, with `ID` for the number of the request.
async fn printed(answer: &str) -> Result<std::sync::Arc<updraft_run::ToolOutput>, String> {
    const SERVER: &str = r#"
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case "$line" in
    *'"method":"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}}\n' "$id" ;;
    *'"method":"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}}\n' "$id" ;;
    *'"method":"tools/call"'*) printf '%s\n' "$ANSWER" | sed "s/ID/$id/" ;;
    *'"id":'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"what?"}}\n' "$id" ;;
    esac
done
"#;
    let world = World::new();
    let entry = json!({"command": "sh", "args": ["-c", SERVER], "env": {"ANSWER": answer}, "callSeconds": 600});
    let servers = world.servers(json!({"s": entry})).await;
    let dispatcher = world.dispatcher(&servers).await;
    let reply = world.reply(&dispatcher, "mcp_s_t", json!({})).await;
    servers.close().await;
    match reply {
        updraft_run::Reply::Output(output) if output.text.starts_with("MCP server `s`: ") => Err(output.text.clone()),
        updraft_run::Reply::Output(output) => Ok(output),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_answer_that_is_nearly_json_fails_its_call_at_once() {
    for answer in [
        r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[],"structuredContent":{"x":NaN}}}"#,
        r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"\ud800"}]}}"#,
    ] {
        let why = printed(answer).await.unwrap_err();
        assert!(why.contains("its answer is not JSON"), "{why}");
    }
}

#[tokio::test]
async fn what_can_be_read_of_a_result_is_kept() {
    let result = |result: &str| format!(r#"{{"jsonrpc":"2.0","id":ID,"result":{result}}}"#);
    let parts =
        r#"{"content":[{"type":"text","text":"one"},{"type":"video"},{"type":"text","text":"two"}],"isError":true}"#;
    let output = printed(&result(parts)).await.unwrap();
    assert_eq!((output.text.as_str(), output.is_error), ("one\n[something of an unknown form]\ntwo", true));
    for nothing in ["{}", r#"{"content":null}"#] {
        assert_eq!(printed(&result(nothing)).await.unwrap().text, "(the tool returned nothing)", "{nothing}");
    }
    let data = printed(&result(r#"{"content":null,"structuredContent":{"a":1}}"#)).await.unwrap();
    assert_eq!(data.value, Some(json!({"a": 1})));
    assert!(printed(&result(r#"{"hello":1}"#)).await.unwrap_err().contains("answer to something else"));
}

#[tokio::test]
async fn every_tool_that_runs_go_without_is_named() {
    let schema = |more: Value| json!({"type": "object", "properties": {"x": more}});
    let tools = json!([{"name": "yes", "inputSchema": true}, {"name": "list", "inputSchema": []},
        {"name": "text", "inputSchema": "x"}, {"name": "pattern", "inputSchema": schema(json!({"pattern": "("}))},
        {"name": "foreign", "inputSchema": schema(json!({"$ref": "http://x.example/s"}))},
        {"name": "good", "inputSchema": {"type": "object"}}]);
    let web = server("2025-06-18", tools).await;
    let world = World::new();
    let servers = world.servers(json!({"s": {"url": web.url()}})).await;
    let faults = servers.get("s").unwrap().check().await.unwrap().faults();
    for name in ["yes", "list", "text", "pattern", "foreign"] {
        assert!(faults.iter().any(|fault| fault.starts_with(&format!("`{name}`: "))), "{name} in {faults:?}");
    }
    assert_eq!(faults.len(), 5, "{faults:?}");
    servers.close().await;
}

/// What comes of a call over HTTP that is answered like this.
async fn answered(call: impl Fn(&Value) -> (u16, &'static str, String) + Send + Sync + 'static) -> updraft_run::Reply {
    let web = Web::serve(move |method, _, body| {
        let result = match (method, body["method"].as_str().unwrap_or_default()) {
            ("POST", "initialize") => json!({"protocolVersion": "2025-03-26", "capabilities": {"tools": {}},
                "serverInfo": {"name": "s", "version": "1"}}),
            ("POST", "notifications/initialized") => return (202, "", String::new()),
            ("POST", "tools/list") => json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}),
            ("POST", "tools/call") => return call(body),
            _ => return (405, "", String::new()),
        };
        result_to(&body["id"], &result)
    })
    .await;
    let world = World::new();
    let servers = world.servers(json!({"s": {"url": web.url(), "callSeconds": 600}})).await;
    let dispatcher = world.dispatcher(&servers).await;
    let reply = world.reply(&dispatcher, "mcp_s_t", json!({})).await;
    servers.close().await;
    reply
}

fn done(id: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": "done"}]}})
}

#[tokio::test]
async fn answers_over_http_are_understood_however_they_come() {
    let text = |reply| match reply {
        updraft_run::Reply::Output(output) => output.text.clone(),
        other => panic!("{other:?}"),
    };
    let spelled =
        answered(|body| (200, "Content-Type: Application/JSON; Charset=utf-8\r\n", done(&body["id"]).to_string()));
    assert_eq!(text(spelled.await), "done");
    let told = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}});
    let batch = answered(move |body| {
        let batch = json!([told, done(&body["id"])]);
        (200, "Content-Type: Text/Event-Stream\r\n", format!("data: {batch}\n\n"))
    });
    assert_eq!(text(batch.await), "done");
}

#[tokio::test]
async fn what_is_no_answer_over_http_fails_its_call_at_once() {
    let failed = |reply| match reply {
        updraft_run::Reply::Output(output) if output.is_error => output.text.clone(),
        other => panic!("{other:?}"),
    };
    let nothing = failed(answered(|_| (202, "", String::new())).await);
    assert!(nothing.contains("HTTP 202"), "{nothing}");
    let broken = answered(|body| {
        let data = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"structuredContent":NaN}}}}"#, body["id"]);
        (200, "Content-Type: text/event-stream\r\n", format!("data: {data}\n\n"))
    });
    let broken = failed(broken.await);
    assert!(broken.contains("its answer is not JSON"), "{broken}");
}

#[tokio::test]
async fn a_session_that_a_server_does_not_know_any_longer_is_begun_anew_whatever_status_says_so() {
    let sessions = std::sync::atomic::AtomicU32::new(0);
    let web = Web::serve(move |method, _, body| {
        use std::sync::atomic::Ordering::Relaxed;
        let result = match (method, body["method"].as_str().unwrap_or_default()) {
            ("POST", "initialize") => {
                let number = sessions.fetch_add(1, Relaxed) + 1;
                let result = json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                    "serverInfo": {"name": "s", "version": "1"}});
                let (status, _, text) = result_to(&body["id"], &result);
                let first = "Content-Type: application/json\r\nMcp-Session-Id: first\r\n";
                let second = "Content-Type: application/json\r\nMcp-Session-Id: second\r\n";
                return (status, if number == 1 { first } else { second }, text);
            }
            ("POST", "notifications/initialized") => return (202, "", String::new()),
            ("POST", "tools/list") => json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}),
            ("POST", "tools/call") if sessions.load(Relaxed) == 1 => {
                let told = json!({"jsonrpc": "2.0", "id": null,
                    "error": {"code": -32000, "message": "Bad Request: No valid session ID provided"}});
                return (400, "Content-Type: application/json\r\n", told.to_string());
            }
            ("POST", "tools/call") => {
                return (200, "Content-Type: application/json\r\n", done(&body["id"]).to_string());
            }
            ("POST", "server/discover") => return (400, "", String::new()),
            _ => return (405, "", String::new()),
        };
        result_to(&body["id"], &result)
    })
    .await;
    let world = World::new();
    let servers = world.servers(json!({"s": {"url": web.url()}})).await;
    let dispatcher = world.dispatcher(&servers).await;
    assert_eq!(world.output(&dispatcher, "mcp_s_t", json!({})).await.text, "done");
    servers.close().await;
}
