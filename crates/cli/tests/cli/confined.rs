//! The sandbox's settings wherever commands run or are asked about, and its level wherever a run goes on.

use rustix::fs::{CWD, FileType, Mode};
use serde_json::{Value, json};

use crate::python;
use crate::world::World;

fn is_to_be_had(world: &World) -> bool {
    world.updraft(&["sandbox", "probe", "--json"]).value()["level"] != "none"
}

fn setting(world: &World, args: &[&str], name: &str) -> (String, String) {
    let args = [&["sandbox", "probe", "--json"], args].concat();
    let probe = world.updraft(&args).value();
    let rows = probe["run"]["settings"].as_array().unwrap().clone();
    let row = rows.iter().find(|row| row["name"] == name).unwrap();
    (row["value"].as_str().unwrap().to_owned(), row["origin"].as_str().unwrap().to_owned())
}

#[test]
fn a_command_by_hand_gets_what_a_run_gets_and_flags_override() {
    let world = World::new();
    if !is_to_be_had(&world) {
        return;
    }
    let outside = tempfile::tempdir_in("/var/tmp").unwrap();
    std::fs::write(outside.path().join("x"), "readable").unwrap();
    let settings = format!("[sandbox]\nread = [{:?}]\nenvironment = [\"MINE\"]\ntime = \"300ms\"\n", outside.path());
    world.config("config.toml", &settings);
    let shown = outside.path().join("x").display().to_string();
    let script = format!("cat {shown}; echo \" $MINE\"");
    let mut command = world.command(&["sandbox", "exec", "--time", "20s", "--", "sh", "-c", &script]);
    let output = command.env("MINE", "passes").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "readable passes\n");
    world.updraft(&["sandbox", "exec", "--", "sleep", "30"]).code(124).says("sandbox.time");
    world.updraft(&["sandbox", "exec", "--memory", "lots", "--", "true"]).code(5).says("is not a size");
    world.config("config.toml", "[sandbox]\nread = [\"/no/such\"]\n");
    world.updraft(&["sandbox", "exec", "--", "true"]).code(5).says("config.toml:2: `sandbox.read`");
}

#[test]
fn probe_and_doctor_say_what_a_run_gets_and_who_said_so() {
    let world = World::new();
    if !is_to_be_had(&world) {
        return;
    }
    world.config("config.toml", "[sandbox]\nmemory = \"256 MiB\"\nnetwork = [\"example.com\"]\n");
    world.file(".updraft/config.toml", "[sandbox]\nprocesses = 64\nmemory = \"1 GiB\"\n");
    let (value, from) = setting(&world, &[], "memory");
    assert!(value == "256 MiB" && from.ends_with("config.toml:2") && from.starts_with("user "), "{value} {from}");
    let (value, from) = setting(&world, &[], "processes");
    assert!(value == "64" && from.starts_with("workspace "), "a stranger may tighten: {value} {from}");
    let flags = ["--memory", "64 MiB", "--network", "none", "--time", "5s"];
    assert_eq!(setting(&world, &flags, "memory"), ("64 MiB".into(), "flag".into()));
    assert_eq!(setting(&world, &flags, "network"), ("none".into(), "flag".into()));
    assert_eq!(setting(&world, &["--no-sandbox"], "level").1, "flag");
    let probe = world.updraft(&["sandbox", "probe"]).code(0);
    assert!(probe.out.contains("allow:example.com") && probe.err.contains("`sandbox.memory`"), "{}", probe.err);
    let doctor = world.updraft(&["doctor"]).out;
    let line = doctor.lines().find(|line| line.contains("  sandbox ")).unwrap();
    assert!(line.contains("network allow:example.com (user ") && line.contains("processes 64 (workspace "), "{line}");
    world.config("config.toml", "[sandbox]\nlevel = \"none\"\n");
    let doctor = world.updraft(&["doctor"]).out;
    let line = doctor.lines().find(|line| line.contains("  sandbox ")).unwrap();
    assert!(line.starts_with("warn") && line.contains("whatever you can"), "{line}");
}

/// A run at the best level that waits for an answer in one of two steps.
fn waiting(world: &World) -> String {
    let steps = json!([{"id": "ask", "agent": "clarification", "prompt": "ask", "writes": ["colour"]},
                       {"id": "late", "agent": "thinker", "prompt": "think", "reads": ["colour"], "writes": ["thought"]}]);
    let plan = world.file("plan.json", &json!({"steps": steps}).to_string());
    let model = world.script(
        "s.json",
        &json!({"rules": [{"when": {"step": "ask", "turn": 0}, "answer":
        {"calls": [{"name": "ask_user", "args": {"question": "Which colour?"}}]}}], "default": {"text": "green"}}),
    );
    world.updraft(&["run", "--model", &model, "--plan", plan.to_str().unwrap(), "go"]).code(3);
    world.last()
}

#[test]
fn no_way_of_going_on_lowers_the_level_in_silence() {
    let world = World::new();
    if !is_to_be_had(&world) {
        return;
    }
    let run = waiting(&world);
    let events = world.updraft(&["events", &run, "--json"]).json().len().to_string();
    world.config("config.toml", "[sandbox]\nlevel = \"none\"\n");
    world.updraft(&["resume", &run]).code(125).says("--no-sandbox");
    let before = world.runs().len();
    world.updraft(&["fork", &run, "--at", &events]).code(125).says("--no-sandbox");
    assert_eq!(world.runs().len(), before, "nothing is copied that may not go on");
    world.updraft(&["cancel", &run, "--step", "late"]).code(125).says("is not available on this machine");

    let forked = world.updraft(&["fork", &run, "--at", &events, "--no-sandbox"]).code(3);
    assert!(forked.err.contains("can do whatever you can"), "{}", forked.err);
    let shown = world.updraft(&["show", &world.last()]).out;
    assert!(shown.contains("sandbox    none"), "{shown}");
    // What only stays is looked at when it goes on; and stopping is always possible.
    world.updraft(&["fork", &run, "--at", &events, "--stay"]).code(0);
    world.updraft(&["resume", &world.last()]).code(125);
    world.updraft(&["answer", &run, "green"]).code(0);
    world.updraft(&["resume", &run]).code(125);
    world.updraft(&["cancel", &run]).code(0).says("is cancelled");
}

#[test]
fn a_pipe_in_the_place_of_a_file_holds_nobody_up() {
    for file in [".updraft/agents/x.md", ".updraft/prompts/x.md", ".updraft/config.toml", ".mcp.json"] {
        let world = World::new();
        let path = world.ws().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::RWXU, 0).unwrap();
        world.updraft(&["trust", "--yes"]);
        let model = world.script("s.json", &json!({"default": {"text": "done"}}));
        let ran = world.updraft(&["run", "--model", &model, "--agent", "coder", "go"]);
        assert!(ran.code == 0 || ran.err.contains("not a regular file"), "{file}: {}", ran.err);
    }
    let world = World::new();
    std::fs::create_dir_all(world.home().join("agents")).unwrap();
    rustix::fs::mknodat(CWD, world.home().join("agents/x.md"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    let listed = world.updraft(&["agents"]);
    assert!(listed.code != 0 && listed.err.contains("agents/x.md"), "{}", listed.err);
    std::fs::remove_file(world.home().join("agents/x.md")).unwrap();
    std::fs::write(world.home().join("agents/x.md"), vec![b'x'; (1 << 20) + 1]).unwrap();
    assert_ne!(world.updraft(&["agents"]).code, 0);
}

#[test]
fn calls_from_code_are_shown_under_the_call_that_ran_it() {
    let world = World::new();
    if !python::is_to_be_had(&world) {
        return;
    }
    let code = "for n in range(3): read_file(path='a.txt')\nlist_files(path='.')\n1";
    let calls = |name: &str, args: Value| json!({"calls": [{"name": name, "args": args}]});
    let script = json!([calls("run_python", json!({"code": code})), calls("read_file", json!({"path": "a.txt"})),
                        {"text": "done"}]);
    let model = world.script("s.json", &script);
    let ran = world.updraft(&["run", "--json", "--model", &model, "--agent", "coder", "go"]).code(0).json();
    let made_by =
        |kind: &str| ran.iter().filter(|line| line["type"] == kind && line["item"]["made_by"].is_string()).count();
    assert_eq!((made_by("item.started"), made_by("item.completed")), (4, 4));
    let shown = world.updraft(&["show", "last"]).out;
    assert!(shown.contains("tools: run_python (read_file ×3, list_files), read_file"), "{shown}");
    let tools = world.updraft(&["show", "last", "--json"]).value()["steps"][0]["tools"].clone();
    let inner = json!([{"tool": "read_file", "calls": 3}, {"tool": "list_files", "calls": 1}]);
    let all = json!([{"tool": "run_python", "calls": 1, "from_code": inner}, {"tool": "read_file", "calls": 1}]);
    assert_eq!(tools, all);
}
