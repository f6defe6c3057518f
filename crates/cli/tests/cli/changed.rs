//! What code, tools of the user's own and servers change by themselves: seen, told, and taken back.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::undo::{can_stage, content, run};
use crate::world::World;
use crate::{python, tools};

const CODE: &str = "import os\nopen('a.txt', 'a').write('more\\n')\nos.makedirs('new')\n\
                    open('new/made.txt', 'w').write('made\\n')\nos.remove('gone.txt')\n";

/// The same in shell.
const SHELL: &str = "echo more >> a.txt; mkdir new; echo made > new/made.txt; rm gone.txt";

/// A run has made one call that changed a file, made one and removed one: all of it is known and can be taken back.
fn is_known_and_taken_back(world: &World, tool: &str) {
    let state = || ["a.txt", "new/made.txt", "gone.txt"].map(|name| content(world, name));
    let (before, after) = (
        ["hello\n", "<entity not found>", "gone\n"].map(str::to_owned),
        ["hello\nmore\n", "made\n", "<entity not found>"].map(str::to_owned),
    );
    assert_eq!(state(), after);

    let audit = world.updraft(&["audit", "last", "--json"]).code(0).json();
    let call = audit.iter().find(|call| call["tool"] == tool).unwrap();
    let mut paths: Vec<&str> =
        call["changes"].as_array().unwrap().iter().map(|change| change["path"].as_str().unwrap()).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["a.txt", "gone.txt", "new", "new/made.txt"], "{call}");
    let diff = call["diff"].as_str().unwrap();
    assert!(["+more", "+made", "-gone"].iter().all(|line| diff.contains(line)), "{diff}");
    assert!(world.updraft(&["audit", "last"]).code(0).out.contains("deleted   gone.txt"));
    let listed = world.updraft(&["undo", "--list"]).code(0).out;
    assert!(listed.contains("changed  a.txt") && !listed.contains("not undoable"), "{listed}");

    world.updraft(&["undo", "--yes"]).code(0).says("restored");
    assert_eq!(state(), before);
    assert!(!world.ws().join("new").exists());
    world.updraft(&["undo", "--redo", "--yes"]).code(0);
    assert_eq!(state(), after);

    world.file("a.txt", "mine\n");
    world.updraft(&["undo", "--yes"]).code(1).says("left unchanged: a.txt: it was changed since");
    assert_eq!(content(world, "a.txt"), "mine\n", "what the user wrote since is not touched");
    assert_eq!(content(world, "gone.txt"), "gone\n");
}

fn indented(code: &str) -> String {
    format!("    {}\n", code.trim_end().replace('\n', "\n    "))
}

fn world() -> World {
    let world = World::new();
    world.file("gone.txt", "gone\n");
    world
}

#[test]
fn what_code_changes_is_known_and_taken_back() {
    let world = world();
    if !python::is_to_be_had(&world) {
        return;
    }
    run(&world, &[("run_python", json!({"code": CODE}))]).code(0);
    is_known_and_taken_back(&world, "run_python");
}

#[test]
fn what_code_changed_before_it_failed_is_known_and_taken_back() {
    let world = world();
    if !python::is_to_be_had(&world) {
        return;
    }
    run(&world, &[("run_python", json!({"code": format!("{CODE}1/0")}))]).code(0);
    is_known_and_taken_back(&world, "run_python");
}

#[test]
fn what_a_function_changes_is_known_and_taken_back() {
    let world = world();
    if !tools::is_to_be_had(&world, "python3") {
        return;
    }
    let body = indented(CODE);
    world.file("tools/change.py", &format!("def change_files():\n    'Changes files.'\n{body}"));
    run(&world, &[("change_files", json!({}))]).code(0);
    is_known_and_taken_back(&world, "change_files");
}

#[test]
fn what_a_function_changed_before_it_failed_is_known_and_taken_back() {
    let world = world();
    if !tools::is_to_be_had(&world, "python3") {
        return;
    }
    let body = indented(CODE);
    world.file("tools/change.py", &format!("def change_files():\n    'Changes files.'\n{body}    1 / 0\n"));
    run(&world, &[("change_files", json!({}))]).code(0);
    is_known_and_taken_back(&world, "change_files");
    assert!(world.updraft(&["audit", "last"]).code(0).out.contains("failed"));
}

#[test]
fn what_is_changed_beyond_the_workspace_is_listed_and_keeps_variants_from_being_tried() {
    let world = world();
    if !python::is_to_be_had(&world) {
        return;
    }
    let beyond = world.home().join("beyond");
    std::fs::create_dir_all(&beyond).unwrap();
    world.config("config.toml", &format!("[sandbox]\nwrite = [{:?}]\n", beyond.display().to_string()));
    let (first, second) = (beyond.join("first"), beyond.join("second"));
    let failing = format!("open({:?}, 'w').write('x')\n1 / 0", second.display().to_string());
    run(
        &world,
        &[
            ("run_command", json!({"command": format!("echo x > {}", first.display())})),
            ("run_python", json!({"variants": [failing, "open('tried', 'w')"]})),
        ],
    )
    .code(0);
    let listed = world.updraft(&["undo", "--list"]).code(0).out;
    for path in [first, second] {
        let line = listed.lines().find(|line| line.contains(path.to_str().unwrap()));
        assert!(line.is_some_and(|line| line.contains("not undoable")), "{listed}");
    }
    assert_eq!(
        content(&world, "tried"),
        "<entity not found>",
        "the next variant was tried after one that changed a file"
    );
}

#[test]
fn what_a_program_changes_is_known_and_taken_back() {
    let world = world();
    if !can_stage(&world) {
        return;
    }
    let described = r#"{"name": "change_files", "parameters": {"type": "object"}}"#;
    let program = format!("#!/bin/sh\nif [ \"$1\" = --describe ]; then echo '{described}'; exit; fi\n{SHELL}\n");
    let path = world.file("tools/change", &program);
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    run(&world, &[("change_files", json!({}))]).code(0);
    is_known_and_taken_back(&world, "change_files");
}

#[test]
fn what_a_server_changes_is_known_and_taken_back() {
    let world = world();
    if !tools::is_to_be_had(&world, "true") {
        return;
    }
    let server = crate::mcp::SERVER.replace("        loud=", &format!("        {SHELL}\n        loud="));
    world.file("server.sh", &server);
    world.updraft(&["mcp", "add", "shell", "--cwd", ".", "--", "sh", "server.sh"]).code(0);
    run(&world, &[("mcp_shell_shout", json!({"text": "hello"}))]).code(0);
    is_known_and_taken_back(&world, "mcp_shell_shout");
}

#[test]
fn what_code_does_itself_and_by_calls_of_tools_is_told_once() {
    let world = world();
    if !python::is_to_be_had(&world) {
        return;
    }
    let code = "write_file(path='b.txt', content='one\\n')\nopen('b.txt', 'a').write('two\\n')\n\
                run_command(command='echo three > c.txt')\nopen('b.txt').read()";
    run(&world, &[("run_python", json!({"code": code}))]).code(0);
    assert_eq!(content(&world, "b.txt"), "one\ntwo\n");
    let audit = world.updraft(&["audit", "last", "--json"]).code(0).json();
    let told: Vec<(&str, Vec<&str>)> = audit
        .iter()
        .map(|call| {
            let changes = call["changes"].as_array().map(Vec::as_slice).unwrap_or_default();
            let paths = changes.iter().map(|change| change["path"].as_str().unwrap()).collect();
            (call["tool"].as_str().unwrap(), paths)
        })
        .collect();
    let wanted = [("run_python", vec!["b.txt"]), ("write_file", vec!["b.txt"]), ("run_command", vec!["c.txt"])];
    assert_eq!(told, wanted, "{audit:#?}");
    world.updraft(&["undo", "--yes"]).code(0);
    assert!(!world.ws().join("b.txt").exists() && !world.ws().join("c.txt").exists());
}

#[test]
fn without_kept_contents_what_code_changes_is_listed_as_not_undoable() {
    let world = world();
    if !python::is_to_be_had(&world) {
        return;
    }
    world.config("config.toml", "[undo]\ncommands = false\n");
    run(&world, &[("run_python", json!({"code": CODE}))]).code(0);
    let listed = world.updraft(&["undo", "--list"]).code(0).out;
    let lost = |name: &str| listed.lines().any(|line| line.contains(name) && line.contains("not undoable"));
    assert!(lost("changed  a.txt") && lost("deleted  gone.txt"), "{listed}");
    world.updraft(&["undo", "--yes"]).code(1).says("a.txt: what was there before was not kept");
    assert!(world.ws().join("new/made.txt").exists(), "it may be what is left of gone.txt");
    world.updraft(&["undo", "--yes", "--force"]).code(1);
    assert!(!world.ws().join("new").exists());
    assert_eq!(content(&world, "a.txt"), "hello\nmore\n");
}

#[test]
fn two_pieces_of_code_at_once_are_not_sure_which_of_them_it_was() {
    let world = world();
    if !python::is_to_be_had(&world) {
        return;
    }
    // Each waits for the other's file, so both are under way when both write.
    let rule = |own: &str, other: &str| {
        let wait = format!(
            "import os, time\nopen('{own}', 'w').write('x')\nwhile not os.path.exists('{other}'): time.sleep(0.01)"
        );
        let calls = json!([{"name": "run_python", "args": {"code": wait}}]);
        json!({"when": {"step": own, "turn": 0}, "answer": {"calls": calls}})
    };
    let rules = json!({"rules": [rule("one", "two"), rule("two", "one")], "default": {"text": "done"}});
    let model = world.script("s.json", &rules);
    let step = |id: &str| json!({"id": id, "agent": "coder", "prompt": "work"});
    world.file("plan.json", &json!({"steps": [step("one"), step("two")]}).to_string());
    world.updraft(&["run", "--model", &model, "--plan", "plan.json", "work"]).code(0);
    let listed = world.updraft(&["undo", "--list"]).code(0).out;
    assert!(listed.lines().all(|line| line.contains("another call at the same time")), "{listed}");
    world.updraft(&["undo", "--yes"]).code(1).says("--force");
    assert!(world.ws().join("one").exists() && world.ws().join("two").exists());
    world.updraft(&["undo", "--yes", "--force"]).code(0);
    assert!(!world.ws().join("one").exists() && !world.ws().join("two").exists());
}
