//! Output that cannot be written is an error of every command that prints; a reader who stops reading is none.

use std::process::Stdio;

use serde_json::json;

use crate::world::{Ran, World};

/// A world with one run in it, and commands that print.
fn printing() -> (World, Vec<Vec<&'static str>>) {
    let world = World::new();
    let model = world.script("s.json", &json!({"default": {"text": "fine"}}));
    world.updraft(&["run", "x", "--model", &model, "--agent", "coder"]).code(0);
    let commands = [
        "--help",
        "--version",
        "run --help",
        "runs",
        "runs --json",
        "show",
        "show --json",
        "events",
        "events --json",
        "events --follow",
        "export last",
        "export last --format markdown",
        "replay",
        "agents",
        "models",
        "tools",
        "tools --json",
        "tools call read_file {\"path\":\"a.txt\"}",
        "config show",
        "completions bash",
        "man",
        "run --agent coder --model MODEL again",
        "run --agent coder --model MODEL --json again",
    ];
    let model: &'static str = model.leak();
    let words = |line: &'static str| line.split(' ').map(|word| if word == "MODEL" { model } else { word }).collect();
    (world, commands.into_iter().map(words).collect())
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    let (world, commands) = printing();
    for words in commands {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let ran = Ran::of(world.command(&words).stdout(full).output().unwrap());
        let said = ran.err.lines().filter(|line| line.starts_with("error: ")).collect::<Vec<_>>();
        assert_eq!(said.len(), 1, "{words:?}: {}", ran.err);
        assert!(said[0].contains("standard output could not be written: No space left"), "{words:?}: {}", ran.err);
        assert_ne!(ran.code, 0, "{words:?}: {}", ran.err);
    }
}

#[test]
fn a_reader_who_has_gone_is_no_error() {
    let (world, commands) = printing();
    for words in commands {
        let mut child = world.command(&words).stdout(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let ran = Ran::of(child.wait_with_output().unwrap());
        assert_eq!(ran.code, 0, "{words:?}: {}", ran.err);
        assert!(!ran.err.contains("error"), "{words:?}: {}", ran.err);
    }
}
