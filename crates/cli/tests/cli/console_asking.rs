//! Questions and approvals in the console, while other steps are at work and from another terminal.

use std::process::Command;

use serde_json::{Value, json};

use crate::pty::Pty;
use crate::world::{Background, World};

/// Waits for the file `go`. A sandbox may remember that a name was not there, so the names are listed.
const WAIT: &str = "until ls | grep -qx go; do sleep 0.05; done; echo the sign came";

/// A plan of two steps side by side: `slow` runs a command until the file `go` is there, `careful` reads a file, which has to
/// be approved.
fn two_steps(world: &World) -> String {
    world.config("config.toml", "[rules]\nask = [\"read_file\"]\nallow = [\"run_command\"]\n");
    let plan = json!({ "steps": [
        { "id": "slow", "agent": "coder", "description": "Wait for a sign", "prompt": "wait" },
        { "id": "careful", "agent": "coder", "description": "Read the file", "prompt": "read" },
    ] });
    let call = |name: &str, args: Value| json!({ "calls": [{ "name": name, "args": args }] });
    let rules = json!([
        { "when": { "agent": "planner" }, "answer": { "json": plan } },
        { "when": { "step": "slow", "turn": 0 }, "answer": call("run_command", json!({ "command": WAIT })) },
        { "when": { "step": "slow" }, "answer": { "text": "The sign has come." } },
        { "when": { "step": "careful", "turn": 0 }, "answer": call("read_file", json!({ "path": "a.txt" })) },
        { "when": { "step": "careful" }, "answer": { "text": "It says hello." } },
    ]);
    world.script("s.json", &json!({ "rules": rules, "default": { "text": "All is done." } }))
}

fn attach(world: &World, args: &[&str]) -> Pty {
    let mut command: Command = world.command(&[&["attach", "last"], args].concat());
    command.env("LANG", "C.UTF-8").env_remove("NO_COLOR");
    Pty::start(&command, 100)
}

fn has_ended(world: &World, step: &str) -> bool {
    let events = world.updraft(&["events", "last", "--json"]).json();
    events.iter().any(|event| event["event"]["step_done"]["step"] == step)
}

#[test]
fn a_call_is_approved_while_another_step_is_at_work() {
    let world = World::new();
    let model = two_steps(&world);
    let mut pty = Pty::chat(&world, 100, &["--model", &model, "--plan"]);
    pty.shows("› ");
    pty.types("Read it, and wait\r");
    pty.shows("allow it?");
    pty.shows("at work meanwhile: slow");
    pty.types("y\r");
    // It has ended before the other step has, which still waits.
    pty.until("the step has ended", |_| has_ended(&world, "careful"));
    assert!(!has_ended(&world, "slow"), "{}", pty.all());
    world.file("go", "");
    pty.shows("The sign has come.");
}

#[test]
fn another_terminal_approves_a_call_and_the_question_disappears_here() {
    let world = World::new();
    let model = two_steps(&world);
    let mut first = Pty::chat(&world, 100, &["--model", &model, "--plan"]);
    first.shows("› ");
    first.types("Read it, and wait\r");
    first.shows("allow it?");
    let mut second = attach(&world, &[]);
    second.shows("allow it?");
    second.shows("path: a.txt");
    second.types("y\r");
    second.until("the step has ended", |_| has_ended(&world, "careful"));
    first.shows("answered elsewhere");
    first.until("no question", |screen| !screen.contains("allow it?"));
    world.file("go", "");
    first.shows("The sign has come.");
    second.shows("The sign has come.");
    assert_eq!(second.end(), 0);
}

#[test]
fn a_question_is_answered_from_another_terminal() {
    let world = World::new();
    let call = json!({ "name": "ask_user", "args": { "question": "Which colour?", "options": ["red", "blue"] } });
    let wait = json!({ "name": "run_command", "args": { "command": WAIT } });
    let plan = json!({ "steps": [
        { "id": "slow", "agent": "coder", "prompt": "wait" },
        { "id": "ask", "agent": "clarification", "prompt": "ask" },
    ] });
    let rules = json!([
        { "when": { "step": "slow", "turn": 0 }, "answer": { "calls": [wait] } },
        { "when": { "step": "ask", "turn": 0 }, "answer": { "calls": [call] } },
    ]);
    let model = world.script("s.json", &json!({ "rules": rules, "default": { "text": "As you wish." } }));
    let file = world.file("plan.json", &plan.to_string());
    // Driven by a process without a terminal.
    let plan = file.to_str().unwrap();
    let run = Background::of(
        world.command(&["run", "--mode", "workspace", "--model", &model, "--plan", plan, "Paint it"]).spawn().unwrap(),
    );
    World::until("it asks", || {
        !world.runs().is_empty() && world.updraft(&["events", "last"]).out.contains("Which colour?")
    });
    let mut pty = attach(&world, &[]);
    pty.shows("Which colour?");
    pty.types("2\r");
    World::until("the step has its answer", || has_ended(&world, "ask"));
    world.file("go", "");
    pty.shows("As you wish.");
    assert_eq!(pty.end(), 0);
    assert!(run.wait().out.contains("As you wish."));
}
