//! Several tries of one step, in copies of the workspace or by several models: the best is kept, nothing else is changed.

use serde_json::{Value, json};

use crate::world::World;

fn write(content: &str) -> Value {
    json!({"calls": [{"name": "write_file", "args": {"path": "answer.txt", "content": content}},
                     {"name": "write_file", "args": {"path": "notes/why.txt", "content": content}}]})
}

/// Three tries that write 41, 42 and 43; the chooser is for the test to say.
fn script(world: &World, chooser: &[Value]) -> String {
    let mut rules = vec![
        json!({"when": {"step": "coder.1", "turn": 0}, "answer": write("41\n")}),
        json!({"when": {"step": "coder.2", "turn": 0}, "answer": write("42\n")}),
        json!({"when": {"step": "coder.3", "turn": 0}, "answer": write("43\n")}),
        json!({"when": {"step": "coder.1"}, "answer": {"text": "it is 41"}}),
        json!({"when": {"step": "coder.2"}, "answer": {"text": "it is 42"}}),
        json!({"when": {"step": "coder.3"}, "answer": {"text": "it is 43"}}),
    ];
    rules.extend(chooser.iter().cloned());
    world.script("tries.json", &json!({"rules": rules}))
}

fn content(world: &World, name: &str) -> Option<String> {
    std::fs::read_to_string(world.ws().join(name)).ok()
}

fn copies(world: &World) -> usize {
    std::fs::read_dir(world.home().join("copies")).map_or(0, Iterator::count)
}

#[test]
fn the_first_candidate_that_passes_the_tests_is_kept_and_the_others_leave_no_trace() {
    let world = World::new();
    world.file("answer.txt", "0\n");
    let model = script(&world, &[]);
    let run =
        ["run", "--model", &model, "--agent", "coder", "--candidates", "3", "--tests", "grep -qx 42 answer.txt", "go"];
    assert_eq!(world.updraft(&run).code(0).out, "it is 42\n");
    assert_eq!(content(&world, "answer.txt").as_deref(), Some("42\n"));
    assert_eq!(content(&world, "notes/why.txt").as_deref(), Some("42\n"));
    assert_eq!(copies(&world), 0);
    world.updraft(&["replay", "last", "--strict"]).code(0);
    // Undo knows of the kept changes only.
    world.updraft(&["undo", "last", "--yes"]).code(0);
    assert_eq!((content(&world, "answer.txt").as_deref(), content(&world, "notes/why.txt")), (Some("0\n"), None));
}

#[test]
fn if_no_candidate_passes_the_run_fails_and_the_folder_is_as_it_was() {
    let world = World::new();
    let model = script(&world, &[]);
    let run =
        ["run", "--model", &model, "--agent", "coder", "--candidates", "3", "--tests", "grep -qx 7 answer.txt", "go"];
    world.updraft(&run).code(1).says("no candidate passes");
    assert_eq!(content(&world, "answer.txt"), None);
    assert_eq!(copies(&world), 0);
}

#[test]
fn a_judge_compares_the_candidates_and_must_keep_one() {
    let world = World::new();
    // The name of a candidate begins with the run's id, which `--id` sets.
    let third = json!({"name": "keep_candidate", "args": {"candidate": "the-run/coder.3"}});
    let diff = json!({"name": "candidate_diff", "args": {"candidate": "the-run/coder.3"}});
    let judge = [
        json!({"when": {"step": "coder", "turn": 0}, "answer": {"text": "all are fine"}}),
        json!({"when": {"step": "coder", "turn": 1, "contains": "none of the candidates was kept"}, "answer": {"calls": [diff]}}),
        json!({"when": {"step": "coder", "turn": 2, "contains": "+43"}, "answer": {"calls": [third]}}),
        json!({"when": {"step": "coder", "has_result": "keep_candidate"}, "answer": {"text": "43 is best"}}),
    ];
    let model = script(&world, &judge);
    let run = ["run", "--id", "the-run", "--model", &model, "--agent", "coder", "--candidates", "3", "go"];
    assert_eq!(world.updraft(&run).code(0).out, "43 is best\n");
    assert_eq!(content(&world, "answer.txt").as_deref(), Some("43\n"));
}

#[test]
fn a_file_that_somebody_changed_meanwhile_is_not_overwritten() {
    let world = World::new();
    world.file("answer.txt", "0\n");
    // A plan in which another step changes the same file before the choice.
    let plan = json!({"steps": [
        {"id": "fix", "agent": "coder", "prompt": "fix it", "candidates": 2, "tests": "true", "writes": ["fixed"]},
        {"id": "meddle", "agent": "coder", "prompt": "meddle", "after": ["fix.1", "fix.2"], "writes": ["meddled"]},
    ]});
    let plan = world.file("plan.json", &plan.to_string());
    world.updraft(&["run", "--plan", plan.to_str().unwrap(), "go"]).code(2).says("no such step");

    let slow = json!({"rules": [
        {"when": {"step": "fix.1", "turn": 0}, "answer": write("1\n")},
        {"when": {"step": "fix.2", "turn": 0}, "answer": write("2\n")},
        {"when": {"step": "fix.2", "turn": 1}, "answer": {"calls": [{"name": "ask_user", "args": {"question": "go on?"}}]}},
    ], "default": {"text": "done"}});
    let model = world.script("slow.json", &slow);
    let plan =
        json!({"steps": [{"id": "fix", "agent": "fixer", "prompt": "fix it", "candidates": 2, "tests": "true"}]});
    world.config("agents/fixer.md", "---\npurpose: Fixes.\ntools: [files, ask_user]\n---\nFix.\n");
    let plan = world.file("plan.json", &plan.to_string());
    world.updraft(&["run", "--model", &model, "--plan", plan.to_str().unwrap(), "go"]).code(3);
    world.file("answer.txt", "theirs\n");
    let run = world.last();
    world.updraft(&["answer", &run, "yes"]).code(0);
    world.updraft(&["resume", &run]).code(1).says("others have changed `answer.txt`");
    assert_eq!(content(&world, "answer.txt").as_deref(), Some("theirs\n"));
    assert_eq!(content(&world, "notes/why.txt"), None);
}

#[test]
fn candidates_survive_a_kill() {
    let world = World::new();
    let mut rules = vec![
        json!({"when": {"step": "coder.1", "turn": 0}, "answer": write("1\n")}),
        json!({"when": {"step": "coder.2", "turn": 0}, "answer": write("2\n")}),
    ];
    rules.push(json!({"when": {"step": "coder.2", "turn": 1}, "answer": {"text": "two", "delay_ms": 60000}}));
    let model = world.script("slow.json", &json!({"rules": rules, "default": {"text": "one"}}));
    let run =
        ["run", "--model", &model, "--agent", "coder", "--candidates", "2", "--tests", "grep -qx 2 answer.txt", "go"];
    let begun = world.begin(&run);
    World::until("the second candidate has written", || {
        let copies = world.home().join("copies");
        let runs = std::fs::read_dir(copies).into_iter().flatten().flatten();
        runs.into_iter().any(|run| run.path().join("coder.2/notes/why.txt").is_file())
            && world.updraft(&["events", "last"]).out.contains("coder.2/0/1/ask")
    });
    drop(begun);
    assert_eq!(content(&world, "answer.txt"), None);
    rules.truncate(2);
    world.script("slow.json", &json!({"rules": rules, "default": {"text": "two"}}));
    assert_eq!(world.updraft(&["resume", "last"]).code(0).out, "two\n");
    assert_eq!(content(&world, "answer.txt").as_deref(), Some("2\n"));
    assert_eq!(copies(&world), 0);
}

#[test]
fn a_candidate_that_fails_does_not_fail_the_step() {
    let world = World::new();
    let rules = json!({"rules": [
        {"when": {"step": "coder.1"}, "answer": {"json": {"error": "cannot"}}},
        {"when": {"step": "coder.2", "turn": 0}, "answer": write("2\n")},
    ], "default": {"text": "two"}});
    let model = world.script("fails.json", &rules);
    let run = ["run", "--model", &model, "--agent", "coder", "--candidates", "2", "--tests", "true", "go"];
    assert_eq!(world.updraft(&run).code(0).out, "two\n");
    assert_eq!(content(&world, "answer.txt").as_deref(), Some("2\n"));
}

#[test]
fn several_models_are_asked_the_same_and_the_chooser_joins_their_answers() {
    let world = World::new();
    let priced = |text: &str| {
        json!({"rules": [], "default": {"text": text, "usage": {"input": 10, "output": 10}},
                                      "price": {"input": 1.0, "output": 1.0}})
    };
    let (one, two) = (world.script("one.json", &priced("seven")), world.script("two.json", &priced("eight")));
    let chooser = json!({"rules": [{"when": {"contains": "\"thinker_1\":\"seven\",\"thinker_2\":\"eight\""},
                                    "answer": {"text": "seven or eight", "usage": {"input": 10, "output": 10}}}],
                         "price": {"input": 1.0, "output": 1.0}});
    let main = world.script("main.json", &chooser);
    let config = format!("model = {main:?}\n[profiles.a]\nmodel = {one:?}\n[profiles.b]\nmodel = {two:?}\n");
    world.config("config.toml", &config);
    let run = ["run", "--agent", "thinker", "--models", "a,b", "--budget", "1", "how many?"];
    assert_eq!(world.updraft(&run).code(0).out, "seven or eight\n");
    let shown = world.updraft(&["show", "last", "--json"]).value();
    assert!(shown["steps"].as_array().unwrap().len() == 3, "{shown}");
    assert_eq!(copies(&world), 0);
    world.updraft(&["replay", "last", "--strict"]).code(0);

    // A plan may name them, too; one that is not set up is refused before anything begins.
    let plan = json!({"steps": [{"id": "ask", "agent": "thinker", "prompt": "how many?", "models": ["a", "nobody"]}]});
    let plan = world.file("plan.json", &plan.to_string());
    world.updraft(&["run", "--plan", plan.to_str().unwrap(), "go"]).code(2).says("`nobody`, which is not set up");
}

#[test]
fn a_plan_shows_its_tries_and_can_be_carried_out_from_its_file() {
    let world = World::new();
    let steps = json!([{"id": "fix", "agent": "coder", "description": "Fix it", "prompt": "fix it", "candidates": 2,
                        "tests": "grep -qx 2 answer.txt"}]);
    let rules = json!({"rules": [
        {"when": {"agent": "planner"}, "answer": {"json": {"steps": steps}}},
        {"when": {"step": "fix.1", "turn": 0}, "answer": write("1\n")},
        {"when": {"step": "fix.2", "turn": 0}, "answer": write("2\n")},
    ], "default": {"text": "two"}});
    let model = world.script("s.json", &rules);
    let table = world.updraft(&["run", "--plan-only", "--model", &model, "go"]).code(0).out;
    assert!(table.contains("(try 1 of 2) [in a copy of the workspace]"), "{table}");
    assert!(table.contains("[the first of fix.1, fix.2 for which `grep -qx 2 answer.txt` succeeds]"), "{table}");
    let plan = world.updraft(&["run", "--plan-only", "--json", "--model", &model, "go"]).code(0).value();
    let step = &plan["steps"][0];
    assert_eq!(
        (plan["steps"].as_array().unwrap().len(), &step["candidates"], &step["id"]),
        (1, &json!(2), &json!("fix"))
    );

    // From the file, and as the edited plan of a run that waits for approval.
    let file = world.file("plan.json", &plan.to_string());
    let file = file.to_str().unwrap();
    assert_eq!(world.updraft(&["run", "--model", &model, "--plan", file, "go"]).code(0).out, "two\n");
    assert_eq!(content(&world, "answer.txt").as_deref(), Some("2\n"));
    std::fs::remove_file(world.ws().join("answer.txt")).unwrap();
    world.updraft(&["run", "--plan-first", "--model", &model, "go"]).code(3);
    world.updraft(&["resume", "last", "--plan", file]).code(0);
    assert_eq!(content(&world, "answer.txt").as_deref(), Some("2\n"));
}
