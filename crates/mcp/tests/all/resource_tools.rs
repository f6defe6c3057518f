//! Resources and prompts of servers: found and read by agents, and a stranger's words.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::BTreeSet;
use std::time::Duration;

use crate::support::web::{Web, result_to};
use crate::support::{World, chaos};
use serde_json::{Value, json};
use updraft_run::{EffectClass, ToolCall};
use updraft_tools::{Dispatcher, Registry, ToolLimits};

/// A library: no tools, two resources, a form for more, and a prompt.
async fn library() -> Web {
    Web::serve(|method, _, body| {
        let params = &body["params"];
        let result = match (method, body["method"].as_str().unwrap_or_default()) {
            ("POST", "initialize") => {
                json!({"protocolVersion": "2025-06-18", "serverInfo": {"name": "l", "version": "1"},
                "capabilities": {"resources": {}, "prompts": {}}})
            }
            ("POST", "notifications/initialized") => return (202, "", String::new()),
            ("POST", "resources/list") if params["cursor"].is_null() => json!({"nextCursor": "2",
                "resources": [{"uri": "book://one", "name": "One", "description": "The first."}]}),
            ("POST", "resources/list") => json!({"resources": [{"uri": "book://two", "name": "Two"}]}),
            ("POST", "resources/templates/list") => json!({"resourceTemplates": [
                {"uriTemplate": "book://{title}", "name": "Any", "description": "By its title."}]}),
            ("POST", "resources/read") => json!({"contents": [
                {"uri": params["uri"], "text": format!("the text of {}", params["uri"].as_str().unwrap())}]}),
            ("POST", "prompts/list") => json!({"prompts": [{"name": "review", "description": "Reviews a book.",
                "arguments": [{"name": "title", "required": true}, {"name": "tone"}]}]}),
            ("POST", "prompts/get") => json!({"messages": [{"role": "user", "content": {"type": "text",
                "text": format!("Review {}.", params["arguments"]["title"].as_str().unwrap_or("nothing"))}}]}),
            ("POST", _) => {
                let error = json!({"code": -32601, "message": "Method not found"});
                let answer = json!({"jsonrpc": "2.0", "id": body["id"], "error": error});
                return (200, crate::support::web::JSON, answer.to_string());
            }
            _ => return (405, "", String::new()),
        };
        result_to(&body["id"], &result)
    })
    .await
}

async fn offered(world: &World, servers: Value) -> (updraft_mcp::Servers, Dispatcher) {
    let servers = world.servers(servers).await;
    let mut registry = Registry::default();
    for tool in servers.offered(Duration::from_mins(1), &BTreeSet::new()).await {
        registry.insert(tool).unwrap();
    }
    (servers, Dispatcher::new(registry, ToolLimits::default()))
}

#[tokio::test]
async fn resources_are_listed_and_read() {
    let (web, world) = (library().await, World::new());
    let (servers, dispatcher) = offered(&world, json!({"lib": {"url": web.url()}})).await;
    let listed = world.output(&dispatcher, "mcp_list_resources", json!({})).await;
    let lines: Vec<&str> = listed.text.lines().collect();
    assert_eq!(lines, ["book://one  One: The first.", "book://two  Two: ", "book://{title}  Any: By its title."]);
    let read = world.output(&dispatcher, "mcp_read_resource", json!({"server": "lib", "uri": "book://one"})).await;
    assert_eq!((read.text.as_str(), read.untrusted), ("the text of book://one", true));
    assert_eq!((&*read.origins, &*read.hosts), (&["MCP server lib".to_owned()][..], &["127.0.0.1".to_owned()][..]));
    servers.close().await;
}

#[tokio::test]
async fn prompts_are_listed_and_filled_in() {
    let (web, world) = (library().await, World::new());
    let (servers, dispatcher) = offered(&world, json!({"lib": {"url": web.url()}})).await;
    let listed = world.output(&dispatcher, "mcp_list_prompts", json!({"server": "lib"})).await;
    assert_eq!(listed.text, "review: Reviews a book. (title, tone?)\n");
    let args = json!({"server": "lib", "name": "review", "arguments": {"title": "Emma"}});
    let filled = world.output(&dispatcher, "mcp_get_prompt", args).await;
    assert_eq!((filled.text.as_str(), filled.untrusted), ("user: Review Emma.\n", true));
    servers.close().await;
}

#[tokio::test]
async fn asking_a_remote_server_is_as_strict_as_calling_it_and_nobody_is_offered_what_no_server_has() {
    let (web, world) = (library().await, World::new());
    let (servers, dispatcher) = offered(&world, json!({"lib": {"url": web.url()}, "c": chaos("old")})).await;
    let prepared = |args: Value| {
        let call = ToolCall { id: "1".into(), name: "mcp_read_resource".into(), args, fault: None };
        dispatcher.prepare(&call, &world.context().place)
    };
    let away = prepared(json!({"server": "lib", "uri": "book://one"}));
    assert_eq!((away.class, away.outside, away.sends), (EffectClass::Opaque, true, true));
    assert_eq!(away.hosts, ["127.0.0.1"]);
    let confined = prepared(json!({"server": "c", "uri": "x"}));
    assert_eq!((confined.outside, confined.sends), (false, false));
    let unknown = prepared(json!({"server": "who", "uri": "x"})).fault.unwrap();
    assert!(unknown.message.contains("there is no MCP server named `who`"), "{unknown}");
    servers.close().await;
    let (plain, dispatcher) = offered(&world, json!({"c": chaos("old")})).await;
    assert!(dispatcher.registry().get("mcp_read_resource").is_none());
    plain.close().await;
}
