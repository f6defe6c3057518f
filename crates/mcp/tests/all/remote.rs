//! Servers at an address that are plain, old, closed, large or mistaken: bytes on loopback, answers to agents.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::sync::atomic::Ordering;

use crate::support::World;
use crate::support::web::{JSON, Web, answer, modern};
use serde_json::json;
use updraft_mcp::Error;
use updraft_run::{Reply, ToolCall};

#[tokio::test]
async fn the_plain_form_is_found_out_and_works_like_any_other() {
    let web = Web::serve(|method, path, body| match (method, path) {
        ("POST", "/api/tools/list") => {
            let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]});
            (
                200,
                JSON,
                json!({"tools": [{"name": "double", "description": "Doubles.", "parameters": schema}]}).to_string(),
            )
        }
        ("POST", "/api/tools/call") => {
            assert_eq!(body["name"], "double");
            (200, JSON, json!({"result": body["arguments"]["a"].as_i64().unwrap() * 2}).to_string())
        }
        _ => (404, "", "nothing here".to_owned()),
    })
    .await;
    let world = World::new();
    let servers = world.servers(json!({"plain": {"type": "http", "url": web.url()}})).await;
    let dispatcher = world.dispatcher(&servers).await;
    let output = world.output(&dispatcher, "mcp_plain_double", json!({"a": 21})).await;
    assert_eq!((output.text.as_str(), output.hosts.as_slice()), ("42", ["127.0.0.1".to_owned()].as_slice()));
    let wrong = world.failure(&dispatcher, "mcp_plain_double", json!({"a": "x"})).await;
    assert!(wrong.contains("do not fit its schema"), "{wrong}");
    servers.close().await;
    // What it speaks is remembered: the next start asks for nothing else.
    let before = web.asked.load(Ordering::Relaxed);
    let again = world.servers(json!({"plain": {"type": "http", "url": web.url()}})).await;
    again.get("plain").unwrap().check().await.unwrap();
    assert_eq!(web.asked.load(Ordering::Relaxed) - before, 3);
    again.close().await;
}

#[tokio::test]
async fn an_answer_to_another_request_and_one_that_is_too_large_are_given_to_nobody() {
    let web = modern(|body| match body["params"]["arguments"]["do"].as_str().unwrap_or_default() {
        "lie" => answer(&json!(body["id"].as_i64().unwrap() + 1), "a lie"),
        "large" => answer(&body["id"], &"x".repeat(20 << 20)),
        said => answer(&body["id"], said),
    })
    .await;
    let world = World::new();
    let servers = world.servers(json!({"m": {"url": web.url()}})).await;
    let dispatcher = world.dispatcher(&servers).await;
    let lie = world.failure(&dispatcher, "mcp_m_echo", json!({"do": "lie"})).await;
    assert!(lie.contains("instead"), "{lie}");
    let large = world.failure(&dispatcher, "mcp_m_echo", json!({"do": "large"})).await;
    assert!(large.contains("more than 16 MB"), "{large}");
    assert_eq!(world.output(&dispatcher, "mcp_m_echo", json!({"do": "hello"})).await.text, "hello");
    let misdeeds = servers.get("m").unwrap().health().misdeeds;
    assert_eq!((misdeeds.strays, misdeeds.oversized), (1, 1));
    servers.close().await;
}

#[tokio::test]
async fn each_call_says_which_one_it_is_and_says_the_same_when_it_is_made_again() {
    let web = modern(|body| {
        answer(&body["id"], body["params"]["_meta"]["updraft/idempotency-key"].as_str().unwrap_or("none"))
    })
    .await;
    let world = World::new();
    let servers = world.servers(json!({"m": {"url": web.url()}})).await;
    let dispatcher = world.dispatcher(&servers).await;
    for key in ["run-1/a/0/0/call.0", "run-1/a/0/0/call.1", "run-1/a/0/0/call.0"] {
        let mut context = world.context();
        context.key = key.to_owned();
        let call = ToolCall { id: "1".into(), name: "mcp_m_echo".into(), args: json!({}), fault: None };
        let Reply::Output(output) = dispatcher.call(&call, &context).await.reply else { panic!("no output") };
        assert_eq!(output.text, key);
    }
    servers.close().await;
}

#[tokio::test]
async fn a_server_that_wants_a_login_says_so_and_one_that_is_not_there_too() {
    let closed = Web::serve(|_, _, _| (401, "WWW-Authenticate: Bearer\r\n", String::new())).await;
    let empty = Web::serve(|_, _, _| (404, "", String::new())).await;
    let world = World::new();
    let servers = world
        .servers(json!({
            "closed": {"url": closed.url()},
            "empty": {"url": empty.url()},
            "gone": {"url": "http://127.0.0.1:1/"}
        }))
        .await;
    let check = async |name: &str| servers.get(name).unwrap().check().await.unwrap_err();
    assert!(matches!(check("closed").await, Error::Login(_)));
    assert!(matches!(check("empty").await, Error::Unreachable(_)));
    assert!(matches!(check("gone").await, Error::Unreachable(_)));
    servers.close().await;
}

#[tokio::test]
async fn a_connection_that_breaks_leaves_a_call_in_doubt_and_a_refusal_does_not() {
    let web = modern(|body| {
        if body["params"]["arguments"]["do"] == "break" {
            return (200, "Content-Type: application/json\r\nContent-Length: 999\r\n", "{".to_owned());
        }
        if body["params"]["arguments"]["do"] == "too often" {
            return (429, "", "later".to_owned());
        }
        let error = json!({"code": -32602, "message": "no such thing"});
        (200, JSON, json!({"jsonrpc": "2.0", "id": body["id"], "error": error}).to_string())
    })
    .await;
    let world = World::new();
    let servers = world.servers(json!({"m": {"url": web.url()}})).await;
    let dispatcher = world.dispatcher(&servers).await;
    let reply = world.reply(&dispatcher, "mcp_m_echo", json!({"do": "break"})).await;
    assert!(matches!(reply, Reply::InDoubt { .. }), "{reply:?}");
    let refused = world.failure(&dispatcher, "mcp_m_echo", json!({"do": "refuse"})).await;
    assert!(refused.contains("the server returned an error: no such thing"), "{refused}");
    let turned_away = world.failure(&dispatcher, "mcp_m_echo", json!({"do": "too often"})).await;
    assert!(turned_away.contains("the server returned an error: HTTP 429 Too Many Requests: later"), "{turned_away}");
    servers.close().await;
}
