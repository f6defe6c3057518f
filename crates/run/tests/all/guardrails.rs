//! Guardrails: nothing behind one begins before it has answered, and what it says counts.

use std::sync::Arc;

use crate::support::{World, at, calls, given, gives, plan, says, start};
use serde_json::json;
use updraft_run::{
    Failure, FailureKind, ForkChange, GuardedPoints, Input, Reply, RunId, RunMode, RunSettings, RunStart, Status,
    ToolOutput,
};

fn guarded(mut start: RunStart, input: bool, output: bool) -> RunStart {
    let guards = GuardedPoints { input, output };
    start.settings = Arc::new(RunSettings { guards, ..(*start.settings).clone() });
    start
}

/// What the guardrails say against something.
fn objects(action: &str, why: &str) -> Reply {
    let value = Some(json!({ "passed": false, "action": action }));
    Reply::Output(Arc::new(ToolOutput { text: why.into(), value, is_error: true, ..ToolOutput::default() }))
}

#[test]
fn the_goal_is_checked_before_the_planner_is_asked() {
    let mut world = World::of(guarded(start(RunMode::Plan), true, false))
        .says("plan", [plan(&["a"])])
        .says("a", [says("done")])
        .go();
    assert_eq!(world.open(), ["plan/0/0/guard.0"]);
    world.reply(&at("plan/0/0/guard.0"), gives("passed: tone"));
    world.work();
    assert_eq!((world.run.status(), world.answer().as_str()), (Status::Done, "done"));
}

#[test]
fn a_goal_that_is_stopped_asks_no_model_and_starts_no_step() {
    let mut world = World::of(guarded(given(&["a", "b", "c < a b"]), true, false)).go();
    assert_eq!(world.open(), ["a/0/0/guard.0"], "only one check, and nothing beside it");
    world.reply(&at("a/0/0/guard.0"), objects("stop", "the guardrail `secrets`: it contains a secret"));
    insta::assert_snapshot!(world.last(), @r#"
    a/0/0/guard.0 gives the guardrail `secrets`: it contains a secret
    a failed (guardrail): the guardrail `secrets`: it contains a secret
    c skipped because of a
    a judged: "give_up"
    b failed (guardrail): the guardrail `secrets`: it contains a secret
    b judged: "give_up"
    finished:  [guardrail: step `a` failed: the guardrail `secrets`: it contains a secret]
    "#);
    assert_eq!(world.run.ledger().turns, 0);
}

#[test]
fn an_answer_is_sent_back_and_only_what_passes_is_used() {
    let mut world = World::of(guarded(given(&["a", "b < a"]), false, true))
        .says("a", [says("too long"), says("short")])
        .says("b", [says("end")])
        .go();
    assert_eq!(world.open(), ["a/0/0/guard.0"], "the next step waits for the check");
    world.reply(&at("a/0/0/guard.0"), objects("correct", "the guardrail `length`: at most 5 characters"));
    world.work();
    world.reply(&at("a/0/1/guard.0"), gives("passed"));
    world.work();
    world.reply(&at("b/0/0/guard.0"), gives("passed"));
    assert_eq!((world.run.status(), world.answer().as_str()), (Status::Done, "end"));
    assert!(
        world.transcript().contains("tells a: {\"unfit\":{\"what\":\"the guardrail `length`: at most 5 characters\"}}")
    );
}

#[test]
fn an_answer_that_never_passes_or_cannot_be_checked_fails_its_step() {
    let mut world = World::of(guarded(given(&["a"]), false, true)).says("a", [says("x"), says("y"), says("z")]).go();
    for turn in 0..3 {
        world.reply(&at(&format!("a/0/{turn}/guard.0")), objects("correct", "no"));
        world.work();
    }
    assert_eq!(world.run.status(), Status::Failed);
    let mut world = World::of(guarded(given(&["a"]), false, true)).says("a", [says("x")]).go();
    world.reply(&at("a/0/0/guard.0"), Reply::Failed(Failure::new(FailureKind::Tool, "it crashed")));
    assert!(world.last().contains("a failed (guardrail): the guardrails could not be checked: failed: it crashed"));
}

#[test]
fn a_person_who_is_asked_decides() {
    for (said, status) in [("yes", Status::Done), ("no", Status::Failed)] {
        let mut world = World::of(guarded(given(&["a"]), true, true)).says("a", [says("x")]).go();
        world.reply(&at("a/0/0/guard.0"), objects("ask", "it is odd"));
        assert_eq!((world.run.status(), world.open()), (Status::Waiting, vec!["a/0/0/guard.1".to_owned()]));
        world.feed(updraft_run::Input::Answer { id: None, text: said.into() });
        world.gives.insert("check_guardrails".into(), gives("passed"));
        world.work();
        assert_eq!(world.run.status(), status);
    }
}

#[test]
fn a_call_that_a_guardrail_stops_ends_its_step() {
    let stopped = Failure::new(FailureKind::Guardrail, "the guardrail `pushes` does not allow this call");
    let world = World::of(given(&["a"])).says("a", [calls(&["send x"])]).gives("send", Reply::Failed(stopped)).go();
    assert!(world.transcript().contains("a failed (guardrail): the guardrail `pushes` does not allow this call"));
}

#[test]
fn another_goal_is_checked_again() {
    let mut world = World::of(guarded(given(&["a", "b < a"]), true, false)).go();
    world.reply(&at("a/0/0/guard.0"), gives("passed"));
    let change = ForkChange { goal: Some("another goal".into()), ..ForkChange::default() };
    world.feed(Input::Fork { from: RunId::parse("original").unwrap(), at: 1, change: Box::new(change) });
    world.says.insert("a".into(), vec![says("A")]);
    world.work();
    assert_eq!(world.open(), ["b/0/0/guard.0"]);
}

#[test]
fn whoever_takes_a_run_over_has_its_goal_and_answers_checked_by_guardrails_of_their_own() {
    let start = guarded(given(&["a"]), true, false);
    let mut world = World::of(start.clone()).says("a", [says("unread"), says("A")]);
    world.reply(&at("a/0/0/guard.0"), gives("passed where it came from"));
    world.feed(Input::Import);
    let settings = Arc::clone(&guarded(start, true, true).settings);
    world.feed(Input::Adopt { settings });
    world.feed(Input::Resume { budget: None, approvals: None });
    assert_eq!(world.open(), ["a/1/0/guard.0"], "the goal is checked again");
    world.reply(&at("a/1/0/guard.0"), gives("passed"));
    world.work();
    assert_eq!(world.open(), ["a/1/0/guard.0"], "the answer is checked");
}
