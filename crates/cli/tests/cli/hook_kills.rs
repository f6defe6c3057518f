//! Hooks before calls when the process is killed: an answer that was given counts, one that was not given is asked for again.

use serde_json::{Value, json};

use crate::world::{Background, World};

/// A hook that notes that it was asked, and then does what it is told to.
fn hook(world: &World, then: &str, tools: &str) {
    let command = format!("cat >> asked.jsonl; {then}");
    let hook = format!(
        "[[hooks]]\nname = \"check\"\nevent = \"before_call\"\ncommand = [\"sh\", \"-c\", {}]\ntools = [{tools:?}]\ntime = \"5 m\"\n",
        json!(command)
    );
    world.config("config.toml", &hook);
}

fn asked(world: &World) -> usize {
    std::fs::read_to_string(world.ws().join("asked.jsonl")).unwrap_or_default().lines().count()
}

fn events(world: &World) -> Vec<Value> {
    world.updraft(&["events", "last", "--json"]).json()
}

fn is_noted(world: &World) -> bool {
    events(world).iter().any(|event| event["event"]["noted"]["handle"].is_string())
}

/// A model that makes one call and is done.
fn calls(world: &World, call: &Value) -> String {
    let script = json!({"rules": [{"when": {"turn": 0}, "answer": {"calls": [call]}}], "default": {"text": "done"}});
    world.script("s.json", &script)
}

fn kill(running: Background) {
    running.signal("KILL");
    running.wait().code(137);
}

#[test]
fn a_command_that_a_hook_let_pass_is_neither_asked_about_nor_run_again_after_kill_9() {
    let world = World::new();
    let beside = tempfile::tempdir_in("/var/tmp").unwrap();
    let begun = beside.path().join("begun");
    hook(&world, "exit 0", "run_command");
    let command = format!("echo x >> {}; sleep 60", begun.display());
    let model = calls(&world, &json!({"name": "run_command", "args": {"command": command}}));
    let write = beside.path().to_str().unwrap();
    let running = world.begin(&["run", "--model", &model, "--agent", "coder", "--yes", "--write", write, "x"]);
    World::until("the command runs", || begun.exists());
    assert!(is_noted(&world), "that the hook let it pass is on disk before it runs");
    kill(running);
    world.updraft(&["resume", "last"]).code(0);
    assert_eq!(asked(&world), 1, "the answer of before counts");
    assert_eq!(std::fs::read_to_string(&begun).unwrap(), "x\n", "it ran once");
    assert!(events(&world).iter().any(|event| event.to_string().contains("in_doubt")), "the agent is told");
    world.updraft(&["replay", "last", "--strict"]).code(0);
}

#[test]
fn a_read_that_a_hook_let_pass_is_repeated_after_kill_9_without_asking_again() {
    let world = World::new();
    if !crate::python::is_to_be_had(&world) {
        return;
    }
    world.config("agents/looker.md", "---\nname: looker\npurpose: Looks.\ntools: [tools]\n---\nYou look.\n");
    let tool = "import time\n\n\ndef look(path: str) -> str:\n    \"\"\"Looks at a file.\n\n    Annotations: read-only\n    \"\"\"\n    \
                time.sleep(float(open(path).read()))\n    return 'seen'\n";
    world.config("tools/look.py", tool);
    let nap = world.file("nap.txt", "60");
    hook(&world, "exit 0", "look");
    let model = calls(&world, &json!({"name": "look", "args": {"path": nap.display().to_string()}}));
    let running = world.begin(&["run", "--model", &model, "--agent", "looker", "--yes", "x"]);
    World::until("the hook let it pass", || asked(&world) == 1 && is_noted(&world));
    kill(running);
    world.file("nap.txt", "0");
    world.updraft(&["resume", "last"]).code(0);
    assert_eq!(asked(&world), 1, "the answer of before counts");
    assert!(events(&world).iter().any(|event| event.to_string().contains("seen")), "it was made again");
}

#[test]
fn a_hook_that_had_not_answered_at_kill_9_is_asked_again_and_its_answer_counts() {
    let world = World::new();
    world.file("nap", "");
    hook(&world, "test -e nap && sleep 60; echo 'not this file' >&2; exit 2", "write_file");
    let model = calls(&world, &json!({"name": "write_file", "args": {"path": "b.txt", "content": "x"}}));
    let running = world.begin(&["run", "--model", &model, "--agent", "coder", "--yes", "x"]);
    World::until("the hook is asked", || asked(&world) == 1);
    kill(running);
    std::fs::remove_file(world.ws().join("nap")).unwrap();
    world.updraft(&["resume", "last"]).code(0).says("the hook `check` does not allow this call: not this file");
    assert_eq!(asked(&world), 2);
    assert!(!world.ws().join("b.txt").exists() && !is_noted(&world));
}

#[test]
fn a_run_is_cancelled_while_a_hook_takes_its_time() {
    let world = World::new();
    hook(&world, "sleep 250", "write_file");
    let model = calls(&world, &json!({"name": "write_file", "args": {"path": "b.txt", "content": "x"}}));
    let running = world.begin(&["run", "--model", &model, "--agent", "coder", "--yes", "x"]);
    World::until("the hook is asked", || asked(&world) == 1);
    world.updraft(&["cancel", "last"]).code(0);
    world.until_status("cancelled");
    running.wait().code(1);
    assert!(!world.ws().join("b.txt").exists());
}
