//! Settings: where they come from, and what a workspace that is not trusted may decide.

use serde_json::json;

use crate::world::World;

fn value(world: &World, name: &str) -> (String, String) {
    let rows = world.updraft(&["config", "show", "--json"]).code(0).json();
    let row = rows.iter().find(|row| row["name"] == name).unwrap();
    (row["value"].as_str().unwrap().to_owned(), row["origin"].as_str().unwrap().to_owned())
}

#[test]
fn each_setting_knows_where_it_came_from() {
    let world = World::new();
    world.config("config.toml", "model = \"builtin\"\nturns = 5\n[budget]\ntime = \"10m\"\n");
    assert_eq!(value(&world, "parallel"), ("64".into(), "default".into()));
    let (turns, origin) = value(&world, "turns");
    assert!(turns == "5" && origin.starts_with("user ") && origin.ends_with("config.toml:2"), "{origin}");
    let shown = world
        .command(&["config", "show", "--origin"])
        .env("UPDRAFT_TURNS", "7")
        .env("OPENAI_API_KEY", "sk-secret")
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(
        shown.lines().any(|line| line.starts_with("turns") && line.contains("= 7") && line.ends_with("# environment")),
        "{shown}"
    );
    assert!(shown.contains("OPENAI_API_KEY") && !shown.contains("sk-secret"));
}

#[test]
fn the_limits_of_a_run_are_settings() {
    let world = World::new();
    let limits = [("plan_attempts", "7"), ("repeats", "9"), ("max_steps", "12")];
    let lines: Vec<String> = limits.iter().map(|(name, value)| format!("{name} = {value}\n")).collect();
    let file = lines.concat();
    world.config("config.toml", &file);
    let model = world.script("s.json", &json!({"default": {"text": "fine"}}));
    world.updraft(&["run", "x", "--model", &model, "--agent", "coder"]).code(0);
    let events = world.updraft(&["events", "--json"]).code(0).json();
    let settings = &events[0]["event"]["started"]["settings"];
    for (name, limit) in limits {
        assert_eq!(value(&world, name).0, limit);
        assert_eq!(settings[name].to_string(), limit, "{settings}");
    }
    world.config("config.toml", "repeats = 1\n");
    world.updraft(&["run", "x"]).code(5).says("`repeats` is 1; expected a number from 2 to 1000");
}

#[test]
fn a_faulty_setting_is_named_with_file_line_and_close_names() {
    let world = World::new();
    world.config("config.toml", "\nmodle = \"x\"\n");
    world.updraft(&["run", "x"]).code(5).says("config.toml:2: `modle` is not a setting").says("`model`");
    world.config("config.toml", "parallel = 0\n");
    world.updraft(&["run", "x"]).code(5).says("config.toml:1: `parallel` is 0; expected a number from 1 to 1000");
    world.config("config.toml", "approvals = \"sometimes\"\n");
    world.updraft(&["run", "x"]).code(5).says("config.toml:1").says("read-only");
}

#[test]
fn a_workspace_can_only_tighten_until_it_is_trusted() {
    let world = World::new();
    world.file(".updraft/config.toml", "turns = 3\nparallel = 900\napprovals = \"allow\"\n");
    world.file(
        ".updraft/agents/coder.md",
        "---\nname: coder\npurpose: Codes.\ntools: [read_file, browser]\n---\nObey me.\n",
    );
    world.file(".env", "OPENAI_API_KEY=sk-x\n");
    assert_eq!(
        (value(&world, "turns").0, value(&world, "parallel").0, value(&world, "approvals").0),
        ("3".into(), "64".into(), "\"ask\"".into())
    );
    let model = world.script("s.json", &json!({"default": {"text": "x"}}));
    let ran = world.updraft(&["run", "--model", &model, "--agent", "thinker", "x"]).code(0);
    let remarks: Vec<&str> = ran.err.lines().filter(|line| line.contains("not trusted")).collect();
    assert!(remarks.len() == 1 && remarks[0].contains("`parallel`") && remarks[0].contains(".env"), "{}", ran.err);
    assert!(!world.updraft(&["models", "--no-probe"]).out.contains("✓ openai "));

    world.file(".updraft/agents/poet.md", "---\npurpose: Writes poems.\n---\nWrite.\n");
    world
        .updraft(&["run", "--model", &model, "--agent", "poet", "x"])
        .code(2)
        .says("not trusted")
        .says("updraft trust");
    world.updraft(&["trust"]).code(3).says("--yes");
    assert!(world.updraft(&["trust", "--yes"]).code(0).out.contains(".updraft/agents/coder.md"));
    assert_eq!(value(&world, "parallel").0, "900");
    assert!(world.updraft(&["models", "--no-probe"]).out.contains("✓ openai "));

    world.file(".updraft/config.toml", "parallel = 901\n");
    assert_eq!(value(&world, "parallel").0, "64");
    world.updraft(&["run", "--model", &model, "--agent", "thinker", "x"]).code(0).says("changed since it was trusted");
    world.updraft(&["trust", "--remove"]).code(0).says("no longer trusted");
}

#[test]
fn a_tool_that_changes_takes_the_trust_away() {
    let world = World::new();
    world.config("config.toml", "[tools]\nfolders = [\"mine\", \"tools/\"]\npython = \".venv/bin/python\"\n");
    world.file(".updraft/config.toml", "parallel = 900\n");
    for file in ["tools/one.py", "tools/shared/two.py", "mine/three.py"] {
        world.file(file, "A = 1\n");
    }
    assert_eq!(value(&world, "tools.python").0, "\"\"");
    for file in ["tools/one.py", "tools/shared/two.py", "mine/three.py"] {
        assert!(world.updraft(&["trust", "--yes"]).code(0).out.contains(file));
        assert_eq!(value(&world, "parallel").0, "900");
        assert_eq!(value(&world, "tools.python").0, "\".venv/bin/python\"");
        world.file(file, "A = 2\n");
        assert_eq!(value(&world, "parallel").0, "64");
    }
}

#[test]
fn no_tool_stays_trusted_unseen_for_what_lies_around_it() {
    use std::os::unix::ffi::OsStrExt as _;
    let world = World::new();
    world.file(".updraft/config.toml", "parallel = 900\n");
    for n in 0..5_001 {
        world.file(&format!(".updraft/prompts/{n}.md"), "");
    }
    let deep = format!("tools/{}t.py", "d/".repeat(12));
    for file in ["tools/t.py", "elsewhere/linked.py", deep.as_str()] {
        world.file(file, "A = 1\n");
    }
    std::os::unix::fs::symlink("../elsewhere", world.ws().join("tools/link")).unwrap();
    let strange = world.ws().join("tools").join(std::ffi::OsStr::from_bytes(b"caf\xe9.py"));
    std::fs::write(&strange, "A = 1\n").unwrap();
    let files = ["tools/t.py", "elsewhere/linked.py", deep.as_str()].map(|file| world.ws().join(file));
    for file in files.iter().chain([&strange]) {
        world.updraft(&["trust", "--yes"]).code(0);
        assert_eq!(value(&world, "parallel").0, "900");
        std::fs::write(file, "A = 2\n").unwrap();
        assert_eq!(value(&world, "parallel").0, "64", "{}", file.display());
    }
}

#[test]
fn a_pipe_in_the_place_of_settings_is_named_and_not_waited_for() {
    let world = World::new();
    std::fs::create_dir_all(world.ws().join(".updraft")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(world.ws().join(".updraft/config.toml")).status().unwrap();
    assert!(made.success());
    world.updraft(&["config", "show"]).code(5).says("config.toml").says("not a regular file");
}

#[test]
fn a_sample_is_made_and_nothing_overwritten() {
    let world = World::new();
    world.file(".context/README.md", "mine");
    let ran = world.updraft(&["init"]).code(0);
    assert_eq!(ran.out, "made  .updraft/config.toml\nkept  .context/README.md\nmade  artifacts/.gitkeep\n");
    assert_eq!(std::fs::read_to_string(world.ws().join(".context/README.md")).unwrap(), "mine");
    world.updraft(&["config", "show"]).code(0);
}

#[test]
fn the_usual_folders_are_used_without_a_home_of_our_own() {
    let world = World::new();
    let mut command = world.command(&["config", "show", "--origin"]);
    command
        .env_remove("UPDRAFT_HOME")
        .env("XDG_CONFIG_HOME", "/c")
        .env("XDG_DATA_HOME", "/d")
        .env("XDG_STATE_HOME", "relative")
        .env("HOME", "/h");
    let shown = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert!(
        shown.contains(": /c/updraft\n")
            && shown.contains(": /d/updraft/journal.db\n")
            && shown.contains(": /h/.local/state/updraft\n"),
        "{shown}"
    );
}

#[test]
fn every_line_of_the_sample_counts_when_it_is_used() {
    let world = World::new();
    world.updraft(&["init"]).code(0);
    let sample = std::fs::read_to_string(world.ws().join(".updraft/config.toml")).unwrap();
    let (remarks, settings) = sample.split_once("\n\n").unwrap();
    let bare = |line: &str| line.strip_prefix("# ").unwrap_or(line).to_owned();
    let used = settings.lines().map(bare).collect::<Vec<_>>().join("\n");
    assert!(remarks.lines().all(|line| line.starts_with('#')) && !used.lines().any(|line| line.starts_with('#')));
    world.config("config.toml", &used);
    let rows = world.updraft(&["config", "show", "--json"]).code(0).json();
    let names =
        ["model", "think", "stall", "probe", "cache", "deny", "sandbox.network", "python.packages", "tools.time"];
    for name in names {
        let row = rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("{name}: {rows:?}"));
        assert!(row["origin"].as_str().unwrap().starts_with("user "), "{row}");
    }
}
