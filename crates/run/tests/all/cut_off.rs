//! Answers whose end is missing: cut off at the limit on output, or withheld by the provider.

use std::sync::Arc;

use crate::support::{World, calls, given, gives, id, says, writes};
use serde_json::json;
use updraft_run::{FinishReason, ModelAnswer, Reply, StepSpec, ToolCall};

fn ended(finish: FinishReason, reply: Reply) -> Reply {
    match reply {
        Reply::Answer(answer) => Reply::Answer(Arc::new(ModelAnswer { finish, ..(*answer).clone() })),
        other => other,
    }
}

fn cut(text: &str) -> Reply {
    ended(FinishReason::Length, says(text))
}

/// A step that writes the variable `x`.
fn writing(replies: [Reply; 2]) -> World {
    let mut start = given(&["a"]);
    let spec = StepSpec { writes: vec!["x".into(), "y".into()], ..StepSpec::new(id("a"), "thinker") };
    start.plan = Some(Arc::new(updraft_run::Graph { steps: vec![spec] }));
    World::of(start).says("a", replies).go()
}

#[test]
fn an_answer_that_was_cut_off_is_continued_and_both_parts_are_one() {
    let world = World::of(given(&["a"])).says("a", [cut("The first ha"), says("lf, and the rest.\n")]).go();
    insta::assert_snapshot!(world.transcript(), @r#"
    started: the goal
    planned because "first": a
    wants a/0/0/ask.0
    a/0/0/ask.0 says "The first ha"
    tells a: "cut_off"
    wants a/0/1/ask.0
    a/0/1/ask.0 says "lf, and the rest.\n"
    a done
    finished: The first half, and the rest.
    "#);
}

#[test]
fn an_object_cut_in_two_is_read_as_one_and_half_of_it_never() {
    let world = writing([cut(r#"{"x": [1, 2"#), says(r#"2, 3], "y": "whole"}"#)]);
    let variables = world.run.variables();
    assert_eq!((&*variables["x"].value, &*variables["y"].value), (&json!([1, 22, 3]), &json!("whole")));
    // A model that begins again gives a whole one as well.
    let world = writing([cut(r#"{"x": [1, 2"#), says(r#"{"x": [1], "y": "again"}"#)]);
    let variables = world.run.variables();
    assert_eq!((&*variables["x"].value, &*variables["y"].value), (&json!([1]), &json!("again")));
    let world = writing([cut(r#"{"x": 1, "y": "ha"#), cut("lf")]);
    assert!(world.run.variables().is_empty() && world.status("a") == "failed");
}

#[test]
fn an_answer_whose_continuation_is_cut_off_too_fails_the_step() {
    let world = World::of(given(&["a"])).says("a", [cut("one "), cut("two ")]).go();
    assert_eq!(world.run.status_word(), "failed");
    assert!(world.last().contains("cut off at the limit on output, and so was its continuation"), "{}", world.last());
}

#[test]
fn on_its_last_turn_a_step_whose_answer_was_cut_off_stops_and_goes_on_when_it_is_given_more() {
    let settings = updraft_run::RunSettings { turns: 1, query_turns: 1, ..updraft_run::RunSettings::default() };
    let mut start = given(&["a"]);
    start.settings = Arc::new(settings);
    let world = World::of(start).says("a", [cut("half")]).go();
    assert_eq!(world.status("a"), "waiting");
    assert!(world.last().contains("the answer was cut off at the limit on output"), "{}", world.last());
}

#[test]
fn a_call_that_was_cut_off_is_not_made() {
    let faulty = |reply: Reply| match reply {
        Reply::Answer(answer) => {
            let fault = Some("the answer was cut off at the limit on output".to_owned());
            let calls = answer.calls.iter().map(|call| ToolCall { fault: fault.clone(), ..call.clone() }).collect();
            Reply::Answer(Arc::new(ModelAnswer { calls, finish: FinishReason::Length, ..(*answer).clone() }))
        }
        other => other,
    };
    let world =
        World::of(given(&["a"])).says("a", [faulty(calls(&["read x"])), says("done")]).gives("read", gives("X")).go();
    assert!(!world.transcript().contains("wants a/0/0/call.0"), "{}", world.transcript());
    assert_eq!(world.answer(), "done");
    // Nor is one that was written as text, and is whole only with what followed.
    let text = [r#"{"action": "read", "args": {"q": "#, r#""x"}}"#];
    let world = World::of(given(&["a"]))
        .says("a", [ended(FinishReason::Length, writes(text[0])), writes(text[1]), says("done")])
        .gives("read", gives("X"))
        .go();
    assert!(!world.transcript().contains("call.0 gives"), "{}", world.transcript());
    assert_eq!(world.answer(), "done");
}

#[test]
fn an_object_that_is_begun_again_counts_once_and_lines_of_objects_are_all_kept() {
    let answer = |first: &str, rest: &str| World::of(given(&["a"])).says("a", [cut(first), says(rest)]).go().answer();
    assert_eq!(answer(r#"{"n": 1, "m": "#, r#"{"n": 1, "m": 2}"#), r#"{"n": 1, "m": 2}"#);
    assert_eq!(answer("{\"n\": 1}\n{\"n\": 2}\n", "{\"n\": 3}"), "{\"n\": 1}\n{\"n\": 2}\n{\"n\": 3}");
    assert_eq!(answer(r#"{"a": {"n": 1}, "b": "#, r#"{"n": 2}}"#), r#"{"a": {"n": 1}, "b": {"n": 2}}"#);
}

#[test]
fn what_a_provider_withholds_fails_the_step_with_its_words() {
    let Reply::Answer(answer) = says("I was about to") else { return };
    let withheld = ModelAnswer { finish: FinishReason::Filtered, withheld: "SAFETY".into(), ..(*answer).clone() };
    let world = World::of(given(&["a"])).says("a", [Reply::Answer(Arc::new(withheld))]).go();
    assert_eq!(world.status("a"), "failed");
    let step = world.run.step(&id("a")).unwrap();
    let why = format!("{:?}", step.state);
    assert!(why.contains("the provider withheld the answer (SAFETY), after: I was about to"), "{why}");
}
