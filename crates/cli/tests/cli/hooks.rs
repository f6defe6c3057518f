//! Hooks: programs that are called at events, confined, and able to refuse calls.

use serde_json::{Value, json};

use crate::world::World;

fn write(path: &str) -> Value {
    json!({"name": "write_file", "args": {"path": path, "content": "x"}})
}

/// Settings with hooks, each of which is a shell command.
fn hooks(world: &World, hooks: &[(&str, &str, &str)]) {
    let one = |(event, command, more): &(&str, &str, &str)| {
        format!(
            "[[hooks]]\nname = \"{event}\"\nevent = \"{event}\"\ncommand = [\"sh\", \"-c\", {}]\n{more}\n",
            json!(command)
        )
    };
    world.config("config.toml", &hooks.iter().map(one).collect::<String>());
}

fn events(world: &World) -> Vec<Value> {
    world.updraft(&["events", "last", "--json"]).json()
}

#[test]
fn a_hook_refuses_a_call_and_what_it_said_is_in_the_journal() {
    let world = World::new();
    // It counts its calls in the workspace, and cannot write elsewhere.
    let outside = world.home().join("outside");
    let check = format!(
        "told=$(cat); echo \"$told\" >> asked.jsonl; (echo y > '{}') 2>/dev/null; \
         case \"$told\" in *lock.txt*) echo 'the lock file stays' >&2; exit 2;; esac",
        outside.display()
    );
    let told = "cat >> after.json";
    hooks(&world, &[("before_call", &check, "tools = [\"write_file\"]"), ("after_call", told, "")]);
    let rules = json!({"rules": [{"when": {"turn": 0}, "answer": {"calls": [write("lock.txt"), write("b.txt")]}}],
                       "default": {"text": "done"}});
    let model = world.script("s.json", &rules);
    let ran = world.updraft(&["run", "--model", &model, "--agent", "coder", "--yes", "do it"]).code(0);
    ran.says("the hook `before_call` does not allow this call: the lock file stays");
    assert!(!world.ws().join("lock.txt").exists() && world.ws().join("b.txt").exists());
    assert!(!outside.exists(), "a hook is confined like a command");
    let asked = std::fs::read_to_string(world.ws().join("asked.jsonl")).unwrap();
    let asked: Value = serde_json::from_str(asked.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&asked["event"], &asked["tool"], &asked["agent"]),
        (&json!("before_call"), &json!("write_file"), &json!("coder"))
    );
    let after = std::fs::read_to_string(world.ws().join("after.json")).unwrap();
    assert!(after.contains("\"after_call\"") && after.contains("\"ok\":true"), "{after}");
    let noted = events(&world).iter().filter(|event| event["event"]["noted"]["handle"].is_string()).count();
    assert_eq!(noted, 1, "that it let a call pass is recorded");
    // Replay and resume ask nobody again.
    let count = || std::fs::read_to_string(world.ws().join("asked.jsonl")).unwrap().lines().count();
    assert_eq!(count(), 2);
    world.updraft(&["replay", "last", "--strict"]).code(0);
    world.updraft(&["resume", "last"]);
    assert_eq!(count(), 2);
}

#[test]
fn a_hook_is_told_the_tool_that_is_really_called_whatever_the_model_calls() {
    let world = World::new();
    let check = "told=$(cat); printf '%s\\n' \"$told\" >> asked.jsonl; case \"$told\" in *lock.txt*) exit 2;; esac";
    hooks(&world, &[("before_call", check, "tools = [\"write_file\", \"apply_patch\"]")]);
    let whole = json!({"name": "edit_file", "args": {"path": "lock.txt", "content": "x"}});
    let patch = "*** Begin Patch\n*** Add File: lock.txt\n+x\n*** End Patch";
    let patch = json!({"name": "edit_file", "args": {"patch": patch}});
    let rules = json!({"rules": [{"when": {"turn": 0}, "answer": {"calls": [whole, patch, write("b.txt")]}}],
                       "default": {"text": "done"}});
    let model = world.script("s.json", &rules);
    world.updraft(&["run", "--model", &model, "--agent", "coder", "--yes", "do it"]).code(0);
    assert!(!world.ws().join("lock.txt").exists() && world.ws().join("b.txt").exists());
    let asked = std::fs::read_to_string(world.ws().join("asked.jsonl")).unwrap();
    let asked: Vec<Value> = asked.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<_> = asked.iter().map(|one| one["tool"].as_str().unwrap()).collect();
    assert_eq!(told.iter().filter(|tool| **tool == "write_file").count(), 2, "{told:?}");
    assert_eq!(told.iter().filter(|tool| **tool == "apply_patch").count(), 1, "{told:?}");
    assert!(asked.iter().any(|one| one["arguments"] == json!({"path": "lock.txt", "content": "x"})), "{asked:?}");
}

#[test]
fn a_hook_that_fails_or_hangs_lets_nothing_pass_unless_it_may() {
    let world = World::new();
    let model = world.script(
        "s.json",
        &json!({"rules": [{"when": {"turn": 0}, "answer": {"calls": [write("b.txt")]}}], "default": {"text": "done"}}),
    );
    let run = || world.updraft(&["run", "--model", &model, "--agent", "coder", "--yes", "do it"]).code(0);
    hooks(&world, &[("before_call", "echo broken >&2; exit 1", "")]);
    run().says("it could not be checked: it ended with exit code 1: broken");
    hooks(&world, &[("before_call", "sleep 60", "time = \"200ms\"")]);
    run().says("it could not be checked: it took longer than 0.2 s");
    hooks(&world, &[("before_call", "echo looking; echo '{\"decision\": \"deny\", \"reason\": \"by JSON\"}'", "")]);
    run().says("does not allow this call: by JSON");
    hooks(&world, &[("before_call", "echo \"{'decision': 'deny'}\"", "")]);
    run().says("it printed what begins like JSON and is none");
    assert!(!world.ws().join("b.txt").exists());
    hooks(&world, &[("before_call", "exit 1", "failure = \"pass\"")]);
    run();
    assert!(world.ws().join("b.txt").exists(), "the user wants it to pass");
    for (text, why) in [
        (
            "[[hooks]]\nevent = \"before\"\ncommand = [\"true\"]\n",
            "the hook's `event` is `before`; expected run_started",
        ),
        ("[[hooks]]\nevent = \"run_ended\"\n", "the hook has no `command`"),
        (
            "[[hooks]]\nevent = \"before_call\"\ncommand = [\"true\"]\ntools = [\"ask_model\"]\n",
            "a question that no hook is told about",
        ),
        ("[[hooks]]\nevent = \"run_ended\"\ncommand = [\"true\"]\nfailure = \"ask\"\n", "expected `deny` or `pass`"),
    ] {
        world.config("config.toml", text);
        world.updraft(&["run", "--model", &model, "x"]).code(5).says(why);
    }
}

#[test]
fn hooks_are_told_when_runs_begin_need_a_person_and_end() {
    let world = World::new();
    let keep = "cat >> told.jsonl";
    hooks(
        &world,
        &[
            ("run_started", keep, ""),
            // Nothing that runs in the sandbox writes there.
            ("run_started", "cat >> .updraft/told.jsonl", ""),
            ("needs_person", keep, ""),
            ("step_ended", keep, ""),
            ("run_ended", keep, ""),
            ("run_ended", "exit 9", ""),
        ],
    );
    let ask = json!({"name": "ask_user", "args": {"question": "Which colour?"}});
    let rules =
        json!({"rules": [{"when": {"turn": 0}, "answer": {"calls": [ask]}}], "default": {"text": "blue it is"}});
    let model = world.script("s.json", &rules);
    world.file(".updraft/notes.md", "");
    let ran = world.updraft(&["run", "--model", &model, "--agent", "clarification", "paint it"]).code(3);
    assert!(ran.err.contains("the hook `run_started` failed: ") && ran.err.contains("told.jsonl"), "{}", ran.err);
    let told = || -> Vec<Value> {
        let text = std::fs::read_to_string(world.ws().join("told.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let words = || told().iter().map(|one| one["event"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(words(), ["run_started", "needs_person"]);
    assert_eq!(told()[1]["waits"][0]["text"], "Which colour?");
    let id = world.last();
    world.updraft(&["answer", &id, "blue"]).code(0);
    world.updraft(&["resume", &id]).code(0).says("the hook `run_ended` failed: it ended with exit code 9");
    assert_eq!(words(), ["run_started", "needs_person", "step_ended", "run_ended"]);
    assert_eq!((&told()[2]["agent"], &told()[2]["status"]), (&json!("clarification"), &json!("completed")));
    assert_eq!((&told()[3]["status"], &told()[3]["run"]), (&json!("done"), &json!(id)));
    // Those of a workspace count once it is trusted.
    world.config("config.toml", "");
    world.file(".updraft/config.toml", "[[hooks]]\nevent = \"run_ended\"\ncommand = [\"touch\", \"hooked\"]\n");
    world.updraft(&["run", "--model", &model, "--agent", "thinker", "--assume", "x"]).says("its hooks");
    assert!(!world.ws().join("hooked").exists());
}
