//! A server that an agent starts in the background: tested, changed, tested again; and gone when the program is.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::world::World;

/// Commands share a network only at the full level.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn can_test(world: &World) -> bool {
    let is_full = world.updraft(&["sandbox", "probe", "--json"]).value()["level"] == "full";
    let can = is_full && ["/usr/bin/curl", "/usr/bin/python3"].iter().all(|path| std::path::Path::new(path).exists());
    if !can {
        eprintln!("!! SKIP: this needs the full sandbox, curl and Python");
    }
    can
}

const SERVE: &str = "touch begun; exec /usr/bin/python3 -u -m http.server --bind 127.0.0.1 3000";

fn command(command: &str) -> Value {
    json!({ "name": "run_command", "args": { "command": command } })
}

fn start() -> Value {
    json!({ "name": "run_command", "args": { "command": SERVE, "background": true } })
}

fn background(args: &Value) -> Value {
    json!({ "name": "background", "args": args })
}

/// A model that makes one call in each turn.
fn model(world: &World, calls: &[Value]) -> String {
    let rule = |(turn, call): (usize, &Value)| json!({ "when": { "turn": turn }, "answer": { "calls": [call] } });
    let rules: Vec<Value> = calls.iter().enumerate().map(rule).collect();
    world.script("s.json", &json!({ "rules": rules, "default": { "text": "done" } }))
}

#[test]
fn a_development_server_is_started_tested_changed_and_tested_again() {
    let world = World::new();
    if !can_test(&world) {
        return;
    }
    world.file("page.txt", "the first page");
    let curl = command("/usr/bin/curl -sS --max-time 20 localhost:3000/page.txt");
    let calls = [
        start(),
        background(&json!({ "name": "bg1", "wait": "3000" })),
        curl.clone(),
        json!({ "name": "write_file", "args": { "path": "page.txt", "content": "the second page" } }),
        curl.clone(),
        background(&json!({ "name": "bg1", "wait": "GET /page.txt" })),
        background(&json!({ "name": "bg1", "stop": true })),
        curl,
    ];
    let model = model(&world, &calls);
    world.updraft(&["run", "--model", &model, "--agent", "coder", "serve the page"]).code(0);
    let prompts = world.updraft(&["show", &world.last(), "--prompts"]).code(0).out;
    let told = [
        "[bg1 runs until you stop it or your task ends",
        "; port 3000 accepts connections]",
        "the first page",
        "the second page",
        "; it printed `GET /page.txt`]",
        "[bg1 has ended: stopped]",
        "[exit code 7",
    ];
    let mut rest = prompts.as_str();
    for part in told {
        let at = rest.find(part).unwrap_or_else(|| panic!("`{part}` comes in its turn: {prompts}"));
        rest = &rest[at + part.len()..];
    }
}

#[test]
fn a_server_ends_with_the_step_that_started_it() {
    let world = World::new();
    if !can_test(&world) {
        return;
    }
    let model = model(&world, &[start(), background(&json!({ "name": "bg1", "wait": "3000" }))]);
    world.updraft(&["run", "--model", &model, "--agent", "coder", "serve"]).code(0);
    assert!(world.ws().join("begun").exists());
    assert_eq!(working_in(&world), BTreeSet::new(), "no process works in the folder any more");
}

#[test]
fn wherever_the_program_is_killed_no_process_is_left_and_the_agent_is_told() {
    let calls =
        [start(), background(&json!({ "name": "bg1", "wait": "never printed", "seconds": 600 })), command("sleep 600")];
    // Right after the start, while a line is waited for, and during a command beside the server.
    for (turn, until, told) in [
        (0, "begun", "unknown"),
        (1, "/0/1/call.0", "because the program was restarted: bg1"),
        (2, "/0/2/call.0", "because the program was restarted: bg1"),
    ] {
        let world = World::new();
        if !can_test(&world) {
            return;
        }
        let calls = if turn == 2 {
            [calls[0].clone(), background(&json!({ "name": "bg1", "wait": "3000" })), calls[2].clone()]
        } else {
            calls.clone()
        };
        let model = model(&world, &calls[..=turn]);
        let mut child = world.command(&["run", "--model", &model, "--agent", "coder", "serve"]).spawn().unwrap();
        World::until("the server has begun", || world.ws().join("begun").exists());
        if turn > 0 {
            let events = || world.updraft(&["events", &world.last(), "--json"]).out;
            World::until("that call is made", || events().contains(until));
        }
        let all = descendants(child.id());
        assert!(all.len() >= 3, "the tests can see what runs: {all:?}");
        child.kill().unwrap();
        child.wait().unwrap();
        World::until("every process is gone", || !all.iter().any(|pid| is_running(*pid)));
        assert_eq!(working_in(&world), BTreeSet::new());

        let run = world.last();
        world.updraft(&["resume", &run]).code(0);
        let prompts = world.updraft(&["show", &run, "--prompts"]).code(0).out;
        assert!(prompts.contains(told), "killed in turn {turn}: {prompts}");
        assert_eq!(working_in(&world), BTreeSet::new(), "nothing is started again by itself");
    }
}

fn descendants(pid: u32) -> BTreeSet<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let texts = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let children: Vec<u32> =
        texts.flat_map(|text| text.split_whitespace().map(|pid| pid.parse().unwrap()).collect::<Vec<_>>()).collect();
    children.into_iter().flat_map(|child| descendants(child).into_iter().chain([child])).collect()
}

/// A process that has ended and waits to be collected by someone else does nothing any more.
fn is_running(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// The processes whose working folder is in the workspace.
fn working_in(world: &World) -> BTreeSet<u32> {
    let is_inside =
        |pid: &u32| std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(world.ws()));
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_inside).collect()
}
