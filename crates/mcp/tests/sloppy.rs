//! Servers that are careless in what they say: what can be used is, and what is wrong is named.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod support;

use std::time::Duration;

use serde_json::{Value, json};
use support::World;
use support::web::{Web, result_to};
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
    assert_eq!(manifest.left_out, ["`word`: its arguments are no object"]);
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
    assert_eq!(error, Error::Start("it speaks MCP 1999-01-01, which is no revision that is known here".to_owned()));
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
