//! Commands at the same time in one workspace: of one turn, of several steps, of several processes. Nothing is lost.

use std::process::Command;

use serde_json::{Value, json};

use crate::world::World;

const COMMIT: &str = "git -c user.name=n -c user.email=e@x -c gc.auto=0 commit -q --allow-empty -m m";
const BUILD: &str = "n=$(cat built 2>/dev/null || echo 0); echo $((n+1)) > built.new; mv built.new built";
const INSERT: &str = "python3 -c 'import sqlite3\nc = sqlite3.connect(\"rows.db\", timeout=60)\n\
    c.execute(\"insert into rows values (1)\")\nc.commit()'";

/// A world with a repository and a database, where changes of commands can be gathered.
fn shared() -> Option<World> {
    let world = World::new();
    let is_full = world.updraft(&["sandbox", "probe", "--json"]).value()["level"] == "full";
    let set_up = "git init -q . && python3 -c 'import sqlite3\nc = sqlite3.connect(\"rows.db\")\n\
        c.execute(\"create table rows (x)\")\nc.commit()'";
    let is_set_up = Command::new("sh").args(["-c", set_up]).current_dir(world.ws()).status().unwrap().success();
    (is_full && is_set_up).then_some(world)
}

/// Two of each kind of command, and two lines by a file tool, all in one turn.
fn calls() -> Value {
    let command = |text: &str| json!({"name": "run_command", "args": {"command": text}});
    let line = json!({"name": "append_line", "args": {"path": "log", "line": "line"}});
    let each = [command("echo line >> log"), line, command(COMMIT), command(BUILD), command(INSERT)];
    json!({"calls": each.iter().chain(&each).collect::<Vec<_>>()})
}

/// Lines, commits, builds and rows.
fn counts(world: &World) -> [u32; 4] {
    let count = |script: &str| -> u32 {
        let output = Command::new("sh").args(["-c", script]).current_dir(world.ws()).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().parse().unwrap_or(0)
    };
    let rows = "python3 -c 'import sqlite3\nc = sqlite3.connect(\"rows.db\")\n\
        print(c.execute(\"select count(*) from rows\").fetchone()[0])'";
    [count("wc -l < log"), count("git rev-list --count HEAD"), count("cat built"), count(rows)]
}

/// How each call ended, in all runs.
fn all_went_well(world: &World, calls: usize) {
    let runs = world.runs();
    let ids = runs.iter().map(|run| run["run"].as_str().unwrap());
    let ended: Vec<Value> = ids.flat_map(|id| world.updraft(&["audit", id, "--json"]).code(0).json()).collect();
    let codes: Vec<&Value> = ended.iter().map(|call| &call["exit_code"]).filter(|code| !code.is_null()).collect();
    assert_eq!(codes, vec![&json!(0); calls], "{ended:?}");
}

#[test]
fn commands_of_one_turn_lose_nothing() {
    let Some(world) = shared() else { return };
    let model = world.script("calls.json", &json!([calls(), {"text": "done"}]));
    world.updraft(&["run", "--model", &model, "--agent", "coder", "work"]).code(0);
    assert_eq!(counts(&world), [4, 2, 2, 2]);
    all_went_well(&world, 8);
}

#[test]
fn commands_of_parallel_steps_lose_nothing() {
    let Some(world) = shared() else { return };
    let step = |id: &str| json!({"id": id, "agent": "coder", "prompt": "work", "writes": [format!("{id}_done")]});
    let plan = json!({"steps": [step("one"), step("two"), step("three")]}).to_string();
    let plan = world.file("plan.json", &plan);
    let script = json!({"rules": [{"when": {"turn": 0}, "answer": calls()}], "default": {"text": "done"}});
    let model = world.script("calls.json", &script);
    world.updraft(&["run", "--model", &model, "--plan", plan.to_str().unwrap(), "go"]).code(0);
    assert_eq!(counts(&world), [12, 6, 6, 6]);
    all_went_well(&world, 24);
}

#[test]
fn commands_of_four_processes_lose_nothing() {
    let Some(world) = shared() else { return };
    let model = world.script("calls.json", &json!([calls(), {"text": "done"}]));
    let begin = |_| world.begin(&["run", "--model", &model, "--agent", "coder", "work"]);
    let runs: Vec<_> = (0..4).map(begin).collect();
    for run in runs {
        run.wait().code(0);
    }
    assert_eq!(counts(&world), [16, 8, 8, 8]);
    all_went_well(&world, 32);
}
