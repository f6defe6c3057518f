//! What a model is told about servers, and how it finds tools where there are too many to show.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::BTreeSet;
use std::time::Duration;

use crate::support::{World, chaos};
use serde_json::{Value, json};
use updraft_mcp::Servers;
use updraft_run::{PreparedCall, ToolCall};
use updraft_tools::{Dispatcher, Registry, ToolLimits};

async fn offered(servers: &Servers) -> Dispatcher {
    let mut registry = Registry::standard(&ToolLimits::default());
    for tool in servers.offered(Duration::from_mins(1), &BTreeSet::new()).await {
        registry.insert(tool).unwrap();
    }
    Dispatcher::new(registry, ToolLimits::default())
}

#[tokio::test]
async fn the_helpers_tell_of_servers_and_their_tools() {
    let world = World::new();
    let servers = world.servers(json!({"c": chaos("old"), "gone": {"command": "no-such-program"}})).await;
    let dispatcher = offered(&servers).await;
    let listed = world.output(&dispatcher, "list_mcp_servers", json!({})).await;
    let start = "c: running, 19 tools\n  how it says it should be used: Mind the gap.\ngone: failed: could not start";
    assert!(listed.text.starts_with(start), "{}", listed.text);
    let tools = world.output(&dispatcher, "list_mcp_tools", json!({"server_name": "c"})).await;
    assert!(tools.text.contains("mcp_c_echo: Does echo."), "{}", tools.text);
    let before = world.output(&dispatcher, "list_mcp_tools", json!({"server": "c"})).await;
    assert_eq!(before.text, tools.text, "the name of before is taken as well");
    let help = world.output(&dispatcher, "get_mcp_tool_help", json!({"tool_name": "echo"})).await;
    assert!(help.text.starts_with("mcp_c_echo (MCP server c)\nDoes echo.\narguments: {"), "{}", help.text);
    let health = world.output(&dispatcher, "mcp_health_check", json!({"server_name": "c"})).await;
    assert_eq!(health.text, "c: working, 19 tools, MCP 2025-06-18\n");
    servers.close().await;
}

#[tokio::test]
async fn many_tools_are_searched_for_instead_of_shown_and_checked_as_strictly() {
    let world = World::new();
    let many: serde_json::Map<String, Value> = (0..4).map(|n| (format!("c{n}"), chaos("old"))).collect();
    let servers = world.servers(Value::Object(many)).await;
    let dispatcher = offered(&servers).await;
    let all = dispatcher.registry();
    assert_eq!(all.findable(&["mcp"]).len(), 4 * 19, "none is shown");
    assert_eq!(all.findable(&["mcp", "c1"]).len(), 3 * 19, "a server that is named stands for its tools");
    assert!(!all.findable(&["mcp", "mcp_c1_echo"]).contains(&"mcp_c1_echo".to_owned()), "nor is one that is named");
    assert_eq!(all.findable(&["c1"]), Vec::<String>::new());
    let found = world.output(&dispatcher, "search_tools", json!({"query": "make structured data"})).await;
    assert!(found.text.lines().next().unwrap().contains("mcp_c0_structured"), "{}", found.text);
    assert!(found.untrusted && found.origins.len() == 4, "{:?}", found.origins);
    let called = json!({"tool_name": "mcp_c1_echo", "arguments": {"text": "hello"}});
    assert_eq!(world.output(&dispatcher, "call_tool", called.clone()).await.text, "hello");
    let before = json!({"tool": "mcp_c1_echo", "arguments": {"text": "hello"}});
    assert_eq!(world.output(&dispatcher, "call_tool", before).await.text, "hello");
    let place = world.context().place;
    let prepared = |args: Value| {
        let call = ToolCall { id: "1".into(), name: "call_tool".into(), args, fault: None };
        dispatcher.prepare(&call, &place)
    };
    let known = prepared(called);
    let direct = ToolCall { id: "1".into(), name: "mcp_c1_echo".into(), args: json!({"text": "hello"}), fault: None };
    let direct = dispatcher.prepare(&direct, &place);
    assert_eq!(known.passed_on_to.as_deref(), Some("mcp_c1_echo"));
    assert_eq!(PreparedCall { passed_on_to: None, ..known }, direct, "it is judged as if it were called directly");
    let wrong = prepared(json!({"tool": "mcp_c1_echo", "arguments": {"text": 5}})).fault.unwrap();
    assert!(wrong.message.contains("the arguments of `mcp_c1_echo`"), "{wrong}");
    let nothing = prepared(json!({"arguments": {}})).fault.unwrap();
    assert!(nothing.message.starts_with("`tool_name` is missing"), "{nothing}");
    let own = prepared(json!({"tool_name": "write_file", "arguments": {"path": "a", "content": ""}})).fault.unwrap();
    assert_eq!(own.message, "`write_file` is called by its own name");
    servers.close().await;
}
