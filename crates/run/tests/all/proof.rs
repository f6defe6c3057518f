//! Requirements at the end of a run: checked, sent back when they are not met, and proved again when files change.

#![allow(clippy::unwrap_used, reason = "a broken script shall stop the test")]

use std::sync::Arc;

use crate::support::{World, at, calls, given, gives, gives_value, plan, says, start};
use serde_json::{Value, json};
use updraft_run::{
    ContentHash, EffectClass, Evidence, FileChange, Input, PreparedCall, ProofState, RecoveryFinding, RecoveryOutcome,
    Reply, Requirement, RunMode, RunStart, Status, ToolOutput,
};

fn requiring(start: RunStart, texts: &[&str]) -> RunStart {
    let mut start = start;
    start.goal.requirements = texts.iter().map(|text| Requirement::parse(text)).collect();
    start
}

/// The outcome of a command.
fn exits(code: i64, said: &str) -> Reply {
    let (text, value) = (format!("[exit code {code}, 0.1 s]\nstdout:\n{said}\n"), Some(json!({ "exit_code": code })));
    Reply::Output(Arc::new(ToolOutput { text, value, is_error: code != 0, ..ToolOutput::default() }))
}

/// The outcome of a write to a file.
fn wrote(path: &str, content: u8) -> Reply {
    let change = FileChange { path: path.into(), after: Some(ContentHash([content; 32])), ..FileChange::default() };
    Reply::Output(Arc::new(ToolOutput { text: "written".into(), changes: vec![change], ..ToolOutput::default() }))
}

fn command() -> PreparedCall {
    PreparedCall {
        class: EffectClass::Opaque,
        command: Some("cargo test".into()),
        lists_changes: true,
        ..PreparedCall::default()
    }
}

fn writes(path: &str) -> PreparedCall {
    PreparedCall { class: EffectClass::Checkable, writes: vec![path.into()], ..PreparedCall::default() }
}

/// A world in which step `a` writes a file and is done, and commands and writes are known.
fn world(texts: &[&str]) -> World {
    World::of(requiring(given(&["a"]), texts))
        .prepares("run_command", command())
        .prepares("write", writes("src/a.rs"))
        .gives("write", wrote("src/a.rs", 1))
        .says("a", [calls(&["write x"]), says("done it")])
}

fn states(world: &World) -> Vec<ProofState> {
    world.run.proof().findings.iter().map(|found| found.state).collect()
}

/// A model's answer about requirements in free text.
fn judges(entries: &Value) -> Reply {
    says(&json!({ "requirements": entries }).to_string())
}

#[test]
fn without_requirements_nothing_is_checked() {
    let world = World::of(given(&["a"])).says("a", [says("done")]).go();
    assert_eq!(world.run.status(), Status::Done);
    assert_eq!(world.run.steps().count(), 1);
}

#[test]
fn a_command_that_passes_proves_its_requirement() {
    let mut world = world(&["cargo test passes"]).go();
    world.reply(&at("proof/0/0/call.0"), exits(0, "ok"));
    insta::assert_snapshot!(world.transcript(), @r#"
    started: the goal
    planned because "first": a
    wants a/0/0/ask.0
    a/0/0/ask.0 says write({"q":"x"})
    wants a/0/0/call.0
    a/0/0/call.0 gives written
    wants a/0/1/ask.0
    a/0/1/ask.0 says "done it"
    a done
    planned because "proof": proof < a
    wants proof/0/0/ask.0
    proof/0/0/ask.0 says run_command({"command":"cargo test","seconds":600})
    wants proof/0/0/call.0
    proof/0/0/call.0 gives [exit code 0, 0.1 s]
    stdout:
    ok

    proof finds "proved"
    proof done
    finished: done it
    "#);
    assert_eq!((world.run.status(), world.run.ledger().turns), (Status::Done, 2));
    let found = &world.run.proof().findings[0];
    let Evidence::Call { at: address, what, exit, .. } = &found.evidence[0] else { panic!() };
    assert_eq!((address.to_string().as_str(), what.as_str(), *exit), ("proof/0/0/call.0", "cargo test", Some(0)));
    assert_eq!(world.run.proof().covered(&found.evidence[0]).len(), 1);
}

#[test]
fn a_command_that_fails_sends_the_work_back_with_its_last_lines() {
    let mut world = world(&["cargo test passes"]).says("a", [calls(&["write y"]), says("fixed it")]).go();
    world.gives.insert("write".into(), wrote("src/a.rs", 2));
    world.reply(&at("proof/0/0/call.0"), exits(101, "test sums ... FAILED"));
    world.work();
    let carried = world.records.iter().flat_map(|record| &record.events).find_map(|event| match event {
        updraft_run::Event::Judged { verdict: updraft_run::Judgement::Retry { feedback }, .. } => {
            Some(feedback.clone())
        }
        _ => None,
    });
    insta::assert_snapshot!(carried.unwrap(), @r"
    - cargo test passes: `cargo test` ended with exit code 101
    Its last lines:
    [exit code 101, 0.1 s]
    stdout:
    test sums ... FAILED
    ");
    world.reply(&at("proof/1/0/call.0"), exits(0, "ok"));
    assert_eq!((world.run.status(), world.answer().as_str()), (Status::Done, "fixed it"));
}

#[test]
fn what_is_never_met_ends_the_run_as_not_done() {
    let mut world = world(&["cargo test passes", "be kind"])
        .says("a", [says("again"), says("and again")])
        .says("proof", [judges(&json!([])), judges(&json!([])), judges(&json!([]))]);
    world.work();
    for visit in 0..3 {
        world.reply(&at(&format!("proof/{visit}/0/call.0")), exits(1, "no"));
        world.work();
    }
    assert_eq!(world.run.status(), Status::NotDone);
    assert_eq!(states(&world), [ProofState::Failed, ProofState::Unproved]);
    assert!(world.transcript().ends_with(
        "finished: and again [not_done: 1 of 2 requirements is not met: cargo test passes (`cargo test` ended with exit code 1)]"
    ));
}

#[test]
fn evidence_in_free_text_must_exist_fit_and_be_fresh() {
    let entry = |n: u32, at: &str, quote: &str| json!({ "n": n, "state": "met", "evidence": [{ "at": at, "quote": quote }], "why": "" });
    let texts = ["quoted", "invented address", "invented words", "the answer", "failed call", "no evidence"];
    let mut world = World::of(requiring(given(&["a"]), &texts))
        .gives("read", gives("12 of 12 passed"))
        .gives("fetch", crate::support::fails("no"))
        .says("a", [calls(&["read x", "fetch y"]), says("All parts are here.")]);
    world.says.insert(
        "proof".into(),
        vec![judges(&json!([
            entry(1, "a/0/0/call.0", "12 of 12 passed"),
            entry(2, "a/0/7/call.0", ""),
            entry(3, "a/0/0/call.0", "13 passed"),
            entry(4, "a/0/1/ask.0", "all parts"),
            entry(5, "a/0/0/call.1", ""),
            { "n": 6, "state": "met", "evidence": [], "why": "surely" },
        ]))],
    );
    world.work();
    let why: Vec<String> = world.run.proof().findings.iter().map(|found| found.why.clone()).collect();
    insta::assert_snapshot!(why.join("\n"), @r"

    the evidence named for it does not count: `a/0/7/call.0` is none of the calls and results that were shown
    the evidence named for it does not count: `a/0/0/call.0` does not contain the words quoted from it
    only the agents' own words say so
    the evidence named for it does not count: `a/0/0/call.1` did not succeed
    the model that was asked named no evidence
    ");
    assert_eq!(world.run.status(), Status::Unproved);
    assert_eq!(world.run.proof().findings[3].state, ProofState::Unproved);
}

#[test]
fn a_test_that_ran_before_the_last_change_is_stale_evidence() {
    let met =
        judges(&json!([{ "n": 1, "state": "met", "evidence": [{ "at": "a/0/0/call.0", "quote": "ok" }], "why": "" }]));
    let mut world = World::of(requiring(given(&["a"]), &["the tests were run"]))
        .prepares("run_python", command())
        .prepares("write", writes("src/a.rs"))
        .gives("run_python", exits(0, "ok"))
        .gives("write", wrote("src/a.rs", 1))
        .says("a", [calls(&["run_python"]), calls(&["write"]), says("done")])
        .says("proof", [met]);
    world.work();
    let found = &world.run.proof().findings[0];
    assert_eq!(found.why, "the evidence named for it does not count: `a/0/0/call.0` is stale: src/a.rs changed since");
}

#[test]
fn a_check_that_another_check_makes_stale_is_made_again() {
    let mut world = world(&["cargo test passes", "cargo fmt passes"]).go();
    world.reply(&at("proof/0/0/call.0"), exits(0, "ok"));
    world.work();
    // The second command rewrites the file of the work, so the first must be run again.
    let Reply::Output(output) = exits(0, "formatted") else { panic!() };
    let changes = vec![FileChange {
        path: "src/a.rs".into(),
        before: Some(ContentHash([1; 32])),
        after: Some(ContentHash([3; 32])),
        ..FileChange::default()
    }];
    world.reply(&at("proof/0/1/call.0"), Reply::Output(Arc::new(ToolOutput { changes, ..(*output).clone() })));
    world.work();
    assert_eq!(world.open(), ["proof/0/2/call.0"]);
    world.reply(&at("proof/0/2/call.0"), exits(0, "ok"));
    assert_eq!(states(&world), [ProofState::Proved, ProofState::Proved]);
    assert_eq!(world.run.status(), Status::Done);
}

#[test]
fn files_of_checks_and_caches_make_nothing_stale() {
    let mut world = world(&["cargo test passes", "pytest passes"]).go();
    let with = |path: &str| {
        let Reply::Output(output) = exits(0, "ok") else { panic!() };
        let changes =
            vec![FileChange { path: path.into(), after: Some(ContentHash([9; 32])), ..FileChange::default() }];
        Reply::Output(Arc::new(ToolOutput { changes, ..(*output).clone() }))
    };
    world.reply(&at("proof/0/0/call.0"), with("target/debug/x"));
    world.work();
    world.reply(&at("proof/0/1/call.0"), with("coverage.xml"));
    assert_eq!(world.run.status(), Status::Done, "{}", world.transcript());
}

#[test]
fn a_file_is_looked_at_after_the_commands_and_its_hash_is_kept() {
    let mut world = world(&["file out.txt exists", "make passes", "answer fits s.json"]).go();
    assert_eq!(world.open(), ["proof/0/0/call.0"]);
    world.reply(&at("proof/0/0/call.0"), exits(0, "made"));
    world.gives.insert("check_result".into(), gives_value("there", json!({ "sha256": "abcd" })));
    world.work();
    assert_eq!(states(&world), [ProofState::Proved; 3]);
    assert!(matches!(&world.run.proof().findings[0].evidence[0], Evidence::File { hash, .. } if hash == "abcd"));
}

#[test]
fn a_check_that_was_cut_off_is_made_again() {
    let mut world = world(&["cargo test passes"]).go();
    let id = at("proof/0/0/call.0");
    world.begin(&id);
    let found = RecoveryOutcome::CannotTell("the process ended".into());
    world.recover(vec![RecoveryFinding { id, found }]);
    world.work();
    assert_eq!(world.open(), ["proof/0/1/call.0"]);
    world.reply(&at("proof/0/1/call.0"), exits(0, "ok"));
    assert_eq!(world.run.status(), Status::Done);
}

#[test]
fn a_command_that_nobody_may_run_leaves_the_run_unproved() {
    let mut start = requiring(given(&["a"]), &["cargo test passes"]);
    let settings = updraft_run::RunSettings { deny: vec!["run_command".into()], ..(*start.settings).clone() };
    start.settings = Arc::new(settings);
    let world = World::of(start).prepares("run_command", command()).says("a", [says("done")]).go();
    assert_eq!(world.run.status(), Status::Unproved);
    assert_eq!(
        world.run.proof().findings[0].why,
        "it was not checked: `run_command` is denied by `deny` in the settings"
    );
}

#[test]
fn the_planner_takes_requirements_from_the_goal() {
    let Reply::Answer(planned) = plan(&["a"]) else { panic!() };
    let mut value: Value = serde_json::from_str(&planned.text).unwrap();
    value["requirements"] =
        json!(["cargo test passes", { "text": "a report", "file": "report.md" }, "cargo test passes", 7]);
    let mut world = World::of(requiring(start(RunMode::Plan), &["cargo test passes"]))
        .prepares("run_command", command())
        .says("plan", [says(&value.to_string())])
        .says("a", [says("done")])
        .go();
    assert!(world.transcript().contains("requires `cargo test` must succeed, the file `report.md` must exist"));
    let required: Vec<(String, bool)> =
        world.run.proof().requirements.iter().map(|one| (one.text.clone(), one.derived)).collect();
    assert_eq!(required, [("cargo test passes".to_owned(), false), ("a report".to_owned(), true)]);
    // A program that a planner names and that is not installed says nothing about the work.
    world.reply(&at("proof/0/0/call.0"), exits(0, "ok"));
    world.gives.insert("check_result".into(), exits(1, "there is no file `report.md`"));
    assert!(world.step_on());
}

#[test]
fn citations_must_exist_and_hold() {
    let text = "Late [1].\n\n[1]: docs/tides.md:3 \"Brest comes last\"";
    let read = gives_value("# Tides\n\nBrest comes\nlast.\n", json!({ "path": "docs/tides.md", "start_line": 1 }));
    let world = World::of(requiring(start(RunMode::Agent("thinker".into())), &["citations hold"]))
        .gives("read", read)
        .says("thinker", [calls(&["read docs/tides.md"]), says("No sources."), says(text)])
        .go();
    assert_eq!((world.run.status(), world.answer().as_str()), (Status::Done, text));
    assert!(world.transcript().contains("- citations hold: the answer cites nothing"), "{}", world.transcript());
    assert!(
        matches!(&world.run.proof().findings[0].evidence[0], Evidence::Citation { citation, .. } if citation.n == 1)
    );
}

#[test]
fn a_run_that_fails_otherwise_is_not_checked() {
    let mut world =
        World::of(requiring(given(&["a"]), &["make passes"])).says("a", [crate::support::model_fails("no")]).go();
    assert_eq!(world.run.status(), Status::Failed);
    assert!(world.run.proof().findings.is_empty());
    world.feed(Input::Pause);
}
