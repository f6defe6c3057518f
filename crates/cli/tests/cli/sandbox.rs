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
fn commits_are_by_the_user() {
    let world = World::new();
    if !is_to_be_had(&world) || !std::path::Path::new("/usr/bin/git").exists() {
        return;
    }
    world.config(".gitconfig", "[user]\n\tname = Some One\n\temail = one@example.com\n[alias]\n\tst = status\n");
    world.config("given/git/config", "[user]\n\tname = Nobody\n[init]\n\tdefaultBranch = trunk\n");
    let script = "set -e; git init -q new; cd new; git commit -q --allow-empty -m x; git log --format='%an <%ae> %D'; \
                  git st 2> /dev/null || echo no alias";
    let mut command = world.command(&["sandbox", "exec", "--", "sh", "-c", script]);
    command
        .env("HOME", world.home())
        .env("XDG_CONFIG_HOME", world.home().join("given"))
        .env_remove("GIT_CONFIG_GLOBAL");
    let ran = crate::world::Ran::of(command.output().unwrap()).code(0);
    assert_eq!(ran.out, "Some One <one@example.com> HEAD -> trunk\nno alias\n");
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
fn a_name_that_a_command_chose_does_not_steer_the_terminal() {
    let world = World::new();
    if !is_to_be_had(&world) {
        return;
    }
    let script =
        "d=$(printf 'x\\033[2J\\rall is well\\nover'); mkdir \"$d\" && echo evil > \"$d/.envrc\"; cat \"/nowhere/$d\"";
    let ran = world.updraft(&["sandbox", "exec", "--", "sh", "-c", script]);
    let note = ran.err.lines().find(|line| line.contains("would run later")).unwrap_or_default();
    assert!(note.contains("x\\u{1b}[2J\\u{d}all is well\\nover/.envrc"), "{}", ran.err);
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
fn a_program_that_the_sandbox_hides_is_named_and_certificates_pass_if_they_are_visible() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new();
    if !is_to_be_had(&world) {
        return;
    }
    // A version manager at a place which is not shown.
    let elsewhere = tempfile::tempdir_in("/var/tmp").unwrap();
    let shim = elsewhere.path().join(".versions/bin/python3");
    std::fs::create_dir_all(shim.parent().unwrap()).unwrap();
    std::fs::write(&shim, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(&shim, std::fs::Permissions::from_mode(0o755)).unwrap();
    let bundle = elsewhere.path().join("company.pem");
    std::fs::write(&bundle, "").unwrap();
    let path = format!("{}:/usr/bin:/bin", shim.parent().unwrap().display());
    let command =
        json!({"name": "run_command", "args": {"command": "python3 -c 'import nothing_like_this'; env; exit 3"}});
    let model = world.script("s.json", &json!([{"calls": [command]}, {"text": "done"}]));
    let mut run = world.command(&["run", "--model", &model, "--agent", "coder", "Run it."]);
    run.env("PATH", &path).env("PIP_CERT", &bundle).env("SSL_CERT_DIR", "/usr/lib");
    assert!(run.output().unwrap().status.success());
    let prompts = world.updraft(&["show", "last", "--prompts"]).code(0).out;
    let named = format!("[`python3` at {} is not visible in the sandbox", shim.display());
    assert!(prompts.contains(&named), "{prompts}");
    assert!(prompts.contains(&format!("`--read {}`", elsewhere.path().join(".versions").display())), "{prompts}");
    assert!(prompts.contains("SSL_CERT_DIR=/usr/lib") && !prompts.contains("PIP_CERT="), "{prompts}");
    let mut doctor = world.command(&["doctor"]);
    let said = doctor.env("PATH", &path).output().unwrap();
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.contains("`python3` at"), "{said}");
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
    // What it writes in the workspace is seen there only once it has ended, so its heart beats in a folder beside it.
    let beside = tempfile::tempdir_in("/var/tmp").unwrap();
    let beat = beside.path().join("beat.txt");
    let shown = beat.display();
    let endless = format!(
        "echo begun > begun.txt; (setsid sh -c 'while true; do date +%s%N >> {shown}; sleep 0.02; done' &) ; sleep 60"
    );
    let script = json!({"rules": [
        {"when": {"turn": 0}, "answer": {"calls": [{"name": "run_command", "args": {"command": endless}}]}}],
        "default": {"text": "done"}});
    let model = world.script("s.json", &script);
    let write = beside.path().to_str().unwrap();
    let args = ["run", "--model", &model, "--agent", "coder", "--write", write, "x"];
    let mut child = world.command(&args).spawn().unwrap();
    World::until("the command writes", || beat.exists());
    child.kill().unwrap();
    child.wait().unwrap();

    // Whatever it had started is ended within a moment, and then nothing is written any more.
    let size = || std::fs::metadata(&beat).unwrap().len();
    World::until("nothing is written any more", || {
        let before = size();
        std::thread::sleep(std::time::Duration::from_millis(300));
        size() == before
    });
    assert!(!world.ws().join("begun.txt").exists(), "a command that was cut off changes nothing in the workspace");
    let run = world.last();
    world.updraft(&["resume", &run]).code(0);
    let events = world.updraft(&["events", &run, "--json"]).out;
    assert!(events.contains("in_doubt"), "{events}");
}

/// A model that runs one command and is done.
fn runs(world: &World, command: &str) -> String {
    let script = json!({"rules": [
        {"when": {"turn": 0}, "answer": {"calls": [{"name": "run_command", "args": {"command": command}}]}}],
        "default": {"text": "done"}});
    world.script("s.json", &script)
}

#[test]
fn settings_and_flags_say_what_commands_may_read_and_write() {
    let world = World::new();
    if !is_to_be_had(&world) {
        return;
    }
    let (shared, mine) = (tempfile::tempdir_in("/var/tmp").unwrap(), tempfile::tempdir_in("/var/tmp").unwrap());
    std::fs::write(shared.path().join("data.txt"), "shared data").unwrap();
    world.config("config.toml", &format!("[sandbox]\nread = [{:?}]\n", shared.path()));
    let (from, to) = (shared.path().join("data.txt"), mine.path().join("out.txt"));
    let model = runs(&world, &format!("cat {}; echo made > {}", from.display(), to.display()));
    let write = mine.path().display().to_string();
    world.updraft(&["run", "--model", &model, "--agent", "coder", "--write", &write, "go"]).code(0);
    let prompts = world.updraft(&["show", "last", "--prompts"]).out;
    assert!(prompts.contains("shared data"), "{prompts}");
    assert_eq!(std::fs::read_to_string(&to).unwrap(), "made\n");
    std::fs::remove_file(&to).unwrap();
    world.updraft(&["run", "--model", &model, "--agent", "coder", "go"]).code(0);
    assert!(!to.exists(), "without the flag it cannot be written");
    world.updraft(&["run", "--write", "/no/such", "--agent", "coder", "go"]).code(2).says("cannot be granted");
    world.config("config.toml", "[sandbox]\nread = [\"/no/such\"]\n");
    world.updraft(&["run", "--agent", "coder", "go"]).says("config.toml:2: `sandbox.read`");
}

#[test]
fn a_stranger_workspace_loosens_nothing() {
    let world = World::new();
    world.file(".updraft/config.toml", "[sandbox]\nlevel = \"none\"\nnetwork = \"host\"\n");
    let model = world.script("s.json", &json!({"default": {"text": "done"}}));
    let ran = world.updraft(&["run", "--model", &model, "--agent", "coder", "go"]).code(0);
    assert!(ran.err.contains("`sandbox.level`") && ran.err.contains("`sandbox.network`"), "{}", ran.err);
    assert_ne!(world.runs()[0]["sandbox"], "none");
}

#[test]
fn the_level_is_in_the_record_and_never_lowered_in_silence() {
    let world = World::new();
    if !is_to_be_had(&world) {
        return;
    }
    let level = world.updraft(&["sandbox", "probe", "--json"]).value()["level"].as_str().unwrap().to_owned();
    let script = json!({"rules": [{"when": {"turn": 0}, "answer": {"calls": [
        {"name": "ask_user", "args": {"question": "which?"}}]}}], "default": {"text": "done"}});
    let model = world.script("s.json", &script);
    world.config("agents/asker.md", "---\nname: asker\npurpose: Asks.\ntools: [ask_user]\n---\nAsk.\n");
    world.updraft(&["run", "--model", &model, "--agent", "asker", "go"]);
    let run = world.last();
    assert_eq!(world.runs()[0]["sandbox"], level.as_str());
    assert!(world.updraft(&["show", &run]).out.contains(&format!("sandbox    {level}")));

    // Less than before only by the flag, which is warned about each time.
    world.config("config.toml", "[sandbox]\nlevel = \"none\"\n");
    world.updraft(&["resume", &run]).code(125).says("is not available on this machine").says("--no-sandbox");
    world.updraft(&["resume", &run, "--no-sandbox"]).says("can do whatever you can");
    assert!(world.updraft(&["events", &run]).out.contains("sandbox level none"));
    assert!(world.updraft(&["show", &run]).out.contains("sandbox    none"));
}

#[test]
fn a_run_goes_on_with_no_more_than_it_began_with_unless_a_flag_says_so() {
    let world = World::new();
    if !is_to_be_had(&world) {
        return;
    }
    let ask = json!({"name": "ask_user", "args": {"question": "which?"}});
    let script = json!({"rules": [{"when": {"turn": 0}, "answer": {"calls": [ask]}}], "default": {"text": "done"}});
    let model = world.script("s.json", &script);
    world.config("agents/asker.md", "---\nname: asker\npurpose: Asks.\ntools: [ask_user]\n---\nAsk.\n");
    world.config("config.toml", "[sandbox]\nnetwork = \"host\"\n");
    world.updraft(&["run", "--model", &model, "--agent", "asker", "--network", "none", "go"]);
    let run = world.last();
    let other = tempfile::tempdir().unwrap();
    let granted = format!("[sandbox]\nnetwork = \"host\"\nwrite = [{:?}]\n", other.path());
    world.config("config.toml", &granted);
    world.updraft(&["resume", &run]).says("keeping what the run was started with: --network none");
    world.updraft(&["resume", &run]).says("the run began without the right to write");
    let folder = other.path().display().to_string();
    let said = world.updraft(&["resume", &run, "--network", "host", "--write", &folder]);
    assert!(!said.err.contains("the run began"), "{}", said.err);
}

#[test]
fn a_run_goes_on_with_the_flags_it_was_started_with() {
    let world = World::new();
    if !is_to_be_had(&world) {
        return;
    }
    let other = tempfile::tempdir().unwrap();
    let folder = other.path().canonicalize().unwrap();
    let write = format!("echo kept > {}/kept.txt", folder.display());
    let script = json!({"rules": [
        {"when": {"turn": 0}, "answer": {"calls": [{"name": "ask_user", "args": {"question": "which?"}}]}},
        {"when": {"turn": 1}, "answer": {"calls": [{"name": "run_command", "args": {"command": write}}]}},
    ], "default": {"text": "done"}});
    let model = world.script("s.json", &script);
    world.config("agents/asker.md", "---\nname: asker\npurpose: Asks.\ntools: [ask_user, sandbox]\n---\nAsk.\n");
    world.updraft(&["trust", "--yes"]).code(0);
    let given = folder.to_str().unwrap();
    let flags = ["--network", "host", "--write", given, "--yes"];
    world.updraft(&[&["run", "--model", &model, "--agent", "asker", "go"], &flags[..]].concat()).code(3);
    let run = world.last();
    world.updraft(&["answer", &run, "this"]).code(0);
    let resumed = world.updraft(&["resume", &run]).code(0);
    let resumed = resumed.says(&format!("keeping what the run was started with: --network host --write {given}"));
    assert_eq!(std::fs::read_to_string(folder.join("kept.txt")).unwrap(), "kept\n", "{}", resumed.err);
}

#[test]
fn flags_that_a_run_was_resumed_with_hold_for_the_next_resume() {
    let world = World::new();
    if !is_to_be_had(&world) {
        return;
    }
    let ask = json!({"name": "ask_user", "args": {"question": "which?"}});
    let script = json!({"rules": [{"when": {"turn": 0}, "answer": {"calls": [ask]}}], "default": {"text": "done"}});
    let model = world.script("s.json", &script);
    world.config("agents/asker.md", "---\nname: asker\npurpose: Asks.\ntools: [ask_user]\n---\nAsk.\n");
    world.config("config.toml", "[sandbox]\nnetwork = \"host\"\n");
    world.updraft(&["run", "--model", &model, "--agent", "asker", "go"]).code(3);
    let run = world.last();
    world.updraft(&["resume", &run, "--network", "none"]).code(3);
    world.updraft(&["resume", &run]).code(3).says("keeping what the run was started with: --network none");
    world.updraft(&["resume", &run, "--network", "host"]).code(3);
    world.updraft(&["resume", &run]).code(3).says("keeping what the run was started with: --network host");
}

#[test]
fn without_the_sandbox_only_by_the_flag_and_with_a_warning() {
    let world = World::new();
    let model = runs(&world, "echo free > free.txt");
    world.updraft(&["trust", "--yes"]).code(0);
    let ran = world.updraft(&["run", "--model", &model, "--agent", "coder", "--no-sandbox", "--yes", "go"]).code(0);
    assert!(ran.err.contains("sandbox: none"), "{}", ran.err);
    assert_eq!(std::fs::read_to_string(world.ws().join("free.txt")).unwrap(), "free\n");
    assert_eq!(world.runs()[0]["sandbox"], "none");
}

#[test]
fn what_would_run_later_is_kept_aside_until_someone_approves_it() {
    let world = World::new();
    if !is_to_be_had(&world) {
        return;
    }
    let model = runs(&world, "mkdir -p .git/hooks; echo ref > .git/HEAD; echo evil > .envrc; echo more > .mcp.json");
    world.updraft(&["run", "--model", &model, "--agent", "coder", "go"]).code(0);
    assert!(!world.ws().join(".envrc").exists());
    let shown = world.updraft(&["show", "last"]).out;
    assert!(shown.contains("moved aside:") && shown.contains(".envrc"), "{shown}");
    let all = world.updraft(&["aside", "list", "--json"]).json();
    let named = |file: &str| {
        let one = all.iter().find(|one| one["path"].as_str().unwrap().ends_with(file));
        one.unwrap_or_else(|| panic!("{all:?}"))["name"].as_str().unwrap().to_owned()
    };
    world.updraft(&["aside", "restore", &named(".envrc")]).code(0).says("was restored");
    assert_eq!(std::fs::read_to_string(world.ws().join(".envrc")).unwrap(), "evil\n");
    world.updraft(&["aside", "drop", &named(".mcp.json")]).code(0);
    world.updraft(&["aside", "drop", &named(".mcp.json")]).code(2).says("updraft aside");
    assert!(!world.ws().join(".mcp.json").exists());
}

#[test]
fn no_command_and_no_tool_changes_what_updraft_goes_by_where_the_workspace_is_around_it() {
    let world = World::new();
    if !is_to_be_had(&world) {
        return;
    }
    let home = world.ws().join("dotfiles");
    std::fs::create_dir_all(&home).unwrap();
    let config = home.join("config.toml");
    std::fs::write(&config, "mode = \"workspace\"\n").unwrap();
    let updraft = |args: &[&str]| {
        let ended = world.command(args).env("UPDRAFT_HOME", &home).output().unwrap();
        String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned()
    };
    let plant = "echo evil > dotfiles/config.toml; echo evil > dotfiles/mcp.json; echo {} > x.json";
    // At the lower level nothing keeps folders from being renamed.
    for (level, plant) in [("full", format!("mv dotfiles d2; {plant}")), ("landlock", plant.to_owned())] {
        updraft(&["sandbox", "exec", "--level", level, "--", "sh", "-c", &plant]);
        assert_eq!(std::fs::read_to_string(&config).unwrap(), "mode = \"workspace\"\n", "{level}");
        assert!(!home.join("mcp.json").exists() && world.ws().join("x.json").exists(), "{level}");
    }
    let args = json!({"path": "dotfiles/config.toml", "content": "evil"});
    let model = world.script("s.json", &json!([{"calls": [{"name": "write_file", "args": args}]}, {"text": "tried"}]));
    let said = updraft(&["run", "--yes", "--json", "--agent", "coder", "--model", &model, "go"]);
    assert!(said.contains("Updraft itself uses this file") && said.contains("tried"), "{said}");
    assert_eq!(std::fs::read_to_string(&config).unwrap(), "mode = \"workspace\"\n");
}
