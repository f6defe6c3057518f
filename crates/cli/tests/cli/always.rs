//! What a person says at the prompt to a call that asks first, and what "always" keeps.

use serde_json::{Value, json};

use crate::terminal::Terminal;
use crate::world::World;

const PROMPT: &str = "allow it? [y/n, a: always ";

/// A model that writes a file that would run later, so many times. Each of them asks first.
fn world(times: usize) -> (World, String) {
    let world = World::new();
    world.updraft(&["trust", "--yes"]).code(0);
    let write = |n: usize| json!({"name": "write_file", "args": {"path": ".envrc", "content": n.to_string()}});
    let mut answers: Vec<Value> = (1..=times).map(|n| json!({"calls": [write(n)]})).collect();
    answers.push(json!({"text": "went on"}));
    let model = world.script("s.json", &Value::Array(answers));
    (world, model)
}

fn remembered(world: &World) -> Vec<String> {
    let rows = world.updraft(&["permissions", "--json"]).code(0).json();
    let allowed = rows.iter().filter(|row| row["kind"] == "allow");
    allowed.map(|row| row["rule"].as_str().unwrap().to_owned()).collect()
}

const RULE: &str = "write_file(.envrc)";

fn made(world: &World) -> String {
    std::fs::read_to_string(world.ws().join(".envrc")).unwrap_or_default()
}

#[test]
fn always_in_this_run_asks_once_and_again_in_the_next_run() {
    let (world, model) = world(2);
    let run = ["run", "--model", &model, "--agent", "coder", "go"];
    let mut terminal = Terminal::of(&world, &run);
    terminal.shows(PROMPT, 1);
    terminal.shows(&format!("a: always {RULE} in this run"), 1);
    terminal.types("a\n");
    let (shown, code) = terminal.end();
    assert!(code == 0 && shown.contains("went on") && shown.matches(PROMPT).count() == 1, "{shown}");
    assert_eq!(made(&world), "2");
    assert_eq!(remembered(&world), [""; 0]);

    let mut terminal = Terminal::of(&world, &run);
    terminal.shows(PROMPT, 1);
    terminal.types("a\n");
    assert_eq!(terminal.end().1, 0);
}

#[test]
fn always_in_this_workspace_is_kept_and_no_run_asks_again() {
    let (world, model) = world(2);
    let run = ["run", "--model", &model, "--agent", "coder", "go"];
    let mut terminal = Terminal::of(&world, &run);
    terminal.shows(PROMPT, 1);
    terminal.types("w\n");
    assert_eq!(terminal.end().1, 0);
    assert_eq!(remembered(&world), [RULE]);

    let (shown, code) = Terminal::of(&world, &run).end();
    assert!(code == 0 && shown.contains("went on") && !shown.contains(PROMPT), "{shown}");
    world.updraft(&["permissions", "forget", RULE]).code(0);
    assert_eq!(remembered(&world), [""; 0]);
}

#[test]
fn what_is_no_answer_is_asked_again_and_a_reason_reaches_the_agent() {
    let (world, model) = world(1);
    let mut terminal = Terminal::of(&world, &["run", "--model", &model, "--agent", "coder", "go"]);
    for (times, garbage) in ["", "maybe", "yy", "\u{1b}[A", "always", "ja\u{e4}"].into_iter().enumerate() {
        terminal.shows(PROMPT, times + 1);
        terminal.types(&format!("{garbage}\n"));
    }
    terminal.shows(PROMPT, 7);
    terminal.types("no use printf instead\n");
    let (shown, code) = terminal.end();
    assert!(code == 0 && shown.contains("went on"), "{shown}");
    assert!(made(&world).is_empty());
    let prompts = world.updraft(&["show", "last", "--prompts"]).code(0).out;
    assert!(prompts.contains("use printf instead"), "{prompts}");
}

#[test]
fn what_is_typed_before_a_question_is_there_does_not_answer_it() {
    let (world, model) = world(2);
    let mut terminal = Terminal::of(&world, &["run", "--model", &model, "--agent", "coder", "go"]);
    terminal.shows(PROMPT, 1);
    terminal.types("y\ny\n");
    terminal.shows(PROMPT, 2);
    terminal.types("n\n");
    let (shown, code) = terminal.end();
    assert!(code == 0 && shown.contains("went on"), "{shown}");
    assert_eq!(made(&world), "1", "{shown}");
}

#[test]
fn an_interrupt_at_the_prompt_loses_nothing() {
    let (world, model) = world(1);
    let mut terminal = Terminal::of(&world, &["run", "--model", &model, "--agent", "coder", "go"]);
    terminal.shows(PROMPT, 1);
    terminal.types("\u{3}");
    let (shown, code) = terminal.end();
    assert!(code == 130 && shown.contains("nothing is lost"), "{code}: {shown}");
    assert!(made(&world).is_empty());

    // The end of what is typed is no answer either: the run waits.
    let mut terminal = Terminal::of(&world, &["resume", "last"]);
    terminal.shows(PROMPT, 1);
    terminal.types("\u{4}");
    let (shown, code) = terminal.end();
    assert!(code == 3 && shown.contains("updraft approve"), "{code}: {shown}");

    let mut terminal = Terminal::of(&world, &["resume", "last"]);
    terminal.shows(PROMPT, 1);
    terminal.types("y\n");
    let (shown, code) = terminal.end();
    assert!(code == 0 && shown.contains("went on") && made(&world) == "1", "{code}: {shown}");
}

#[test]
fn where_nothing_can_be_kept_the_word_counts_for_the_run() {
    let (world, model) = world(2);
    // As good as read-only, for root too.
    std::fs::create_dir_all(world.home().join("allowed.json/in-the-way")).unwrap();
    let mut terminal = Terminal::of(&world, &["run", "--model", &model, "--agent", "coder", "go"]);
    terminal.shows(PROMPT, 1);
    terminal.types("w\n");
    let (shown, code) = terminal.end();
    assert!(code == 0 && shown.matches(PROMPT).count() == 1, "{code}: {shown}");
    assert!(shown.contains("not remembered for the workspace") && shown.contains("allowed.json"), "{shown}");
    assert_eq!(made(&world), "2");
}

/// A model that runs a command. With the network it leaves the sandbox, so it asks first.
fn runs(command: &str) -> Value {
    json!([{"calls": [{"name": "run_command", "args": {"command": command}}]}, {"text": "went on"}])
}

#[test]
fn processes_that_remember_at_once_lose_nothing() {
    let (world, _) = world(0);
    if world.updraft(&["sandbox", "probe", "--json"]).value()["level"] == "none" {
        return;
    }
    let programs = ["echo", "ls", "cat", "wc", "head", "tail"];
    let runs: Vec<String> = programs
        .iter()
        .map(|program| {
            let model = world.script(&format!("{program}.json"), &runs(&format!("{program} a.txt")));
            // Asked and left waiting, as by a program that has no terminal and may ask.
            world.config("config.toml", "approvals = \"ask\"\n[sandbox]\nnetwork = \"host\"\n");
            let mut terminal = Terminal::of(&world, &["run", "--model", &model, "--agent", "coder", "go"]);
            terminal.shows(PROMPT, 1);
            terminal.types("\u{4}");
            assert_eq!(terminal.end().1, 3);
            world.last()
        })
        .collect();
    let saving: Vec<_> = runs.iter().map(|run| world.begin(&["approve", run, "--always", "workspace"])).collect();
    for one in saving {
        one.wait().code(0).says("always allowed from now on");
    }
    let mut kept = remembered(&world);
    kept.sort();
    let mut all: Vec<String> = programs.iter().map(|program| format!("run_command({program} a.txt $)")).collect();
    all.sort();
    assert_eq!(kept, all);
    let left = std::fs::read_dir(world.home()).unwrap().flatten().map(|entry| entry.file_name());
    let left: Vec<_> = left.filter(|name| name.to_string_lossy().ends_with(".new")).collect();
    assert!(left.is_empty(), "{left:?}");
}
