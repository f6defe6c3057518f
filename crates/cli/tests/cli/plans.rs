//! Plans on the command line: what they will use and cost, approval before anything begins, records.

use serde_json::{Value, json};

use crate::terminal::Terminal;
use crate::world::World;

fn planned(steps: &Value, more: &[Value]) -> Value {
    let planner = json!({"when": {"agent": "planner"}, "answer": {"json": {"steps": steps}}});
    let rules = [&[planner], more].concat();
    json!({ "rules": rules })
}

fn says(step: &str, text: &str) -> Value {
    json!({"when": {"step": step}, "answer": {"text": text}})
}

fn two_steps() -> Value {
    json!([
        {"id": "find", "agent": "retriever", "prompt": "find", "writes": ["facts"]},
        {"id": "tell", "agent": "thinker", "prompt": "tell", "reads": ["facts"], "writes": ["answer"]},
    ])
}

/// A model that plans two steps and carries them out, and what it is asked to do.
fn model(world: &World) -> String {
    world.script("s.json", &planned(&two_steps(), &[says("find", "facts"), says("tell", "the story")]))
}

#[test]
fn a_plan_waits_for_approval_and_goes_on_when_it_is_resumed() {
    let world = World::new();
    let ran = world.updraft(&["run", "--plan-first", "--model", &model(&world), "tell me"]).code(3);
    assert!(ran.err.contains("the plan has 2 steps") && ran.err.contains("updraft resume"), "{}", ran.err);
    assert_eq!(world.runs()[0]["status"], "waiting");
    let begun = world.updraft(&["events", "last", "--json"]).out;
    assert!(!begun.contains("find/0/0/ask"), "{begun}");
    assert_eq!(world.updraft(&["resume", "last"]).code(0).out, "the story\n");
}

#[test]
fn an_approved_plan_goes_on_and_a_refused_one_is_planned_again() {
    let world = World::new();
    let steps = json!([{"id": "only", "agent": "thinker", "prompt": "think"}]);
    let when = json!({"agent": "planner", "contains": "one step is enough"});
    let rules = json!({"rules": [{"when": when, "answer": {"json": {"steps": steps}}},
        {"when": {"agent": "planner"}, "answer": {"json": {"steps": two_steps()}}}, says("only", "short")]});
    let model = world.script("s.json", &rules);
    world.updraft(&["run", "--plan-first", "--model", &model, "tell me"]).code(3);
    let run = world.last();
    world.updraft(&["deny", &run, "--because", "one step is enough"]).code(0);
    let again = world.updraft(&["resume", &run]).code(3);
    assert!(again.err.contains("the plan has one step"), "{}", again.err);
    world.updraft(&["approve", &run]).code(0);
    assert_eq!(world.updraft(&["resume", &run]).code(0).out, "short\n");
}

#[test]
fn an_edited_plan_is_checked_and_carried_out() {
    let world = World::new();
    let script = planned(&two_steps(), &[says("mine", "my own way")]);
    let model = world.script("s.json", &script);
    world.updraft(&["run", "--plan-first", "--model", &model, "tell me"]).code(3);
    let faulty = world.file("faulty.json", r#"{"steps": [{"id": "mine", "agent": "thinkr", "reads": ["gone"]}]}"#);
    let refused = world.updraft(&["resume", "last", "--plan", faulty.to_str().unwrap()]).code(2);
    assert!(refused.err.contains("available: `thinker`") && refused.err.contains("reads `gone`"), "{}", refused.err);
    assert_eq!(world.runs()[0]["status"], "waiting");
    let plan = world.file("plan.json", r#"{"steps": [{"id": "mine", "agent": "thinker", "model": "fast"}]}"#);
    assert_eq!(world.updraft(&["resume", "last", "--plan", plan.to_str().unwrap()]).code(0).out, "my own way\n");
    let late = world.updraft(&["resume", "last", "--plan", plan.to_str().unwrap()]).code(2);
    assert!(late.err.contains("does not wait for approval"), "{}", late.err);
}

#[test]
fn before_the_approval_the_kernel_lets_nothing_be_changed() {
    let world = World::new();
    world.file("a.txt", "alpha\n");
    world.config(
        "agents/distiller.md",
        "---\nname: distiller\npurpose: Looks.\ntools: [files, sandbox]\nrole: distiller\n---\nLook.\n",
    );
    let touch = json!({"when": {"agent": "distiller", "turn": 0}, "answer":
        {"calls": [{"name": "run_command", "args": {"command": "touch made.txt; cat a.txt"}},
                   {"name": "write_file", "args": {"path": "written.txt", "content": "x"}}]}});
    let looked = json!({"when": {"agent": "distiller"}, "answer": {"text": "looked"}});
    let script = planned(&two_steps(), &[touch, looked, says("find", "facts"), says("tell", "the story")]);
    let model = world.script("s.json", &script);
    world.updraft(&["run", "--plan-first", "--file", "a.txt", "--model", &model, "tell me"]).code(3);
    assert!(!world.ws().join("made.txt").exists() && !world.ws().join("written.txt").exists());
    let events = world.updraft(&["events", "last", "--json"]).out;
    // The command ran and could read; what it was refused, the kernel refused.
    let is_refused = ["Read-only file system", "Permission denied"].iter().any(|why| events.contains(why));
    assert!(is_refused && events.contains("cannot touch 'made.txt'") && events.contains("alpha"), "{events}");
    // The tool of ours was refused by the run.
    assert!(events.contains("read-only"), "{events}");
    assert_eq!(world.updraft(&["resume", "last"]).code(0).out, "the story\n");
}

#[test]
fn at_a_terminal_a_plan_is_shown_edited_and_carried_out() {
    let world = World::new();
    let model = world.script("s.json", &planned(&two_steps(), &[says("find", "facts"), says("told", "the story")]));
    let mut terminal = Terminal::of_width(&world, 160, &["run", "--plan-first", "--model", &model, "tell me"]);
    terminal.shows("carry it out?", 1);
    terminal.types("s\n");
    let (shown, code) = terminal.end();
    assert!(shown.contains("retriever") && shown.contains("free") && code == 3, "{code}: {shown}");
    let edit = world.file("edit.sh", "#!/bin/sh\nsed -i 's/\"tell\"/\"told\"/' \"$1\"\n");
    let editor = format!("sh {}", edit.display());
    let mut terminal = Terminal::with(&world, &[("EDITOR", &editor), ("VISUAL", "")], &["resume", "last"]);
    terminal.shows("carry it out?", 1);
    terminal.types("e\n");
    let (shown, code) = terminal.end();
    assert!(shown.contains("the story") && code == 0, "{code}: {shown}");
}

#[test]
fn a_planner_without_a_plan_is_replaced_by_one_step_and_everybody_is_told() {
    let world = World::new();
    let rules = json!({"rules": [{"when": {"agent": "planner"}, "answer": {"text": "def plan(): pass"}},
                                 {"when": {"agent": "coder"}, "answer": {"text": "done alone"}}]});
    let model = world.script("s.json", &rules);
    let ran = world.updraft(&["run", "--model", &model, "do it"]).code(0);
    assert_eq!(ran.out, "done alone\n");
    assert!(ran.err.contains("one step instead of a plan"), "{}", ran.err);
    let shown = world.updraft(&["show", "last"]).code(0).out;
    assert!(shown.contains("one step instead of a plan"), "{shown}");
    assert!(world.updraft(&["show", "last", "--json"]).code(0).value()["planned_instead"].is_string());
}

#[test]
fn stats_count_how_agents_did_and_the_planner_is_told() {
    let world = World::new();
    let model = model(&world);
    world.updraft(&["stats"]).code(2).says("there are no runs yet");
    world.updraft(&["run", "--model", &model, "tell me"]).code(0);
    world.updraft(&["run", "--model", &model, "tell me"]).code(0);
    let stats = world.updraft(&["stats", "--json"]).code(0).json();
    let thinker = stats.iter().find(|line| line["agent"] == "thinker").unwrap();
    assert_eq!((thinker["steps"].as_u64(), thinker["done"].as_u64()), (Some(2), Some(2)));
    assert!(world.updraft(&["stats"]).code(0).out.contains("retriever"));
    let prompts = world.updraft(&["show", "last", "--prompts"]).code(0).out;
    assert!(prompts.contains("1 of 1 done, 0 failed"), "{prompts}");
}

#[test]
fn an_approval_is_not_given_by_resuming_all_nor_overruled_by_a_file() {
    let world = World::new();
    let model = model(&world);
    world.updraft(&["run", "--plan-first", "--model", &model, "tell me"]).code(3);
    world.updraft(&["tell", "last", "hurry up"]).code(0);
    world.updraft(&["resume", "--all"]).code(3);
    assert_eq!(world.runs()[0]["status"], "waiting");
    world.updraft(&["approve", "last"]).code(0);
    let plan = world.file("plan.json", r#"{"steps": [{"id": "mine", "agent": "thinker"}]}"#);
    let both = world.updraft(&["resume", "last", "--plan", plan.to_str().unwrap()]).code(2);
    assert!(both.err.contains("already been approved or refused"), "{}", both.err);
    world.updraft(&["resume", "--all"]).code(0);
    assert_eq!(world.runs()[0]["status"], "done");
}

#[test]
fn what_a_plan_requires_is_shown_with_it_and_read_from_an_edited_one() {
    let world = World::new();
    let required = json!([{"text": "the file is there", "command": "test -f a.txt"}]);
    let answer = json!({"json": {"steps": two_steps(), "requirements": required}});
    let rules = json!({"rules": [{"when": {"agent": "planner"}, "answer": answer}, says("find", "facts"),
        says("tell", "the story"), says("mine", "my own way")]});
    let model = world.script("s.json", &rules);
    let table = world.updraft(&["run", "--plan-only", "--model", &model, "tell me"]).code(0).out;
    assert!(table.contains("requires the file is there: `test -f a.txt`"), "{table}");
    let file = world.updraft(&["run", "--plan-only", "--json", "--model", &model, "tell me"]).code(0).value();
    assert_eq!(file["requirements"][0]["command"], "test -f a.txt");

    // An edited plan is carried out with what it requires itself.
    world.updraft(&["run", "--plan-first", "--yes", "--model", &model, "tell me"]).code(3);
    let own = json!({"steps": [{"id": "mine", "agent": "thinker"}],
        "requirements": [{"text": "something else", "command": "test -f b.txt"}]});
    let own = world.file("plan.json", &own.to_string());
    let ran = world.updraft(&["resume", "last", "--yes", "--plan", own.to_str().unwrap()]).code(1);
    ran.says("1 of 1 requirement is not met: something else");
}

#[test]
fn a_detached_run_waits_for_the_approval_of_its_plan_too() {
    let world = World::new();
    world.updraft(&["run", "--detach", "--plan-first", "--model", &model(&world), "tell me"]).code(0);
    let run = world.until_status("waiting");
    let events = world.updraft(&["events", &run, "--json"]).out;
    assert!(events.contains("plan/0/0/approve") && !events.contains("find/0/0/ask"), "{events}");
}
