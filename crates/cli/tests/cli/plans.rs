//! Plans on the command line: what they will use and cost, approval before anything begins, records, repetition.

use serde_json::{Value, json};

use crate::terminal::{Terminal, has_script};
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
    assert!(refused.err.contains("there is `thinker`") && refused.err.contains("reads `gone`"), "{}", refused.err);
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
    if !has_script() {
        return;
    }
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
fn a_repeated_run_carries_out_only_what_has_changed() {
    let world = World::new();
    let reads = json!({"when": {"step": "find", "turn": 0}, "answer": {"calls": [{"name": "read_file", "args": {"path": "a.txt"}}]}});
    let rules = [reads, says("find", "facts"), says("tell", "the story")];
    let model = world.script("s.json", &planned(&two_steps(), &rules));
    world.updraft(&["run", "--model", &model, "tell me"]).code(0);
    let first = world.last();

    let dry = world.updraft(&["rerun", &first, "--dry-run"]).code(0).out;
    assert_eq!(dry, "kept   find (retriever)\nkept   tell (thinker)\n");
    assert_eq!(world.runs().len(), 1, "nothing was started");
    let ran = world.updraft(&["rerun", &first]).code(0);
    assert_eq!(ran.out, "the story\n");
    let shown = world.updraft(&["show", "last", "--json"]).code(0).value();
    assert_eq!((shown["statistics"]["turns"].as_u64(), shown["repeats"].as_str()), (Some(0), Some(first.as_str())));

    world.file("a.txt", "another text\n");
    let dry = world.updraft(&["rerun", &first, "--dry-run", "--json"]).code(0).value();
    assert!(dry["steps"][0]["again"].as_str().unwrap().contains("a.txt"), "{dry}");
    world.updraft(&["rerun", &first]).code(0);
    let shown = world.updraft(&["show", "last", "--json"]).code(0).value();
    let kept: Vec<Option<bool>> =
        shown["steps"].as_array().unwrap().iter().map(|step| step["kept"].as_bool()).collect();
    assert_eq!(kept, [Some(false), Some(false)], "`find` used a tool again, so nobody knows what it has changed");
}

/// The verdicts of a dry rerun: why each step is done again, or nothing.
fn again(world: &World, args: &[&str]) -> Vec<Option<String>> {
    let dry = world.updraft(&[&["rerun", "last", "--dry-run", "--json"], args].concat()).code(0).value();
    dry["steps"].as_array().unwrap().iter().map(|step| step["again"].as_str().map(str::to_owned)).collect()
}

#[test]
fn a_result_is_kept_only_if_nothing_it_depended_on_has_changed() {
    let world = World::new();
    let reads = json!({"when": {"step": "find", "turn": 0}, "answer": {"calls": [{"name": "read_file", "args": {"path": "a.txt"}}]}});
    let model =
        world.script("s.json", &planned(&two_steps(), &[reads, says("find", "facts"), says("tell", "the story")]));
    world.updraft(&["run", "--model", &model, "tell me"]).code(0);
    world.updraft(&["rerun", "last"]).code(0);
    assert_eq!(world.runs()[0]["status"], "done", "a run that keeps everything has ended");
    assert_eq!(again(&world, &[]), [None, None]);
    let other = again(&world, &["--goal", "tell me more"]);
    assert!(other.iter().all(|why| why.as_deref() == Some("the goal has changed")), "{other:?}");
    world.updraft(&["rerun", "last", "--again", "fnd"]).code(2).says("no step `fnd`");
    world.file("a.txt", "another text\n");
    let why = again(&world, &[]);
    assert!(why[0].as_ref().is_some_and(|why| why.contains("a.txt")), "also in a rerun of a rerun: {why:?}");
    world.file("AGENTS.md", "Be brief.\n");
    let why = again(&world, &[]);
    assert!(why.iter().all(|why| why.as_ref().is_some_and(|why| why.contains("AGENTS.md"))), "{why:?}");
}

#[test]
fn a_step_whose_read_failed_or_that_ran_a_command_is_done_again() {
    let world = World::new();
    let call = |step: &str, name: &str, args: serde_json::Value| json!({"when": {"step": step, "turn": 0}, "answer": {"calls": [{"name": name, "args": args}]}});
    let rules = [
        call("find", "read_file", json!({"path": "later.txt"})),
        call("tell", "run_command", json!({"command": "true"})),
        says("find", "nothing"),
        says("tell", "the story"),
    ];
    let model = world.script("s.json", &planned(&two_steps(), &rules));
    world.updraft(&["run", "--yes", "--model", &model, "tell me"]).code(0);
    let why = again(&world, &[]);
    assert!(why.iter().all(Option::is_some), "{why:?}");
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
