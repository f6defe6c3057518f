//! Servers that turn a request away for now, want something of a person first, or lose count of their pages.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::support::World;
use crate::support::web::{Answer as Answered, JSON, Web, result_to};
use serde_json::{Value, json};
use updraft_mcp::{ElicitationAnswer, ElicitationHandler, ElicitationKind, ElicitationRequest, HostFuture};

fn error_to(id: &Value, error: &Value) -> Answered {
    (200, JSON, json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string())
}

/// A server of the newest revision with one tool, but for what `other` does.
async fn modern(other: impl Fn(&str, &Value) -> Answered + Send + Sync + 'static) -> Web {
    Web::serve(move |method, _, body| match (method, body["method"].as_str().unwrap_or_default()) {
        ("POST", "server/discover") => result_to(
            &body["id"],
            &json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
                "ttlMs": 0, "cacheScope": "private"}),
        ),
        ("POST", asked) => other(asked, body),
        _ => (405, "", String::new()),
    })
    .await
}

fn tools(names: &[&str], cursor: Option<&str>) -> Value {
    let tools: Vec<Value> = names.iter().map(|name| json!({"name": name, "inputSchema": {"type": "object"}})).collect();
    let mut page = json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "tools": tools});
    if let Some(cursor) = cursor {
        page["nextCursor"] = json!(cursor);
    }
    page
}

#[tokio::test]
async fn a_task_outlasts_polls_that_are_turned_away() {
    let polls = AtomicUsize::new(0);
    let web = modern(move |asked, body| match asked {
        "tools/list" => result_to(&body["id"], &tools(&["slow"], None)),
        "tools/call" => result_to(
            &body["id"],
            &json!({"resultType": "task", "taskId": "t1", "status": "working", "createdAt": "2026-01-01T00:00:00Z",
                "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttlMs": null, "pollIntervalMs": 50}),
        ),
        "tasks/get" => match polls.fetch_add(1, Ordering::Relaxed) {
            0 => (429, "Retry-After: 0\r\n", "later".to_owned()),
            1 => (503, "Retry-After: 1\r\n", "later".to_owned()),
            2 => error_to(&body["id"], &json!({"code": -32603, "message": "the database is busy"})),
            _ => result_to(
                &body["id"],
                &json!({"resultType": "complete", "taskId": "t1", "status": "completed",
                    "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttlMs": null,
                    "result": {"content": [{"type": "text", "text": "done at last"}]}}),
            ),
        },
        _ => error_to(&body["id"], &json!({"code": -32601, "message": "no"})),
    })
    .await;
    let world = World::new();
    let servers = world.servers(json!({"m": {"url": web.url()}})).await;
    let dispatcher = world.dispatcher(&servers).await;
    assert_eq!(world.output(&dispatcher, "mcp_m_slow", json!({})).await.text, "done at last");
    servers.close().await;
}

#[tokio::test]
async fn an_empty_cursor_ends_a_list_and_one_that_comes_back_too() {
    for (end, is_named) in [("", false), ("2", true)] {
        let web = modern(move |asked, body| match (asked, body["params"]["cursor"].as_str()) {
            ("tools/list", None) => result_to(&body["id"], &tools(&["one"], Some("2"))),
            ("tools/list", Some(_)) => result_to(&body["id"], &tools(&["two"], Some(end))),
            _ => error_to(&body["id"], &json!({"code": -32601, "message": "no"})),
        })
        .await;
        let world = World::new();
        let servers = world.servers(json!({"m": {"url": web.url()}})).await;
        let known = servers.get("m").unwrap().check().await.unwrap();
        let names: Vec<&str> = known.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["one", "two"]);
        assert_eq!(known.left_out.iter().any(|said| said.contains("the page `2`")), is_named, "{:?}", known.left_out);
        servers.close().await;
    }
}

/// A person who goes where they are sent, or does not.
struct Person {
    goes: bool,
    sent_to: Mutex<Vec<String>>,
}

impl ElicitationHandler for Person {
    fn ask(&self, question: ElicitationRequest) -> HostFuture<'_, ElicitationAnswer> {
        let ElicitationKind::Url(address) = question.wanted else { panic!("{question:?}") };
        self.sent_to.lock().unwrap().push(format!("{}: {address}", question.message));
        let answer = if self.goes { ElicitationAnswer::Accept(Value::Null) } else { ElicitationAnswer::Decline };
        Box::pin(std::future::ready(answer))
    }
}

#[tokio::test]
async fn a_call_that_wants_an_address_visited_first_is_made_again_afterwards() {
    for goes in [true, false] {
        let calls = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&calls);
        let web = Web::serve(move |method, _, body| match (method, body["method"].as_str().unwrap_or_default()) {
            ("POST", "initialize") => result_to(
                &body["id"],
                &json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                    "serverInfo": {"name": "drive", "version": "1"}}),
            ),
            ("POST", "tools/list") => {
                result_to(&body["id"], &json!({"tools": [{"name": "files", "inputSchema": {"type": "object"}}]}))
            }
            ("POST", "tools/call") if count.fetch_add(1, Ordering::Relaxed) == 0 => error_to(
                &body["id"],
                &json!({"code": -32042, "message": "This request requires more information.", "data": {"elicitations":
                    [{"mode": "url", "elicitationId": "e1", "url": "https://drive.example/connect",
                      "message": "Connect your files"}]}}),
            ),
            ("POST", "tools/call") => {
                assert_eq!(body["params"].get("inputResponses"), None);
                result_to(&body["id"], &json!({"content": [{"type": "text", "text": "a.txt"}]}))
            }
            ("POST", _) if body.get("id").is_none() => (202, "", String::new()),
            ("POST", _) => error_to(&body["id"], &json!({"code": -32601, "message": "no such method"})),
            _ => (405, "", String::new()),
        })
        .await;
        let world = World::new();
        let mut host = world.host().await;
        let person = Arc::new(Person { goes, sent_to: Mutex::default() });
        host.people = Some(Arc::clone(&person) as Arc<dyn ElicitationHandler>);
        let servers = world.servers_with(&json!({"m": {"url": web.url()}}), host);
        let dispatcher = world.dispatcher(&servers).await;
        if goes {
            assert_eq!(world.output(&dispatcher, "mcp_m_files", json!({})).await.text, "a.txt");
        } else {
            let failure = world.failure(&dispatcher, "mcp_m_files", json!({})).await;
            assert!(failure.contains("open a URL first, and declined to"), "{failure}");
        }
        assert_eq!(*person.sent_to.lock().unwrap(), ["Connect your files: https://drive.example/connect"]);
        assert_eq!(calls.load(Ordering::Relaxed), if goes { 2 } else { 1 });
        servers.close().await;
    }
}
