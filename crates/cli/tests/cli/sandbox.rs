//! Commands in the sandbox: by hand, and as agents run them.

use serde_json::json;

use crate::world::World;

/// Whether this machine can confine anything; without, the tests that need it say so and end.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn is_to_be_had(world: &World) -> bool {
    let level = world.updraft(&["sandbox", "probe", "--json"]).value()["level"].clone();
    if level == "none" {
        eprintln!("!! SKIP: there is no sandbox on this machine");
    }
    level != "none"
}

#[test]
fn a_command_sees_the_workspace_and_not_the_home_folder() {
    let world = World::new();
    if !is_to_be_had(&world) {
        return;
    }
    world.config("secret.txt", "a key");
    let secret = world.home().join("secret.txt");
    let script = format!("cat a.txt; cat {} && echo LEAK; echo new > b.txt", secret.display());
    let ran = world.updraft(&["sandbox", "exec", "--", "sh", "-c", &script]).code(0);
    assert_eq!(ran.out, "hello\n");
    assert_eq!(std::fs::read_to_string(world.ws().join("b.txt")).unwrap(), "new\n");
}

#[test]
fn exit_codes_are_those_of_a_shell() {
    let world = World::new();
    if !is_to_be_had(&world) {
        return;
    }
    world.updraft(&["sandbox", "exec", "--", "sh", "-c", "exit 7"]).code(7);
    world.updraft(&["sandbox", "exec", "--time", "200ms", "--", "sleep", "30"]).code(124).says("limit");
    world.updraft(&["sandbox", "exec", "--", "no-such-program"]).code(127).says("no-such-program");
    world.updraft(&["sandbox", "exec", "--network", "sometimes", "--", "true"]).code(2).says("allow:HOST");
    world.updraft(&["sandbox", "exec", "--workspace", "/", "--", "true"]).code(2);
}

#[test]
fn variables_pass_only_by_name() {
    let world = World::new();
    if !is_to_be_had(&world) {
        return;
    }
    let mut command = world.command(&["sandbox", "exec", "--env", "MINE", "--", "env"]);
    let output = command.env("OPENAI_API_KEY", "sk-secret-of-ours").env("MINE", "yes").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("MINE=yes") && !text.contains("sk-secret"), "{text}");
}

#[test]
fn an_agent_runs_a_command_and_hears_what_came_of_it() {
    let world = World::new();
    if !is_to_be_had(&world) {
        return;
    }
    let command = json!({"name": "run_command", "args": {"command": "wc -c < a.txt; cat /etc/shadow; exit 4"}});
    let script = json!({"rules": [{"when": {"turn": 0}, "answer": {"calls": [command]}}],
                        "default": {"text": "six bytes"}});
    let model = world.script("s.json", &script);
    world.updraft(&["run", "--model", &model, "--agent", "coder", "How long is a.txt?"]).code(0);
    let prompts = world.updraft(&["show", &world.last(), "--prompts"]).code(0).out;
    assert!(prompts.contains("[exit code 4") && prompts.contains("stdout:\n6"), "{prompts}");
}

#[test]
fn a_command_that_was_running_at_a_kill_is_gone_and_in_doubt() {
    let world = World::new();
    if !is_to_be_had(&world) {
        return;
    }
    let endless =
        "echo begun > begun.txt; (setsid sh -c 'while true; do date +%s%N >> beat.txt; sleep 0.02; done' &) ; sleep 60";
    let script = json!({"rules": [
        {"when": {"turn": 0}, "answer": {"calls": [{"name": "run_command", "args": {"command": endless}}]}}],
        "default": {"text": "done"}});
    let model = world.script("s.json", &script);
    let mut child = world.command(&["run", "--model", &model, "--agent", "coder", "x"]).spawn().unwrap();
    World::until("the command writes", || world.ws().join("beat.txt").exists());
    child.kill().unwrap();
    child.wait().unwrap();

    // Whatever it had started is ended within a moment, and then nothing is written any more.
    let size = || std::fs::metadata(world.ws().join("beat.txt")).unwrap().len();
    World::until("nothing is written any more", || {
        let before = size();
        std::thread::sleep(std::time::Duration::from_millis(300));
        size() == before
    });
    let run = world.last();
    world.updraft(&["resume", &run]).code(0);
    let events = world.updraft(&["events", &run, "--json"]).out;
    assert!(events.contains("in_doubt"), "{events}");
}
