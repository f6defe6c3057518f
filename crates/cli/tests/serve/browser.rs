//! A browser as an MCP server of ours, in the sandbox: Playwright's server with Chromium, used by a run that a client asked
//! for and whose approvals the client's person gives.
//!
//! `UPDRAFT_TEST_NPM` names a folder with the npm packages and `UPDRAFT_TEST_CHROMIUM` the browser; `./test.sh` sets them.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use serde_json::{Value, json};

use crate::client::{Client, Era};
use crate::world::World;

const PAGE: &str = "<!doctype html><title>Looms</title><h1>Looms</h1>\
    <button onclick=\"document.getElementById('cloth').textContent = 'woven once'\">Weave</button>\
    <p id=cloth>nothing yet</p>";

fn prepared(variable: &str) -> Option<String> {
    let found = std::env::var(variable).ok().filter(|value| !value.is_empty());
    if found.is_none() {
        let text = format!("!! SKIP: {variable} is not set; no run uses a browser\n");
        std::io::stderr().write_all(text.as_bytes()).unwrap();
    }
    found
}

/// Serves the page to whoever asks, for as long as the process lives; gives its address.
fn page() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}", PAGE.len());
            let _ = stream.write_all(format!("{head}\r\nConnection: close\r\n\r\n{PAGE}").as_bytes());
        }
    });
    url
}

/// What each call of a run gave, in order.
fn outputs(messages: &Value) -> Vec<String> {
    let is_call = |message: &&Value| message["address"].as_str().is_some_and(|at| at.contains("/call."));
    let calls = messages.as_array().unwrap().iter().filter(is_call);
    calls.map(|message| message["text"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_run_opens_a_page_reads_it_and_clicks_in_a_confined_browser() {
    let (Some(packages), Some(chromium)) = (prepared("UPDRAFT_TEST_NPM"), prepared("UPDRAFT_TEST_CHROMIUM")) else {
        return;
    };
    let world = World::new();
    let server = json!({
        "command": format!("{packages}/node_modules/node/bin/node"),
        "args": [format!("{packages}/node_modules/@playwright/mcp/cli.js"), "--headless", "--isolated", "--no-sandbox",
                 "--executable-path", chromium],
        "sandbox": { "network": "host", "read": [packages] }, "startSeconds": 120, "callSeconds": 120
    });
    world.config("mcp.json", &json!({ "mcpServers": { "browser": server } }).to_string());
    world.updraft(&["trust", "--yes"]).code(0);
    world.updraft(&["mcp", "check"]).code(0);
    let call =
        |tool: &str, args: Value| json!({ "calls": [{ "name": format!("mcp_browser_browser_{tool}"), "args": args }] });
    let script = json!([
        call("navigate", json!({ "url": page() })),
        call("snapshot", json!({})),
        call("click", json!({ "element": "Weave", "target": "e3" })),
        call("snapshot", json!({})),
        { "text": "It is woven." }
    ]);
    let model = world.script("script.json", &script);
    let mut client =
        Client::of(world.command(&["mcp", "serve", "--model", &model]), Era::Old, json!({ "elicitation": {} }));
    client.person = json!({ "action": "accept", "content": { "allow": true } });
    let answered = client.data("query", json!({ "query": "weave", "agent": "coder", "history": true }));
    assert_eq!(answered["answer"], "It is woven.", "{answered}");
    let outputs = outputs(&answered["messages"]);
    assert_eq!(outputs.len(), 4, "{answered}");
    assert!(outputs[0].contains("Page Title: Looms"), "{}", outputs[0]);
    assert!(outputs[1].contains("nothing yet") && outputs[1].contains("Weave"), "{}", outputs[1]);
    assert!(outputs[3].contains("woven once"), "{}", outputs[3]);
    // A browser that has read a page could carry things out: a person is asked for each step, and told why.
    let asked = client.heard.iter().filter(|heard| heard["method"] == "elicitation/create");
    let asked: Vec<String> = asked.map(|heard| heard["params"]["message"].to_string()).collect();
    assert_eq!(asked.len(), 4, "{asked:?}");
    assert!(
        asked[3].contains("Possible prompt injection: the agent has read") && asked[3].contains("MCP server browser"),
        "{asked:?}"
    );
}
