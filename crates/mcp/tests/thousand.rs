//! A thousand calls to a server that misbehaves in every way it can: no answer is lost, none is taken for another's, and
//! memory stays flat.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;
use support::{World, chaos};
use tokio::task::JoinSet;
use updraft_run::Reply;

/// Calls in all, and how many are made at the same time.
const CALLS: usize = 1_000;
const AT_ONCE: usize = 4;
/// How far memory may have grown from the first tenth of the calls to the last, in kilobytes: a large answer or two.
const GROWTH: usize = 48 << 10;

/// What the `n`th call asks for. Large answers are rare, so that the test does not take longer than it must.
fn deed(n: usize) -> &'static str {
    match n {
        _ if n % 97 == 50 => "big",
        _ if n % 53 == 20 => "flood",
        _ if n % 41 == 30 => "hang",
        _ if n % 29 == 10 => "die",
        _ if n % 31 == 11 => "die_after",
        _ if n % 61 == 5 => "progress",
        _ => ["echo", "babble", "twice", "foreign", "echo", "change", "malformed", "echo"][n % 8],
    }
}

/// Whether a reply is one that this call may get while others make the server misbehave at the same time.
fn judge(name: &str, nonce: &str, reply: &Reply) -> &'static str {
    match reply {
        Reply::Output(output) if output.is_error => {
            assert!(output.text.contains("MCP server `c`"), "{}", output.text);
            "failed"
        }
        Reply::Output(output) => {
            assert!(!matches!(name, "die" | "hang" | "flood" | "malformed" | "big"), "{name}: {output:?}");
            assert_eq!(output.text, nonce, "{name} was given another's answer");
            "answered"
        }
        // The server was ended under it, by itself or by another call, or did not answer.
        Reply::InDoubt { evidence } => {
            assert!(evidence.contains("MCP server `c`"), "{evidence}");
            "in doubt"
        }
        Reply::Failed(failure) => {
            assert!(failure.message.contains("MCP server `c`"), "{failure}");
            "failed"
        }
        other => panic!("{name}: {other:?}"),
    }
}

fn memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_thousand_calls_lose_nothing_confuse_nothing_and_cost_no_memory() {
    let world = Arc::new(World::new());
    let mut server = chaos("old");
    server["callSeconds"] = json!(1);
    let servers = world.servers(json!({"c": server})).await;
    let dispatcher = world.dispatcher(&servers).await;
    let (mut counts, mut early) = (BTreeMap::new(), 0);
    let mut open: JoinSet<(String, &'static str)> = JoinSet::new();
    for n in 0..CALLS {
        let (world, dispatcher) = (Arc::clone(&world), dispatcher.clone());
        open.spawn(async move {
            let (name, nonce) = (deed(n), format!("nonce {n}"));
            let said = if name == "big" { "50".to_owned() } else { nonce.clone() };
            let reply = world.reply(&dispatcher, &format!("mcp_c_{name}"), json!({"text": said})).await;
            (name.to_owned(), judge(name, &nonce, &reply))
        });
        while open.len() >= AT_ONCE {
            let (_, outcome) = open.join_next().await.unwrap().unwrap();
            *counts.entry(outcome).or_insert(0) += 1;
        }
        if n == CALLS / 10 {
            early = memory();
        }
    }
    while let Some(done) = open.join_next().await {
        *counts.entry(done.unwrap().1).or_insert(0) += 1;
    }
    let late = memory();
    println!("{counts:?}; memory {early} kB, then {late} kB; {:?}", servers.get("c").unwrap().health());
    assert_eq!(counts.values().sum::<usize>(), CALLS);
    assert!(counts["answered"] > CALLS / 2, "{counts:?}");
    assert!(late < early + GROWTH, "memory grew from {early} kB to {late} kB");
    let last = world.output(&dispatcher, "mcp_c_echo", json!({"text": "still there"})).await;
    assert_eq!(last.text, "still there");
    servers.close().await;
}
