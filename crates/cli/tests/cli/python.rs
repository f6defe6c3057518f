//! Python in the sandbox: by hand, and as agents run it.

use serde_json::json;

use crate::world::World;

/// Whether this machine has a sandbox and a Python; without, the tests that need them say so and end.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
pub(crate) fn is_to_be_had(world: &World) -> bool {
    let doctor = world.updraft(&["doctor", "--json"]).out;
    let is_there = doctor.contains("is Python 3");
    if !is_there {
        eprintln!("!! SKIP: no Python can be run in a sandbox on this machine");
    }
    is_there
}

#[test]
fn code_is_run_by_hand() {
    let world = World::new();
    if !is_to_be_had(&world) {
        return;
    }
    let ran = world.updraft(&["tools", "call", "run_python", r#"{"code": "1+1"}"#]).code(0);
    assert!(ran.out.starts_with("[done in ") && ran.out.ends_with("\nresult: 2\n"), "{}", ran.out);
    world.updraft(&["tools", "call", "run_python", r#"{"code": "1/0"}"#]).code(1).says("line 1: 1/0");
    let code = r#"{"code": "open('a.txt').read() + str(__import__('os').environ.get('OPENAI_API_KEY'))"}"#;
    let mut command = world.command(&["tools", "call", "run_python", code]);
    let output = command.env("OPENAI_API_KEY", "sk-secret-of-ours").output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("hello\nNone"), "{output:?}");
}

#[test]
fn a_read_only_run_may_look_with_code_and_the_kernel_keeps_it_from_writing() {
    let world = World::new();
    if !is_to_be_had(&world) {
        return;
    }
    let code = "import os, socket\nprint(open('a.txt').read(), os.getcwd())\nfor name in ['new.txt', 'a.txt']:\n    try:\n        \
                open(name, 'w').write('x')\n    except OSError as error:\n        print('kept out', error)";
    let script = json!([{"calls": [{"name": "run_python", "args": {"code": code}}]}, {"text": "done"}]);
    let model = world.script("s.json", &script);
    world.updraft(&["run", "--read-only", "--model", &model, "--agent", "coder", "count"]).code(0);
    let prompts = world.updraft(&["show", "last", "--prompts"]).code(0).out;
    let folder = world.ws().canonicalize().unwrap();
    assert!(prompts.contains(&format!("hello\n {}", folder.display())), "{prompts}");
    assert_eq!(prompts.matches("kept out [Errno ").count(), 2, "{prompts}");
    assert_eq!(std::fs::read_to_string(world.ws().join("a.txt")).unwrap(), "hello\n");
    assert!(!world.ws().join("new.txt").exists());
}

#[test]
fn a_python_that_is_not_there_is_named_with_the_remedy() {
    let world = World::new();
    if !is_to_be_had(&world) {
        return;
    }
    world.config("config.toml", "[python]\nprogram = \"/nowhere/python3\"\n");
    let failed = world.updraft(&["tools", "call", "run_python", r#"{"code": "1"}"#]).code(1);
    failed.says("/nowhere/python3").says("[python] program");
    assert!(world.updraft(&["doctor"]).out.contains("agents cannot run Python here"));
}

#[test]
fn an_agent_runs_code_and_hears_what_came_of_it() {
    let world = World::new();
    if !is_to_be_had(&world) {
        return;
    }
    let call = json!({"name": "run_python", "args": {"variants": ["len(nothing)", "len(open('a.txt').read())"]}});
    let script =
        json!({"rules": [{"when": {"turn": 0}, "answer": {"calls": [call]}}], "default": {"text": "six letters"}});
    let model = world.script("s.json", &script);
    world.updraft(&["run", "--model", &model, "--agent", "coder", "How long is a.txt?"]).code(0);
    let prompts = world.updraft(&["show", &world.last(), "--prompts"]).code(0).out;
    assert!(prompts.contains("[variant 2 of 2 succeeded]") && prompts.contains("result: 6"), "{prompts}");
}

#[test]
fn code_that_was_running_at_a_kill_is_gone_and_in_doubt() {
    let world = World::new();
    if !is_to_be_had(&world) {
        return;
    }
    let endless = "import os, time\nif os.fork() == 0: os.setsid()\n\
                   while True:\n  open(f'beat-{os.getpid()}', 'a').write('x')\n  time.sleep(0.02)";
    let script = json!({"rules": [
        {"when": {"turn": 0}, "answer": {"calls": [{"name": "run_python", "args": {"code": endless}}]}}],
        "default": {"text": "done"}});
    let model = world.script("s.json", &script);
    let mut child = world.command(&["run", "--model", &model, "--agent", "coder", "x"]).spawn().unwrap();
    let beats = || -> Vec<u64> {
        let entries = std::fs::read_dir(world.ws()).unwrap().map(Result::unwrap);
        let beats = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("beat-"));
        beats.map(|entry| entry.metadata().unwrap().len()).collect()
    };
    World::until("both processes write", || beats().len() == 2);
    child.kill().unwrap();
    child.wait().unwrap();

    World::until("nothing is written any more", || {
        let before = beats();
        std::thread::sleep(std::time::Duration::from_millis(300));
        beats() == before
    });
    let run = world.last();
    world.updraft(&["resume", &run]).code(0);
    let events = world.updraft(&["events", &run, "--json"]).out;
    assert!(events.contains("in_doubt"), "{events}");
}
