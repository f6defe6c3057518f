//! The full screen: the steps, one of them in detail, the log, and back to the conversation.

use serde_json::json;

use crate::pty::Pty;
use crate::world::World;

/// A run of two steps side by side and one after both; the first writes a file.
fn planned(world: &World) -> String {
    let plan = json!({ "steps": [
        { "id": "write", "agent": "coder", "description": "Write the poem", "prompt": "Write it" },
        { "id": "think", "agent": "thinker", "description": "Think about it", "prompt": "Think" },
        { "id": "answer", "agent": "thinker", "description": "Say what was done", "prompt": "Say it", "after": ["write", "think"] },
    ] });
    let edit = json!({ "name": "write_file", "args": { "path": "a.txt", "content": "roses\nare red\n" } });
    let rules = json!([
        { "when": { "agent": "planner" }, "answer": { "json": plan } },
        { "when": { "step": "write", "turn": 0 }, "answer": { "calls": [edit] } },
        { "when": { "step": "write" }, "answer": { "text": "The poem is written." } },
        { "when": { "step": "think" }, "answer": { "text": "A rose is a rose." } },
    ]);
    world.script("s.json", &json!({ "rules": rules, "default": { "text": "There is a poem in a.txt." } }))
}

#[test]
fn a_conversation_on_the_full_screen_shows_steps_and_details_and_goes_back_to_lines() {
    let world = World::new();
    let model = planned(&world);
    let mut pty = Pty::chat(&world, 100, &["--model", &model, "--plan", "--fullscreen"]);
    pty.shows("nothing runs yet");
    pty.types("Write a poem\r");
    pty.shows("There is a poem in a.txt.");
    pty.until("the steps as a tree", |screen| {
        ["✓ write", "✓ think", "✓ answer", "(also after think)", "── log"].iter().all(|text| screen.contains(text))
    });
    // The run comes first, then the plan, then the step.
    pty.types("\t");
    pty.shows("Enter: details");
    pty.types("\u{1b}[H");
    pty.until("the run", |screen| screen.contains("── the run"));
    pty.types("\u{1b}[B\u{1b}[B");
    pty.shows("── write ");
    pty.shows("Write the poem");
    pty.shows("+are red");
    // The first turn in full, with the prompt.
    pty.types("\r");
    pty.shows("Enter unfolds");
    pty.types("\u{1b}[H\r");
    pty.shows("prompt as sent");
    pty.types("\u{1b}[6~\u{1b}[6~\u{1b}[6~\u{1b}[6~");
    pty.resize(60, 20);
    pty.until("one panel", |screen| screen.contains("── write") && !screen.contains("── steps"));
    assert!(pty.screen().lines().all(|line| line.chars().count() <= 60), "{}", pty.screen());
    pty.types("q");
    pty.until("the conversation", |screen| screen.contains("There is a poem") && !screen.contains("── log"));
    pty.types("\u{7}");
    pty.shows("── log");
    // It can be left from there, and the terminal is as it was.
    pty.types("\u{4}");
    assert_eq!(pty.end(), 0);
    let bytes = String::from_utf8_lossy(&pty.bytes()).into_owned();
    assert_eq!(bytes.matches("\u{1b}[?1049h").count(), bytes.matches("\u{1b}[?1049l").count());
    assert!(bytes.rfind("\u{1b}[?25h") > bytes.rfind("\u{1b}[?25l"), "the cursor is visible");
    assert!(pty.all().contains("There is a poem"), "{}", pty.all());
}

#[test]
fn a_run_that_has_ended_is_looked_at() {
    let world = World::new();
    let model = planned(&world);
    world.updraft(&["run", "--model", &model, "Write a poem"]).code(0);
    let mut command = world.command(&["attach", "last", "--fullscreen"]);
    command.env("LANG", "C.UTF-8");
    let mut pty = Pty::start(&command, 160);
    pty.shows("── steps");
    pty.shows("There is a poem in a.txt.");
    pty.types("q");
    assert_eq!(pty.end(), 0);
    world.updraft(&["attach", "last", "--fullscreen"]).code(2).says("needs a terminal");
}

#[test]
fn an_approval_is_given_on_the_full_screen() {
    let world = World::new();
    world.config("config.toml", "[rules]\nask = [\"read_file\"]\n");
    let call = json!({ "calls": [{ "name": "read_file", "args": { "path": "a.txt" } }] });
    let rules = json!([{ "when": { "turn": 0 }, "answer": call }]);
    let model = world.script("s.json", &json!({ "rules": rules, "default": { "text": "It says hello." } }));
    let mut pty = Pty::chat(&world, 100, &["--model", &model, "--fullscreen"]);
    pty.shows("nothing runs yet");
    pty.types("What does a.txt say?\r\t");
    pty.shows("allow it?");
    pty.shows("Enter answers");
    pty.types("y\r");
    pty.shows("It says hello.");
}

#[test]
fn a_long_line_in_the_log_goes_on_in_the_next_row() {
    let world = World::new();
    let text = format!("```\n{}the-end\n```", "word ".repeat(30));
    let model = world.script("s.json", &json!({ "default": { "text": text } }));
    let mut pty = Pty::chat(&world, 100, &["--model", &model, "--fullscreen"]);
    pty.shows("nothing runs yet");
    pty.types("Write much\r");
    pty.until("the end of the line in the log", |screen| {
        screen.split_once("── log").is_some_and(|(_, log)| log.contains("the-end"))
    });
}
