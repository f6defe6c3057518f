//! On a terminal: progress in place, questions asked and answered.

use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use serde_json::json;

use crate::shell_server::{server, tool};
use crate::world::World;

/// The binary on a terminal made by `script`, and someone who types.
pub(crate) struct Terminal {
    child: Child,
    shown: Arc<Mutex<String>>,
    reader: JoinHandle<()>,
}

impl Terminal {
    pub(crate) fn of(world: &World, args: &[&str]) -> Self {
        Self::of_width(world, 80, args)
    }

    pub(crate) fn of_width(world: &World, columns: usize, args: &[&str]) -> Self {
        Self::start(world, columns, &[], args)
    }

    /// With these variables in its environment.
    pub(crate) fn with(world: &World, variables: &[(&str, &str)], args: &[&str]) -> Self {
        Self::start(world, 160, variables, args)
    }

    fn start(world: &World, columns: usize, variables: &[(&str, &str)], args: &[&str]) -> Self {
        let quoted: Vec<String> = args.iter().map(|arg| format!("'{arg}'")).collect();
        let program = env!("CARGO_BIN_EXE_updraft");
        let line = format!("stty cols {columns} rows 24; exec {program} {}", quoted.join(" "));
        let mut child = Command::new("script")
            .args(["-qec", &line, "/dev/null"])
            .current_dir(world.ws())
            .env("UPDRAFT_HOME", world.home())
            .env("TERM", "xterm")
            .env_remove("CI")
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("tests at a terminal need `script` of util-linux: {error}"));
        let shown = Arc::new(Mutex::new(String::new()));
        let (mut stdout, seen) = (child.stdout.take().unwrap(), Arc::clone(&shown));
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(read @ 1..) = stdout.read(&mut buffer) {
                seen.lock().unwrap().push_str(&String::from_utf8_lossy(&buffer[..read]));
            }
        });
        Self { child, shown, reader }
    }

    /// Waits until something was shown so many times.
    pub(crate) fn shows(&self, text: &str, times: usize) {
        World::until(&format!("the terminal shows `{text}`: {}", self.shown.lock().unwrap()), || {
            self.shown.lock().unwrap().matches(text).count() >= times
        });
    }

    pub(crate) fn types(&mut self, text: &str) {
        self.child.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// All that was shown, and the exit code.
    pub(crate) fn end(mut self) -> (String, i32) {
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        self.reader.join().unwrap();
        (self.shown.lock().unwrap().clone(), code)
    }
}

/// Types something at once, and gives all that was shown.
fn on_a_terminal(world: &World, args: &[&str], typed: &str) -> (String, i32) {
    let mut terminal = Terminal::of(world, args);
    terminal.types(typed);
    drop(terminal.child.stdin.take());
    terminal.end()
}

#[test]
fn a_question_is_asked_and_the_run_goes_on_with_the_answer() {
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
    let world = World::new();
    let model = world.script("s.json", &json!({"default": {"text": "\u{1b}[2Jdone", "delay_ms": 700}}));
    let args = ["run", "--model", &model, "--agent", "thinker", "think"];
    for (variables, wants_colours) in [(&[][..], true), (&[("NO_COLOR", "1")][..], false)] {
        let (shown, code) = Terminal::with(&world, variables, &args).end();
        assert_eq!(code, 0, "{shown}");
        assert_eq!(has_colours(&shown), wants_colours, "{variables:?}: {shown:?}");
        // It was drawn again and again, each time over itself: one is left, and nothing that a model says clears the screen.
        assert!(shown.matches("thinker").count() > 3 && shown.contains("\u{1b}[4A"), "{shown:?}");
        assert!(!shown.contains("\u{1b}[2J"), "{shown:?}");
        let mut emulator = vt100::Parser::new(24, 160, 100);
        emulator.process(shown.as_bytes());
        let screen = emulator.screen().contents();
        assert_eq!(screen.matches("✓ thinker").count(), 1, "{screen}");
        assert!(screen.contains("done"), "{screen}");
    }
}

#[test]
fn a_step_that_is_done_although_every_call_failed_says_so() {
    let world = World::new();
    let read = json!({"name": "read_file", "args": {"path": "nothing-here.txt"}});
    let model = world.script(
        "s.json",
        &json!({"rules": [
            {"when": {"turn": 0}, "answer": {"calls": [read]}},
            {"when": {"turn": 1}, "answer": {"text": "It says that all is well."}},
        ]}),
    );
    let (shown, code) = Terminal::with(&world, &[], &["run", "--model", &model, "--agent", "coder", "read it"]).end();
    assert_eq!(code, 0, "{shown}");
    let mut emulator = vt100::Parser::new(24, 160, 100);
    emulator.process(shown.as_bytes());
    let screen = emulator.screen().contents();
    assert!(
        screen.contains("✓ coder") && screen.contains("its only call failed: there is no `nothing-here.txt`"),
        "{screen}"
    );
}

/// Whether a colour or another look of letters is chosen.
fn has_colours(shown: &str) -> bool {
    let mut codes = shown.split("\u{1b}[").skip(1);
    codes.any(|code| code.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').starts_with('m'))
}

#[test]
fn an_imported_run_asks_where_it_may_go_on() {
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
    assert!(code == 2 && shown.contains("continue in `") && !shown.contains("It says hello."), "{shown}");
    let (shown, code) = on_a_terminal(&world, &resume, "y\n");
    assert!(code == 0 && shown.contains("It says hello."), "{shown}");
}

#[test]
fn what_a_server_gives_is_shown_and_not_obeyed() {
    let world = World::new();
    world.file("server.sh", &server(&json!([tool("t")]), r"text='\u001b[2Jgone'"));
    world.updraft(&["mcp", "add", "ansi", "--cwd", ".", "--", "sh", "server.sh"]).code(0);
    assert_eq!(world.updraft(&["tools", "call", "mcp_ansi_t", "{}"]).code(0).out, "\u{1b}[2Jgone\n");
    let (shown, _) = on_a_terminal(&world, &["tools", "call", "mcp_ansi_t", "{}"], "");
    assert!(shown.contains("\\u{1b}[2Jgone") && !shown.contains('\u{1b}'), "{shown:?}");
}
