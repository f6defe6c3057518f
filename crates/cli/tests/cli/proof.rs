//! Requirements: checked at the end, sent back, shown with their evidence, and stale once a file changes.

use serde_json::{Value, json};

use super::world::World;

fn writes(path: &str, content: &str) -> Value {
    json!({"name": "write_file", "args": {"path": path, "content": content}})
}

/// A coder that writes the wrong sum first, and the right one when it is told what the check said.
fn fixing(world: &World) -> String {
    let rules = json!({"rules": [
        {"when": {"turn": 0, "contains": "ended with exit code 1"}, "answer": {"calls": [writes("sum.txt", "42\n")]}},
        {"when": {"turn": 0}, "answer": {"calls": [writes("sum.txt", "41\n")]}},
    ], "default": {"text": "the sum is written"}});
    world.script("fixing.json", &rules)
}

#[test]
fn a_failing_check_is_fixed_and_the_evidence_is_shown_until_it_is_stale() {
    let world = World::new();
    let model = fixing(&world);
    let requires = ["--require", "`grep -q 42 sum.txt` passes", "--require", "file sum.txt exists"];
    let args = [&["run", "--model", &model, "--agent", "coder", "--yes"][..], &requires, &["write the sum"]].concat();
    let ran = world.updraft(&args).code(0);
    assert_eq!(ran.out, "the sum is written\n");
    let ran = ran
        .says("requires `grep -q 42 sum.txt` passes: `grep -q 42 sum.txt` must succeed")
        .says("↻ coder again: - `grep -q 42 sum.txt` passes: `grep -q 42 sum.txt` ended with exit code 1")
        .says("✓ `grep -q 42 sum.txt` passes: exit code 0 (proof/1/0/call.0)")
        .says("✓ file sum.txt exists: SHA-256 084c799cd551")
        .says("done in");
    assert!(!ran.err.contains("unproved"), "{}", ran.err);
    assert_eq!(world.runs()[0]["status"], "done");
    let id = world.last();
    world.updraft(&["replay", &id]).code(0);
    let shown = world.updraft(&["show", &id, "--proof"]).code(0).out;
    let hash = shown.split("output SHA-256 ").nth(1).unwrap().lines().next().unwrap().to_owned();
    insta::assert_snapshot!(shown.replace(&hash, "HASH"), @r"
    proved  `grep -q 42 sum.txt` passes
      `grep -q 42 sum.txt` must succeed
      `grep -q 42 sum.txt` exit code 0 (proof/1/0/call.0)
        output SHA-256 HASH
    proved  file sum.txt exists
      the file `sum.txt` must exist
      sum.txt SHA-256 084c799cd551 (proof/1/1/call.0)
    ");
    world.file("target/cache.txt", "made by somebody's build\n");
    assert_eq!(world.updraft(&["show", &id, "--proof"]).code(0).out.matches("stale").count(), 0);
    world.file("other.txt", "which the command may have read\n");
    let shown = world.updraft(&["show", &id, "--proof"]).code(0).out;
    assert_eq!(shown.matches("stale: other.txt changed since").count(), 1, "{shown}");
    world.file("sum.txt", "43\n");
    let shown = world.updraft(&["show", &id, "--proof"]).code(0).out;
    assert_eq!(shown.matches("stale: sum.txt changed since").count(), 2, "{shown}");
    let proof = world.updraft(&["show", &id, "--proof", "--json"]).code(0).value();
    assert_eq!(proof["status"], "done");
    let states: Vec<&Value> = proof["requirements"].as_array().unwrap().iter().map(|one| &one["state"]).collect();
    assert_eq!(states, ["stale", "stale"]);
    assert_eq!(proof["requirements"][0]["evidence"][0]["exit"], 0);
    assert_eq!(proof["requirements"][0]["evidence"][0]["output_sha256"].as_str().unwrap().len(), 64);
    std::fs::rename(world.ws(), world.home().join("moved")).unwrap();
    let mut show = world.command(&["show", &id, "--proof"]);
    let shown = crate::world::Ran::of(show.current_dir(world.home()).output().unwrap()).code(0).out;
    assert_eq!(shown.matches("the workspace cannot be opened").count(), 2, "{shown}");
}

#[test]
fn what_is_not_met_ends_as_not_done_and_what_nothing_shows_as_unproved() {
    let world = World::new();
    let model = world.script("s.json", &json!({"default": {"text": "I did it, surely."}}));
    let run = |requires: &[&str]| {
        let args = [&["run", "--model", &model, "--agent", "coder", "--yes"][..], requires, &["do it"]].concat();
        world.updraft(&args)
    };
    let ran = run(&["--require", "file report.md exists"]).code(1);
    assert_eq!(ran.out, "I did it, surely.\n");
    ran.says("is not done: 1 of 1 requirement is not met: file report.md exists").says("✗ file report.md exists:");
    assert_eq!(world.runs()[0]["status"], "not_done");
    assert!(world.updraft(&["runs"]).out.contains("not done"));
    assert!(world.updraft(&["show", "last"]).out.contains("not done: 1 of 1 requirement is not met"));

    let ran = run(&["--require", "it is kind"]).code(0);
    ran.says("requires it is kind: a model looks for the evidence in what was done")
        .says("? it is kind: the model that was asked named no evidence")
        .says("done, unproved, in");
    assert_eq!(world.runs()[0]["status"], "unproved");
    assert!(world.updraft(&["runs"]).out.contains("done, unproved"));
    let unproved = world.updraft(&["runs", "--status", "unproved", "--json"]).json();
    assert_eq!(unproved.len(), 1);

    let ended = run(&["--require", "it is kind", "--json"]).code(0).json();
    let finished = ended.iter().find(|event| event["type"] == "run.finished").unwrap();
    assert_eq!((&finished["status"], &finished["requirements"][0]["state"]), (&json!("unproved"), &json!("unproved")));
    assert!(ended.iter().any(|event| event["type"] == "run.proved"));
}

#[test]
fn a_check_that_was_killed_in_the_middle_is_made_again() {
    let world = World::new();
    let model = world.script("s.json", &json!({"default": {"text": "done"}}));
    let wait = "command: test -e go || sleep 120";
    let run = world.begin(&["run", "--model", &model, "--agent", "coder", "--yes", "--require", wait, "do it"]);
    let begun = || {
        let events = world.updraft(&["events", "last", "--json"]);
        events.code == 0 && events.json().iter().any(|event| event["event"]["begun"]["id"] == "proof/0/0/call.0")
    };
    World::until("the check has begun", begun);
    run.signal("KILL");
    run.wait();
    world.file("go", "");
    let id = world.last();
    world.updraft(&["resume", &id]).code(0).says("exit code 0 (proof/0/1/call.0)").says("done in");
    assert_eq!(world.runs()[0]["status"], "done");
    world.updraft(&["replay", &id]).code(0);
}

#[test]
fn a_planner_names_requirements_and_a_schema_is_checked() {
    let world = World::new();
    let schema = json!({"type": "object", "required": ["total"], "properties": {"total": {"type": "integer"}}});
    world.file("schema.json", &schema.to_string());
    let plan = json!({
        "steps": [{"id": "sum", "agent": "coder", "prompt": "sum", "writes": ["figures"]}],
        "requirements": ["report.json fits schema.json", "variable figures fits schema.json"],
    });
    let rules = json!({"rules": [
        {"when": {"agent": "planner"}, "answer": {"json": plan}},
        {"when": {"turn": 0, "contains": "does not fit"}, "answer": {"calls": [writes("report.json", "{\"total\": 3}")]}},
        {"when": {"turn": 0}, "answer": {"calls": [writes("report.json", "{\"total\": \"three\"}")]}},
    ], "default": {"json": {"figures": {"total": 3}}}});
    let model = world.script("s.json", &rules);
    let ran = world.updraft(&["run", "--model", &model, "--yes", "sum it"]).code(0);
    ran.says("requires report.json fits schema.json: the file `report.json` must fit `schema.json`")
        .says("↻ sum again: - report.json fits schema.json: `report.json` does not fit `schema.json`: ")
        .says("✓ report.json fits schema.json: SHA-256")
        .says("✓ variable figures fits schema.json");
    assert!(world.updraft(&["show", "last", "--proof"]).out.contains("(from the goal)"));
}

#[test]
fn a_checker_says_after_an_edit_what_is_wrong() {
    let world = World::new();
    world.config("config.toml", "checks = [\"grep -q end b.txt || { echo b.txt has no end; exit 1; }\"]\n");
    let rules = json!({"rules": [
        {"when": {"turn": 0}, "answer": {"calls": [writes("b.txt", "begin\n"), writes("c.txt", "c\n")]}},
        {"when": {"contains": "stdout:\nb.txt has no end"}, "answer": {"calls": [writes("b.txt", "end\n")]}},
    ], "default": {"text": "written"}});
    let model = world.script("s.json", &rules);
    world.updraft(&["run", "--model", &model, "--agent", "coder", "--yes", "write it"]).code(0);
    assert_eq!(std::fs::read_to_string(world.ws().join("b.txt")).unwrap(), "end\n");
    let events = world.updraft(&["events", "last", "--json"]).out;
    assert_eq!(events.matches("found problems]").count(), 1, "once for both edits of the turn: {events}");
    assert_eq!(events.matches("found nothing]").count(), 1);
}

#[test]
fn with_assume_nobody_is_asked_and_the_summary_says_what_was_assumed() {
    let world = World::new();
    let ask = json!({"name": "ask_user", "args": {"question": "Which port?", "assumption": "8080"}});
    let model = world.script("s.json", &json!([{"calls": [ask]}, {"text": "It listens on 8080 (assumed)."}]));
    let run = |more: &[&str]| {
        world.updraft(&[&["run", "--model", &model, "--agent", "clarification"][..], more, &["serve"]].concat())
    };
    run(&[]).code(3).says("Which port?");
    run(&["--assume"]).code(0).says("assumed  8080 (Which port?)");
    let ended = run(&["--assume", "--json"]).code(0).json();
    let finished = ended.iter().find(|event| event["type"] == "run.finished").unwrap();
    assert_eq!(finished["assumptions"][0]["assumption"], "8080");
}
