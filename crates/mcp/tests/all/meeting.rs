//! Whom a run waits for, and whom it does not.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::BTreeSet;
use std::time::Duration;

use crate::support::{PROGRAM, World, chaos, parent};
use serde_json::{Value, json};

/// A program that starts and never says anything.
fn silent() -> Value {
    json!({"command": "sleep", "args": ["1000"]})
}

#[tokio::test]
async fn a_server_that_did_not_come_is_not_waited_for_again_for_a_while() {
    let world = World::new();
    let first = world.servers(json!({"c": chaos("old"), "silent": silent()})).await;
    while first.get("c").unwrap().check().await.is_err() {}
    let tools = first.tools(Duration::from_millis(50), &BTreeSet::new()).await;
    assert_eq!(tools.len(), first.get("c").unwrap().manifest().unwrap().tools.len());
    assert_eq!(first.get("silent").unwrap().why_absent(), "as a short while ago, it is slow to start");
    first.close().await;
    // The next time nobody is waited for, however long one would.
    let again = world.servers(json!({"c": chaos("old"), "silent": silent()})).await;
    assert_eq!(again.tools(Duration::from_hours(24), &BTreeSet::new()).await.len(), tools.len());
    again.close().await;
    // Nor does it matter any longer once it is configured differently, or has come.
    let mut other = chaos("old");
    other["startSeconds"] = json!(60);
    let other = world.servers(json!({"silent": other})).await;
    assert_eq!(other.tools(Duration::from_hours(24), &BTreeSet::new()).await.len(), tools.len());
    assert!(!world.folder.path().join("memory/silent.absent").exists());
    other.close().await;
}

#[tokio::test]
async fn a_server_that_takes_longer_than_it_is_waited_for_goes_on_to_start() {
    let world = World::new();
    let script = format!("until [ -e go ]; do sleep 0.02; done; exec {PROGRAM} chaos old");
    let slow = json!({"command": "sh", "args": ["-c", script], "sandbox": {"read": [parent(PROGRAM)]}});
    let servers = world.servers(json!({"slow": slow})).await;
    assert_eq!(servers.tools(Duration::from_millis(50), &BTreeSet::new()).await.len(), 0);
    std::fs::write(world.workspace().join("go"), "").unwrap();
    while servers.get("slow").unwrap().manifest().is_none() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(servers.get("slow").unwrap().health().failures, 0);
    servers.close().await;
}

#[tokio::test]
async fn servers_are_asked_all_at_once_whether_they_are_well() {
    let world = World::new();
    // Each answers only once the other is started.
    let waits = |own: &str, other: &str| {
        let script = format!("touch {own}; until [ -e {other} ]; do sleep 0.02; done; exec {PROGRAM} chaos old");
        json!({"command": "sh", "args": ["-c", script], "startSeconds": 60, "sandbox": {"read": [parent(PROGRAM)]}})
    };
    let servers = world.servers(json!({"one": waits("a", "b"), "two": waits("b", "a")})).await;
    let checked = servers.check(None).await;
    let names: Vec<&str> = checked.iter().map(|(server, _)| server.config().name.as_str()).collect();
    assert_eq!(names, ["one", "two"]);
    for (_, checked) in checked {
        checked.unwrap();
    }
    servers.close().await;
}
