//! A model that cannot be had: the run stops where it is, and goes on when it is resumed. No step fails by it.

use crate::support::{World, at, calls, given, gives, plan, says, start};
use updraft_run::{BudgetLimit, Failure, FailureKind, Input, Millis, Reply, RunMode, RunPhase};

fn away() -> Reply {
    Reply::Failed(Failure::new(FailureKind::Outage, "nobody answers"))
}

#[test]
fn an_outage_stops_the_run_and_the_question_is_put_again_when_it_is_resumed() {
    let mut world = World::of(given(&["a", "b", "c < a b"]));
    world.reply(&at("a/0/0/ask.0"), away());
    insta::assert_snapshot!(world.last(), @"
    a halted (outage): nobody answers
    exhausted: waiting for a model
    ");
    assert_eq!((world.status("a"), world.status("b")), ("waiting", "running"));
    // What the other step had asked may still be answered.
    world.reply(&at("b/0/0/ask.0"), says("B"));
    assert!(world.run.is_at_rest());
    world.feed(crate::support::resume());
    assert_eq!(world.open(), ["a/0/0/ask.0", "c/0/0/ask.0"].map(str::to_owned)[..1]);
    assert_eq!((world.status("a"), world.status("b")), ("running", "completed"));
    world.reply(&at("a/0/0/ask.0"), says("A"));
    world.reply(&at("c/0/0/ask.0"), says("C"));
    assert_eq!(world.answer(), "C");
}

#[test]
fn no_number_of_outages_and_recoveries_fails_a_step_or_asks_the_planner() {
    let mut world = World::of(start(RunMode::Plan)).says("plan", [plan(&["a"])]).go();
    for _ in 0..9 {
        world.reply(&at("a/0/0/ask.0"), away());
        assert_eq!(*world.run.phase(), RunPhase::Exhausted(BudgetLimit::Model));
        world.recover(Vec::new());
        world.feed(crate::support::resume());
    }
    world.reply(&at("a/0/0/ask.0"), says("A"));
    assert_eq!(world.answer(), "A");
    assert!(!world.transcript().contains("failed") && !world.transcript().contains("judged"));
}

#[test]
fn answers_that_break_off_again_and_again_stop_the_run_too() {
    let mut world = World::of(given(&["a"]));
    let broken = || Reply::InDoubt { evidence: "it broke off".into() };
    for attempt in 1..=4 {
        let id = at("a/0/0/ask.0");
        world.feed(Input::Replied { id, attempt, reply: broken(), prepared: Vec::new() });
    }
    assert_eq!(*world.run.phase(), RunPhase::Exhausted(BudgetLimit::Model), "{}", world.transcript());
    world.feed(crate::support::resume());
    let (id, reply) = (at("a/0/0/ask.0"), says("A"));
    world.feed(Input::Replied { id, attempt: 5, reply, prepared: Vec::new() });
    assert_eq!(world.answer(), "A");
}

#[test]
fn a_model_that_says_nothing_stops_the_run_and_is_asked_again_when_it_is_resumed() {
    let silent = || Reply::TimedOut { limit: Millis(300_000) };
    let mut world = World::of(given(&["a"]));
    for _ in 0..2 {
        world.reply(&at("a/0/0/ask.0"), silent());
        assert!(world.last().contains(" for 300 s; set a longer `silence`"), "{}", world.last());
        assert_eq!(*world.run.phase(), RunPhase::Exhausted(BudgetLimit::Model));
        world.feed(crate::support::resume());
    }
    world.reply(&at("a/0/0/ask.0"), says("A"));
    assert_eq!(world.answer(), "A");
}

#[test]
fn an_outage_of_a_paused_or_cancelled_run_changes_neither() {
    let mut world = World::of(given(&["a"]));
    world.feed(Input::Pause);
    world.reply(&at("a/0/0/ask.0"), away());
    assert_eq!((world.run.phase(), world.run.is_at_rest()), (&RunPhase::Paused, true));
    world.feed(crate::support::resume());
    world.feed(crate::support::cancel());
    world.reply(&at("a/0/0/ask.0"), away());
    assert_eq!(world.run.status_word(), "cancelled");
}

#[test]
fn an_outage_in_the_midst_of_a_conversation_keeps_it() {
    let mut world = World::of(given(&["a"])).says("a", [calls(&["read x"])]).gives("read", gives("the facts")).go();
    world.reply(&at("a/0/1/ask.0"), away());
    world.feed(crate::support::resume());
    insta::assert_snapshot!(world.talk("a"), @r#"
    model: read({"q":"x"})
    tools: the facts
    "#);
    world.reply(&at("a/0/1/ask.0"), says("A"));
    assert_eq!(world.answer(), "A");
}
