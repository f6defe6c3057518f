//! What goes wrong with one request is told for what it is, and costs nobody else anything.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::web::{JSON, Web, answer, modern_later, result_to};
use crate::support::{World, chaos};
use futures_util::FutureExt as _;
use serde_json::json;
use tokio::sync::Notify;
use updraft_mcp::Error;
use updraft_run::Reply;

/// A server that lists its one tool once, and then refuses to for a while.
async fn moody(refusal: (u16, &'static str)) -> Web {
    let listed = AtomicUsize::new(0);
    Web::serve(move |method, _, body| {
        let result = match (method, body["method"].as_str().unwrap_or_default()) {
            ("POST", "initialize") => json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                "serverInfo": {"name": "moody", "version": "1"}}),
            ("POST", "notifications/initialized") => return (202, "", String::new()),
            ("POST", "tools/list") if listed.fetch_add(1, Ordering::Relaxed) > 0 => {
                let words = refusal.1.replace("ID", &body["id"].to_string());
                return (refusal.0, JSON, words);
            }
            ("POST", "tools/list") => json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}),
            ("POST", "tools/call") => json!({"content": [{"type": "text", "text": "here"}]}),
            _ => return (405, "", String::new()),
        };
        result_to(&body["id"], &result)
    })
    .await
}

#[tokio::test]
async fn a_passing_refusal_to_list_tools_takes_none_of_them_away() {
    let internal = r#"{"jsonrpc": "2.0", "id": ID, "error": {"code": -32603, "message": "later"}}"#;
    for refusal in [(200, internal), (429, "later")] {
        let web = moody(refusal).await;
        let world = World::new();
        let servers = world.servers(json!({"m": {"url": web.url()}})).await;
        let dispatcher = world.dispatcher(&servers).await;
        let server = servers.get("m").unwrap();
        assert_eq!(server.manifest().unwrap().tools.len(), 1);
        let refused = server.check().await.unwrap_err();
        assert!(matches!(&refused, Error::Refused { message, .. } if message.contains("later")), "{refused:?}");
        assert_eq!(server.health().last, Some(refused));
        assert_eq!(server.manifest().unwrap().tools.len(), 1);
        assert_eq!(world.output(&dispatcher, "mcp_m_echo", json!({})).await.text, "here");
        servers.close().await;
        // Remembered as well, and the server can be called although it does not list what it has.
        let again = world.servers(json!({"m": {"url": web.url()}})).await;
        assert_eq!(again.get("m").unwrap().manifest().unwrap().tools.len(), 1);
        let dispatcher = world.dispatcher(&again).await;
        assert_eq!(world.output(&dispatcher, "mcp_m_echo", json!({})).await.text, "here");
        again.close().await;
    }
}

#[tokio::test]
async fn a_request_that_is_lost_over_http_ends_no_other() {
    let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (told, waits) = (Arc::clone(&begun), Arc::clone(&go_on));
    let web = modern_later(move |body| {
        let (told, waits, body) = (Arc::clone(&told), Arc::clone(&waits), body.clone());
        async move {
            if body["params"]["arguments"]["do"] == "fall" {
                return (503, "", "out of order".to_owned());
            }
            told.notify_one();
            waits.notified().await;
            answer(&body["id"], "slow but sure")
        }
        .boxed()
    })
    .await;
    let world = World::new();
    let servers = world.servers(json!({"m": {"url": web.url()}})).await;
    let dispatcher = world.dispatcher(&servers).await;
    let slow = world.output(&dispatcher, "mcp_m_echo", json!({"do": "wait"}));
    let falls = async {
        begun.notified().await;
        // Also where it happens so often that the next call connects anew.
        for _ in 0..4 {
            let reply = world.reply(&dispatcher, "mcp_m_echo", json!({"do": "fall"})).await;
            let Reply::InDoubt { evidence } = reply else { panic!("{reply:?}") };
            assert!(evidence.contains("503"), "{evidence}");
        }
        go_on.notify_one();
    };
    let (slow, ()) = tokio::join!(slow, falls);
    assert_eq!(slow.text, "slow but sure");
    assert_eq!(servers.get("m").unwrap().health().starts, 2);
    servers.close().await;
}

#[tokio::test]
async fn a_task_that_its_server_cancels_is_in_doubt_and_the_server_goes_on() {
    let world = World::new();
    let servers = world.servers(json!({"c": chaos("new")})).await;
    let dispatcher = world.dispatcher(&servers).await;
    let reply = world.reply(&dispatcher, "mcp_c_task", json!({"text": "give up"})).await;
    let Reply::InDoubt { evidence } = reply else { panic!("{reply:?}") };
    assert!(evidence.contains("the server aborted the request: its task was cancelled"), "{evidence}");
    assert_eq!(world.output(&dispatcher, "mcp_c_echo", json!({"text": "x"})).await.text, "x");
    assert_eq!(servers.get("c").unwrap().health().starts, 1);
    servers.close().await;
}

#[tokio::test]
async fn a_call_of_the_plain_form_that_is_lost_is_in_doubt_and_one_turned_away_is_not() {
    let web = Web::serve(|method, path, body| match (method, path) {
        ("POST", "/api/tools/list") => (200, JSON, json!([{"name": "do"}]).to_string()),
        ("POST", "/api/tools/call") => match body["arguments"]["how"].as_str().unwrap_or_default() {
            "fall" => (502, "", "out of order".to_owned()),
            "break" => (200, "Content-Length: 999\r\n", "{".to_owned()),
            "refuse" => (422, "", "not like this".to_owned()),
            "babble" => (200, "", "hello".to_owned()),
            how => (200, JSON, json!({"result": how}).to_string()),
        },
        _ => (404, "", String::new()),
    })
    .await;
    let world = World::new();
    let servers = world.servers(json!({"p": {"url": web.url()}})).await;
    let dispatcher = world.dispatcher(&servers).await;
    for how in ["fall", "break"] {
        let reply = world.reply(&dispatcher, "mcp_p_do", json!({"how": how})).await;
        let Reply::InDoubt { evidence } = reply else { panic!("{how}: {reply:?}") };
        assert!(evidence.contains("may or may not have been done"), "{evidence}");
    }
    let refused = world.failure(&dispatcher, "mcp_p_do", json!({"how": "refuse"})).await;
    assert!(
        refused.contains("the server returned an error: HTTP 422 Unprocessable Entity: not like this"),
        "{refused}"
    );
    let babbled = world.failure(&dispatcher, "mcp_p_do", json!({"how": "babble"})).await;
    assert!(babbled.contains("its answer cannot be used: its answer is not JSON"), "{babbled}");
    assert_eq!(world.output(&dispatcher, "mcp_p_do", json!({"how": "well"})).await.text, "well");
    servers.close().await;
}
