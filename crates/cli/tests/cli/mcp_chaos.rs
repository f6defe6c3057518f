//! A thousand calls of real runs to servers that misbehave in every way they can: no run is lost, no call goes without a
//! reply, and no answer is taken for another's.

use std::collections::BTreeMap;
use std::io::BufRead as _;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::world::World;

const SERVER: &str = include_str!("chaos.py");
/// Calls of one run, and how many of them in each turn: they are made at the same time.
const CALLS: usize = 250;
const IN_A_TURN: usize = 5;
const AGENT: &str = "---\nname: caller\npurpose: Calls.\ntools: [mcp]\nturns: 100\n---\nYou call.\n";

/// A server that ends with the test, however that ends.
struct Beside(Child);

impl Drop for Beside {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs whose model makes calls; `deed` says what the nth asks for. Gives how they ended, by tool.
fn calls(world: &World, server: &str, runs: usize, deed: impl Fn(usize) -> &'static str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for run in 0..runs {
        let call = |n: usize| {
            let n = run * CALLS + n;
            json!({"name": format!("mcp_{server}_{}", deed(n)), "args": {"text": format!("nonce {n}.")}})
        };
        let turn =
            |turn: usize| json!({"calls": (turn * IN_A_TURN..(turn + 1) * IN_A_TURN).map(call).collect::<Vec<_>>()});
        let mut script: Vec<Value> = (0..CALLS / IN_A_TURN).map(turn).collect();
        script.push(json!({"text": "All are made."}));
        let model = world.script("s.json", &Value::Array(script));
        let ran = world.updraft(&["run", "--json", "--yes", "--model", &model, "--agent", "caller", "call"]).code(0);
        let lines = ran.json();
        let mut asked = BTreeMap::new();
        for line in &lines {
            let item = &line["item"];
            let id = item["id"].to_string();
            if item["kind"] != "tool_call" {
                continue;
            }
            if line["type"] == "item.started" {
                asked.insert(id, (item["tool"].as_str().unwrap().to_owned(), item["arguments"]["text"].clone()));
            } else if line["type"] == "item.completed" {
                let (tool, text) = asked.remove(&id).unwrap_or_else(|| panic!("replied twice: {line}"));
                let outcome = if item["ok"] == true {
                    assert_eq!(item["output"], text, "{tool} was given another's answer");
                    "answered"
                } else {
                    let words = format!("{} {}", item["failure"], item["output"]);
                    let is_named = words.contains(&format!("MCP server `{server}`"));
                    let is_told = words.contains("it is closed") || words.contains("took longer than 2 s");
                    assert!(is_named || is_told, "{line}");
                    "not answered"
                };
                *counts.entry(format!("{outcome}: {tool}")).or_insert(0) += 1;
            }
        }
        assert!(asked.is_empty(), "no reply to {asked:?}");
        let last = lines.last().unwrap();
        assert_eq!((&last["status"], &last["answer"]), (&json!("done"), &json!("All are made.")), "{last}");
    }
    assert_eq!(counts.values().sum::<usize>(), runs * CALLS);
    counts
}

fn world() -> World {
    let world = World::new();
    world.config("agents/caller.md", AGENT);
    world.updraft(&["trust", "--yes"]).code(0);
    world
}

/// How many were answered, of those tools that always answer where nobody else makes the server fall.
fn answered(counts: &BTreeMap<String, usize>) -> usize {
    counts.iter().filter(|(name, _)| name.starts_with("answered")).map(|(_, count)| count).sum()
}

#[test]
fn no_run_is_lost_to_a_server_on_pipes_that_misbehaves() {
    let world = world();
    world.file("chaos.py", SERVER);
    let server =
        json!({"command": "python3", "args": ["chaos.py", "pipes"], "cwd": ".", "callSeconds": 2, "startSeconds": 60});
    world.config("mcp.json", &json!({"mcpServers": {"pipes": server}}).to_string());
    world.updraft(&["mcp", "check"]).code(0);
    let counts = calls(&world, "pipes", 2, |n| match n {
        _ if n % 125 == 60 => "big",
        _ if n % 83 == 20 => "flood",
        _ if n % 71 == 30 => "hang",
        _ if n % 47 == 10 => "die",
        _ if n % 53 == 11 => "die_after",
        _ => ["echo", "babble", "twice", "foreign", "echo", "fail", "malformed", "echo"][n % 8],
    });
    println!("{counts:#?}");
    assert!(answered(&counts) > CALLS, "{counts:#?}");
}

#[test]
fn no_run_is_lost_to_a_server_over_http_that_misbehaves() {
    let world = world();
    let script = world.file("chaos.py", SERVER);
    let mut server = Command::new("python3");
    server.arg(script).arg("http").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut server = Beside(server.spawn().unwrap());
    let mut port = String::new();
    std::io::BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut port).unwrap();
    let url = format!("http://127.0.0.1:{}/mcp", port.trim());
    // Its calls only read and stay at the server, so that nobody needs to be asked for each after the first.
    let remote = json!({"url": url, "callSeconds": 2, "trustHints": true});
    world.config("mcp.json", &json!({"mcpServers": {"web": remote}}).to_string());
    world.updraft(&["mcp", "check"]).code(0);
    let counts = calls(&world, "web", 2, |n| match n {
        _ if n % 125 == 60 => "big",
        _ if n % 83 == 20 => "hang",
        _ if n % 47 == 10 => "fall",
        _ if n % 53 == 11 => "drop",
        _ if n % 43 == 12 => "break",
        _ if n % 41 == 13 => "torn",
        _ if n % 37 == 14 => "lose",
        _ => ["echo", "stream", "echo", "foreign", "echo", "refuse", "malformed", "echo"][n % 8],
    });
    println!("{counts:#?}");
    assert!(answered(&counts) > CALLS, "{counts:#?}");
}
