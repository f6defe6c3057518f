//! On a terminal: progress in place, questions asked and answered.

use std::process::{Command, Stdio};

use serde_json::json;

use crate::shell_server::{server, tool};
use crate::world::World;

/// Runs the binary on a terminal made by `script`, types something, and gives all that was shown.
fn on_a_terminal(world: &World, args: &[&str], typed: &str) -> (String, i32) {
    use std::io::Write;
    let quoted: Vec<String> = args.iter().map(|arg| format!("'{arg}'")).collect();
    let line = format!("{} {}", env!("CARGO_BIN_EXE_updraft"), quoted.join(" "));
    let mut child = Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .current_dir(world.ws())
        .env("UPDRAFT_HOME", world.home())
        .env("TERM", "xterm")
        .env_remove("CI")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.as_mut().unwrap().write_all(typed.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code().unwrap_or(-1))
}

fn has_script() -> bool {
    Command::new("script").arg("--version").output().is_ok()
}

#[test]
fn a_question_is_asked_and_the_run_goes_on_with_the_answer() {
    if !has_script() {
        return;
    }
    let world = World::new();
    let model = world.script("s.json", &json!({"rules": [
        {"when": {"turn": 0}, "answer": {"calls": [{"name": "ask_user", "args": {"question": "Which colour?", "options": ["red", "blue"]}}]}},
        {"when": {"contains": "blue"}, "answer": {"text": "Blue it is."}},
    ]}));
    let (shown, code) = on_a_terminal(&world, &["run", "--model", &model, "--agent", "clarification", "choose"], "2\n");
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("Which colour?") && shown.contains("Blue it is.") && shown.contains("done in"), "{shown}");
}

#[test]
fn the_tree_is_drawn_in_place_and_without_colours_where_none_are_wanted() {
    if !has_script() {
        return;
    }
    let world = World::new();
    let model = world.script("s.json", &json!({"default": {"text": "\u{1b}[2Jdone", "delay_ms": 250}}));
    let (shown, _) = on_a_terminal(&world, &["run", "--model", &model, "--agent", "thinker", "think"], "");
    assert!(shown.contains("\u{1b}[3A"), "{shown:?}");
    assert!(shown.contains("thinker"));
}

#[test]
fn an_imported_run_asks_where_it_may_go_on() {
    if !has_script() {
        return;
    }
    let world = World::new();
    let model = world.script(
        "s.json",
        &json!([{"calls": [{"name": "read_file", "args": {"path": "a.txt"}}]}, {"text": "It says hello."}]),
    );
    world.config("config.toml", &format!("model = {model:?}\n"));
    world.updraft(&["run", "--max-turns", "1", "--agent", "coder", "what is in a.txt?"]).code(4);
    let exported = world.updraft(&["export", "last"]).code(0).out;
    world.fed(&["import", "-", "--id", "theirs"], exported.as_bytes()).code(0);
    let resume = ["resume", "theirs", "--max-turns", "9"];
    let (shown, code) = on_a_terminal(&world, &resume, "n\n");
    assert!(code == 2 && shown.contains("go on in `") && !shown.contains("It says hello."), "{shown}");
    let (shown, code) = on_a_terminal(&world, &resume, "y\n");
    assert!(code == 0 && shown.contains("It says hello."), "{shown}");
}

#[test]
fn what_a_server_gives_is_shown_and_not_obeyed() {
    if !has_script() {
        return;
    }
    let world = World::new();
    world.file("server.sh", &server(&json!([tool("t")]), r"text='\u001b[2Jgone'"));
    world.updraft(&["mcp", "add", "ansi", "--", "sh", "server.sh"]).code(0);
    assert_eq!(world.updraft(&["tools", "call", "mcp_ansi_t", "{}"]).code(0).out, "\u{1b}[2Jgone\n");
    let (shown, _) = on_a_terminal(&world, &["tools", "call", "mcp_ansi_t", "{}"], "");
    assert!(shown.contains("\\u{1b}[2Jgone") && !shown.contains('\u{1b}'), "{shown:?}");
}
