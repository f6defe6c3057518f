//! Questions and approvals in the console, while other steps are at work and from another terminal.

use std::process::Command;

use serde_json::{Value, json};

use crate::pty::Pty;
use crate::world::{Background, World};

/// Waits for the file `half`, then for `go`. A sandbox may remember that a name was not there, so the names are listed.
const WAIT: &str = "until ls | grep -qxE 'go|half'; do sleep 0.05; done; echo half of it; \
                    until ls | grep -qx go; do sleep 0.05; done; echo the sign came";

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

/// An agent that reads a file, which has to be approved, and then obeys what it was told last.
fn careful_agent(world: &World) -> String {
    world.config("config.toml", "[rules]\nask = [\"read_file\"]\n");
    let rules = json!([
        { "when": { "turn": 0 }, "answer": { "calls": [{ "name": "read_file", "args": { "path": "a.txt" } }] } },
        { "when": { "contains": "Whisper it" }, "answer": { "text": "(hello)" } },
    ]);
    world.script("s.json", &json!({ "rules": rules, "default": { "text": "HELLO" } }))
}

fn journal_says(world: &World, message: &str) -> bool {
    let events = world.updraft(&["events", "last", "--json"]).json();
    events.iter().any(|event| event["event"]["told"]["message"] == message)
}

#[test]
fn run_asks_while_another_step_is_at_work_and_its_tree_goes_on() {
    let world = World::new();
    let model = two_steps(&world);
    let mut pty = Pty::start(&world.command(&["run", "--model", &model, "Read it, and wait"]), 100);
    pty.shows("allow it?");
    pty.shows("Wait for a sign");
    // The tree shows what the other step prints meanwhile.
    world.file("half", "");
    pty.until("the tree goes on", |screen| screen.contains("half of it") && screen.contains("allow it?"));
    pty.types("perhaps\r");
    pty.shows("nothing is decided by that");
    pty.types("y\r");
    pty.until("the step has ended", |_| has_ended(&world, "careful"));
    assert!(!has_ended(&world, "slow"), "{}", pty.all());
    pty.until("no question", |screen| !screen.contains("allow it?") && screen.contains("half of it"));
    world.file("go", "");
    pty.shows("The sign has come.");
    assert_eq!(pty.end(), 0, "{}", pty.all());
}

#[test]
fn what_is_asked_together_is_answered_one_by_one_and_each_step_goes_on_at_once() {
    let world = World::new();
    world.config("config.toml", "[rules]\nask = [\"read_file\"]\n");
    let plan = json!({ "steps": [
        { "id": "one", "agent": "coder", "prompt": "read" },
        { "id": "two", "agent": "coder", "prompt": "read" },
    ] });
    let call = json!({ "calls": [{ "name": "read_file", "args": { "path": "a.txt" } }] });
    let rules = json!([{ "when": { "agent": "planner" }, "answer": { "json": plan } },
                       { "when": { "turn": 0 }, "answer": call }]);
    let model = world.script("s.json", &json!({ "rules": rules, "default": { "text": "It says hello." } }));
    let mut pty = Pty::start(&world.command(&["run", "--model", &model, "Read it twice"]), 100);
    pty.shows("allow it?");
    pty.types("y\r");
    World::until("one of them has ended", || has_ended(&world, "one") || has_ended(&world, "two"));
    assert!(!(has_ended(&world, "one") && has_ended(&world, "two")), "{}", pty.all());
    pty.shows("allow it?");
    // Ctrl-C stops the run as it does without a question.
    pty.types("\u{3}");
    pty.shows("stopped; nothing is lost");
    assert_eq!(pty.end(), 130, "{}", pty.all());
}

#[test]
fn a_message_at_a_question_is_told_and_used_when_the_run_goes_on() {
    let world = World::new();
    let model = careful_agent(&world);
    let mut pty = Pty::chat(&world, 100, &["--model", &model]);
    pty.shows("› ");
    pty.types("Read it\r");
    pty.shows("allow it?");
    pty.types("/tell Whisper it\r");
    pty.shows("message sent; agents read it when the run continues");
    World::until("it is in the journal", || journal_says(&world, "Whisper it"));
    // The question stays.
    pty.shows("allow it?");
    pty.types("y\r");
    pty.shows("(hello)");
    pty.shows("2 turns");
    // Without a run, there is nobody to tell.
    pty.types("/tell Whisper it\r");
    pty.shows("no agent is at work");
}

#[test]
fn what_was_left_open_is_asked_again_when_the_run_is_resumed_in_the_console() {
    let world = World::new();
    let model = careful_agent(&world);
    let mut pty = Pty::chat(&world, 100, &["--model", &model]);
    pty.shows("› ");
    pty.types("Read it\r");
    pty.shows("allow it?");
    // A command waits until the work is done.
    pty.types("/cost\r");
    pty.shows("/cost waits until this is done");
    pty.types("\u{1b}");
    pty.shows("/resume continues this run");
    pty.shows("  1  Read it");
    pty.types("/resume\r");
    pty.shows("allow it?");
    pty.types("y\r");
    pty.shows("HELLO");
    assert_eq!(world.runs().len(), 1);
    pty.types("/resume\r");
    pty.shows("no run that could go on");
}

#[test]
fn a_run_that_rests_in_a_console_hears_other_terminals() {
    let world = World::new();
    let model = careful_agent(&world);
    let mut pty = Pty::chat(&world, 100, &["--model", &model]);
    pty.shows("› ");
    pty.types("Read it\r");
    pty.shows("allow it?");
    world.updraft(&["tell", "last", "Whisper it"]).code(0);
    pty.shows("message from elsewhere: Whisper it");
    assert!(journal_says(&world, "Whisper it"));
    pty.shows("allow it?");
    world.updraft(&["approve", "last"]).code(0);
    pty.shows("answered elsewhere");
    pty.shows("(hello)");
    pty.until("no question", |screen| !screen.contains("allow it?"));
}

#[test]
fn whoever_watches_stays_when_only_an_answer_is_missing_and_can_give_it() {
    let world = World::new();
    world.config("config.toml", "[rules]\nask = [\"read_file\"]\nallow = [\"run_command\"]\n");
    let call = |name: &str, args: Value| json!({ "calls": [{ "name": name, "args": args }] });
    let script = json!([
        call("run_command", json!({ "command": WAIT })),
        call("read_file", json!({ "path": "a.txt" })),
        { "text": "It says hello." },
    ]);
    let model = world.script("s.json", &script);
    world.updraft(&["run", "--detach", "--model", &model, "--agent", "coder", "Read it"]).code(0);
    let mut watching = attach(&world, &[]);
    watching.shows("driven by another process");
    world.file("go", "");
    // The process of the run ends with the question: nobody drives it until it is answered.
    watching.shows("allow it?");
    World::until("nobody drives it", || world.runs()[0]["status"] == "waiting");
    watching.types("y\r");
    watching.shows("updraft resume");
    assert_eq!(watching.end(), 3);
    assert_eq!(world.updraft(&["resume", "last"]).code(0).out, "It says hello.\n");
}

#[test]
fn whoever_comes_when_a_run_waits_already_is_asked_as_well() {
    let world = World::new();
    world.config("config.toml", "[rules]\nask = [\"read_file\"]\n");
    world.file("a.txt", "hello");
    let call = json!({ "calls": [{ "name": "read_file", "args": { "path": "a.txt" } }] });
    let model = world.script("s.json", &json!([call, { "text": "It says hello." }]));
    world.updraft(&["run", "--model", &model, "--agent", "coder", "Read it"]).code(3);
    let mut watching = attach(&world, &[]);
    watching.shows("waiting for an answer");
    watching.shows("allow it?");
    watching.types("y\r");
    watching.shows("updraft resume");
    assert_eq!(watching.end(), 3);
    assert_eq!(world.updraft(&["resume", "last"]).code(0).out, "It says hello.\n");
}
