//! When steps start: as soon as they may, never before.

use std::sync::Arc;

use crate::support::{World, calls, fails, given, gives, model_fails, says};
use updraft_run::{RunSettings, RunStart};

#[test]
fn a_step_starts_the_moment_its_last_dependency_is_done() {
    let mut world = World::of(given(&["a", "b", "c < a", "d < a b"]));
    assert_eq!(world.open(), ["a/0/0/ask.0", "b/0/0/ask.0"]);

    world.reply(&crate::support::at("a/0/0/ask.0"), says("A"));
    // No barrier: `c` does not wait for `b`.
    assert_eq!(world.open(), ["b/0/0/ask.0", "c/0/0/ask.0"]);

    world.reply(&crate::support::at("b/0/0/ask.0"), says("B"));
    assert_eq!(world.open(), ["c/0/0/ask.0", "d/0/0/ask.0"]);
}

#[test]
fn no_more_steps_are_at_work_than_the_limit_allows() {
    let settings = Arc::new(RunSettings { parallel: 2, ..RunSettings::default() });
    let mut world = World::of(RunStart { settings, ..given(&["a", "b", "c", "d"]) });
    assert_eq!(world.open(), ["a/0/0/ask.0", "b/0/0/ask.0"]);
    world.reply(&crate::support::at("b/0/0/ask.0"), says("B"));
    assert_eq!(world.open(), ["a/0/0/ask.0", "c/0/0/ask.0"]);
}

#[test]
fn a_limit_of_nothing_at_once_still_lets_one_step_work() {
    let settings = Arc::new(RunSettings { parallel: 0, ..RunSettings::default() });
    let world =
        World::of(RunStart { settings, ..given(&["a", "b"]) }).says("a", [says("A")]).says("b", [says("B")]).go();
    assert!(world.run.is_over());
}

#[test]
fn a_failed_step_takes_only_its_descendants_with_it() {
    let world = World::of(given(&["a", "b < a", "c < b", "x", "y < x"]))
        .says("a", [model_fails("no route to the model")])
        .says("x", [says("X")])
        .says("y", [says("Y")])
        .go();
    insta::assert_snapshot!(world.transcript(), @r#"
    started: the goal
    planned because "first": a, b < a, c < b, x, y < x
    wants a/0/0/ask.0
    wants x/0/0/ask.0
    a/0/0/ask.0 gives failed: no route to the model
    a failed (model): no route to the model
    b skipped because of a
    c skipped because of a
    a judged: "give_up"
    x/0/0/ask.0 says "X"
    x done
    wants y/0/0/ask.0
    y/0/0/ask.0 says "Y"
    y done
    finished: Y [model: step `a` failed: no route to the model]
    "#);
}

#[test]
fn a_step_between_two_failures_is_skipped_once() {
    let world = World::of(given(&["a", "b", "c < a b"]))
        .says("a", [model_fails("A is down")])
        .says("b", [model_fails("B is down")])
        .go();
    assert_eq!(world.transcript().matches("c skipped").count(), 1);
    assert!(world.run.is_over());
}

#[test]
fn parallel_calls_run_at_once_and_a_failing_one_blocks_none() {
    let mut world = World::of(given(&["a"]))
        .says("a", [calls(&["read x", "fetch y"]), says("done")])
        .gives("read", gives("X"))
        .gives("fetch", fails("no network"));
    world.step_on();
    assert_eq!(world.open(), ["a/0/0/call.0", "a/0/0/call.1"]);
    world.step_on();
    world.step_on();
    insta::assert_snapshot!(world.talk("a"), @r#"
    model: read({"q":"x"}), fetch({"q":"y"})
    tools: X | failed: no network
    "#);
    world.work();
    assert_eq!(world.answer(), "done");
}
