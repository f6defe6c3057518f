//! Taking back what a run changed, and looking at what it touched.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::world::{Ran, World};

/// A run that makes these calls, one a turn.
pub(crate) fn run(world: &World, calls: &[(&str, Value)]) -> Ran {
    let mut answers: Vec<Value> =
        calls.iter().map(|(name, args)| json!({"calls": [{"name": name, "args": args}]})).collect();
    answers.push(json!({"text": "done"}));
    let model = world.script("calls.json", &json!(answers));
    world.updraft(&["run", "--model", &model, "--agent", "coder", "--max-turns", "100", "work"])
}

fn content(world: &World, name: &str) -> String {
    std::fs::read_to_string(world.ws().join(name)).unwrap_or_else(|error| format!("<{}>", error.kind()))
}

fn changing(world: &World) {
    let calls = [
        ("write_file", json!({"path": "new/deep/file.txt", "content": "made\n"})),
        ("edit_file", json!({"path": "a.txt", "old": "hello", "new": "goodbye"})),
        ("append_line", json!({"path": "a.txt", "line": "and more"})),
        ("write_file", json!({"path": "run.sh", "content": "echo two\n"})),
    ];
    run(world, &calls).code(0);
}

#[test]
fn everything_is_as_it_was_and_then_as_the_run_left_it_again() {
    let world = World::new();
    let script = world.file("run.sh", "echo one\n");
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o750)).unwrap();
    changing(&world);
    assert_eq!(content(&world, "a.txt"), "goodbye\nand more\n");

    let listed = world.updraft(&["undo", "--list"]).code(0).out;
    let verbs: Vec<&str> = listed.lines().map(|line| line.split_whitespace().nth(2).unwrap()).collect();
    assert_eq!(verbs, ["changed", "changed", "changed", "created", "created", "created"], "{listed}");
    let planned = world.updraft(&["undo", "--dry-run"]).code(0).out;
    assert!(planned.contains("restore  a.txt") && planned.contains("remove   new/deep/file.txt"), "{planned}");
    world.updraft(&["undo"]).code(3).says("--yes");
    assert_eq!(content(&world, "a.txt"), "goodbye\nand more\n");

    world.updraft(&["undo", "--yes"]).code(0).says("5 paths put back");
    assert_eq!(content(&world, "a.txt"), "hello\n");
    assert_eq!(content(&world, "run.sh"), "echo one\n");
    assert_eq!(script.metadata().unwrap().permissions().mode() & 0o777, 0o750);
    assert!(!world.ws().join("new").exists());
    world.updraft(&["undo", "--yes"]).code(0).says("nothing to undo");

    world.updraft(&["undo", "--redo", "--yes"]).code(0).says("took the undo back");
    assert_eq!(content(&world, "a.txt"), "goodbye\nand more\n");
    assert_eq!(content(&world, "new/deep/file.txt"), "made\n");
    world.updraft(&["undo", "--redo", "--yes"]).code(1).says("no undo");
    world.updraft(&["undo", "--yes"]).code(0);
    assert_eq!(content(&world, "a.txt"), "hello\n");
    assert!(!world.ws().join("new").exists());
}

#[test]
fn what_somebody_else_changed_since_is_left_and_named() {
    let world = World::new();
    world.file("run.sh", "echo one\n");
    changing(&world);
    world.file("a.txt", "mine\n");
    world.file("new/deep/other.txt", "mine too\n");

    let undone = world.updraft(&["undo", "--yes", "--json"]).code(1).value();
    let left: Vec<(&str, &str)> = undone["left"]
        .as_array()
        .unwrap()
        .iter()
        .map(|left| (left["path"].as_str().unwrap(), left["why"].as_str().unwrap()))
        .collect();
    assert_eq!(left, [("new/deep", "not_empty"), ("new", "not_empty"), ("a.txt", "conflict")]);
    assert_eq!(content(&world, "a.txt"), "mine\n");
    assert_eq!(content(&world, "run.sh"), "echo one\n");
    assert_eq!(content(&world, "new/deep/other.txt"), "mine too\n");
    assert!(!world.ws().join("new/deep/file.txt").exists());

    world.updraft(&["undo", "--yes", "--force"]);
    assert_eq!(content(&world, "a.txt"), "hello\n");
    world.updraft(&["undo", "--redo", "--yes"]).code(0);
    assert_eq!(content(&world, "a.txt"), "mine\n", "what was overwritten was kept");
}

#[test]
fn one_call_can_be_taken_back_and_an_earlier_one_that_others_build_on_cannot() {
    let world = World::new();
    world.file("run.sh", "echo one\n");
    changing(&world);
    let listed = world.updraft(&["undo", "--list", "--json"]).code(0).value();
    let call = |path: &str, at: usize| {
        let all: Vec<&Value> =
            listed["changes"].as_array().unwrap().iter().filter(|change| change["path"] == path).collect();
        all[at]["call"].as_str().unwrap().to_owned()
    };
    world.updraft(&["undo", "--yes", "--call", &call("a.txt", 1)]).code(1).says("changed since");
    world.updraft(&["undo", "--yes", "--call", &call("a.txt", 0)]).code(0);
    assert_eq!((content(&world, "a.txt"), content(&world, "run.sh")), ("goodbye\n".into(), "echo two\n".into()));
}

#[test]
fn an_undo_that_was_cut_off_is_finished_by_the_next() {
    let world = World::new();
    world.file("run.sh", "echo one\n");
    changing(&world);
    world.updraft(&["undo", "--yes"]).code(0);
    // As it stands when the power goes in the middle: written down, one file put back, the others not yet.
    world.updraft(&["undo", "--redo", "--yes"]).code(0);
    let record = world.home().join("undone").join(world.last()).join("1.json");
    let text = std::fs::read_to_string(&record).unwrap().replace("\"is_done\":true", "\"is_done\":false");
    std::fs::write(&record, text).unwrap();
    world.file("run.sh", "echo one\n");

    world.updraft(&["undo", "--yes"]).code(0).says("finished the undo that was cut off");
    assert_eq!(content(&world, "a.txt"), "hello\n");
    assert_eq!(content(&world, "run.sh"), "echo one\n");
    assert!(!world.ws().join("new").exists());
}

#[test]
fn a_run_that_is_at_work_is_not_undone_and_a_removed_one_cannot_be() {
    let world = World::new();
    let calls = json!([
        {"calls": [{"name": "write_file", "args": {"path": "b.txt", "content": "x"}}]},
        {"text": "done", "delay_ms": 3000}
    ]);
    let model = world.script("s.json", &calls);
    let running = world.begin(&["run", "--model", &model, "--agent", "coder", "work"]);
    World::until("it has written", || world.ws().join("b.txt").exists());
    world.updraft(&["undo", "--yes"]).code(1).says("is being run by process");
    running.wait().code(0);

    world.updraft(&["undo", "--yes"]).code(0);
    let id = world.last();
    assert!(world.home().join("undone").join(&id).exists());
    world.updraft(&["rm", &id]).code(0).says("can no longer be undone");
    assert!(!world.home().join("undone").join(&id).exists());
    world.updraft(&["undo", "--yes"]).code(2).says("no run has worked in");
}

#[test]
fn the_audit_names_what_each_call_touched() {
    let world = World::new();
    let calls = [
        ("edit_file", json!({"path": "a.txt", "old": "hello", "new": "goodbye"})),
        ("run_command", json!({"command": "exit 3"})),
        ("write_file", json!({"path": ".git/config", "content": "evil"})),
    ];
    run(&world, &calls).code(0);
    let audit = world.updraft(&["audit", "last", "--json"]).code(0).json();
    let told: Vec<(&str, &str)> =
        audit.iter().map(|call| (call["tool"].as_str().unwrap(), call["outcome"].as_str().unwrap())).collect();
    assert_eq!(told, [("edit_file", "done"), ("run_command", "failed"), ("write_file", "rejected")]);
    assert_eq!(audit[0]["changes"][0]["path"], "a.txt");
    assert_eq!(audit[0]["diff"], "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-hello\n+goodbye\n");
    assert_eq!((&audit[1]["command"], &audit[1]["exit_code"]), (&json!("exit 3"), &json!(3)));
    assert!(audit[2]["because"].as_str().unwrap().contains("git's own storage"));
    let words = world.updraft(&["audit", "last", "--diff"]).code(0).out;
    assert!(
        words.contains("changed   a.txt") && words.contains("+goodbye") && words.contains("exit code 3"),
        "{words}"
    );
}
