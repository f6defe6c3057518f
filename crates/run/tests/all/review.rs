//! Reviews: what each verdict leads to, whatever the variable is called and however the run was started.

#![allow(clippy::unwrap_used, reason = "a broken script shall stop the test")]

use std::sync::Arc;

use crate::support::{World, at, cancel_step, given, model_fails, plan, says, start};
use serde_json::{Value, json};
use updraft_run::{RunMode, RunStart};

const WORDS: [&str; 4] = ["accept", "retry", "pivot", "replan"];
const NAMES: [&str; 3] = ["verdict", "review", "feedback"];

/// The forms in which a verdict is given.
fn forms(word: &str, name: &str) -> [Value; 2] {
    let review = json!({ "verdict": word, "feedback": "too short" });
    [review.clone(), json!({ name: review })]
}

/// A plan that was given: `make` writes `text`, `check` reviews it and writes a variable, `tell` reads both.
fn given_plan(name: &str) -> RunStart {
    let mut start = given(&["make", "check:qa < make", "tell < check"]);
    let steps = &mut Arc::make_mut(start.plan.as_mut().unwrap()).steps;
    steps[0].writes = vec!["text".into()];
    steps[1].reads = vec!["text".into()];
    steps[1].writes = vec![name.into()];
    steps[2].reads = vec!["text".into(), name.into()];
    start
}

#[test]
fn every_verdict_leads_somewhere_whatever_the_variable_is_called() {
    for name in NAMES {
        for word in WORDS {
            for form in forms(word, name) {
                let world = World::of(given_plan(name))
                    .says("make", [says("first"), says("second")])
                    .says("check", [says(&form.to_string()), says("{\"verdict\": \"accept\", \"feedback\": \"\"}")])
                    .says("tell", [says("told")])
                    .go();
                let story = world.transcript();
                let way = match word {
                    "accept" => "make done\n",
                    "retry" => "make judged: {\"retry\":{\"feedback\":\"too short\"}}",
                    _ => "make judged: {\"pivot\":{\"feedback\":\"too short\"}}",
                };
                assert!(story.contains(way), "{name} {form}\n{story}");
                let made = if word == "accept" { "first" } else { "second" };
                assert_eq!(world.run.variables()["text"].value.as_str(), Some(made), "{name} {form}");
                assert_eq!((world.run.status_word(), world.answer().as_str()), ("done", "told"), "{name} {form}");
            }
        }
    }
}

#[test]
fn a_result_that_is_rejected_again_and_again_fails_the_run_and_is_no_answer() {
    for word in ["retry", "pivot", "replan"] {
        let verdict = || says(&json!({ "verdict": word, "feedback": "too short" }).to_string());
        let world = World::of(given_plan("verdict"))
            .says("make", [says("1"), says("2"), says("3"), says("4")])
            .says("check", [verdict(), verdict(), verdict(), verdict()])
            .go();
        assert_eq!(world.run.status_word(), "failed", "{}", world.transcript());
        assert_eq!(world.answer(), "");
        let why = "step `make` failed: the review `check` rejected its result: too short";
        assert!(world.transcript().contains(why), "{}", world.transcript());
        assert_eq!(world.status("tell"), "skipped");
    }
}

#[test]
fn replan_goes_to_the_planner_and_the_rejected_result_is_no_part_of_the_answer() {
    let world = World::of(start(RunMode::Plan))
        .says("plan", [plan(&["a", "check:qa < a"]), plan(&["b"])])
        .says("a", [says("A")])
        .says("check", [says("{\"verdict\": \"replan\", \"feedback\": \"another source\"}")])
        .says("b", [says("B")])
        .go();
    insta::assert_snapshot!(world.transcript(), @r#"
    started: the goal
    planned because "goal": plan
    wants plan/0/0/ask.0
    plan/0/0/ask.0 says "{\"steps\":[{\"id\":\"a\",\"agent\":\"thinker\"},{\"id\":\"check\",\"agent\":\"qa\",\"after\":[\"a\"]}]}"
    plan done
    planned because "first": a, check < a
    wants a/0/0/ask.0
    a/0/0/ask.0 says "A"
    a done
    wants check/0/0/ask.0
    check/0/0/ask.0 says "{\"verdict\": \"replan\", \"feedback\": \"another source\"}"
    a judged: {"reject":{"by":"check","why":"another source"}}
    check judged: {"replan":{"why":"the review `check` rejected the result of `a`: another source"}}
    wants plan/1/0/ask.0
    plan/1/0/ask.0 says "{\"steps\":[{\"id\":\"b\",\"agent\":\"thinker\"}]}"
    plan done
    planned because {"failed":"check"}: b
    wants b/0/0/ask.0
    b/0/0/ask.0 says "B"
    b done
    finished: B
    "#);
    assert_eq!(world.run.status_word(), "done");
}

#[test]
fn a_new_plan_may_build_on_the_rejected_result() {
    let world = World::of(start(RunMode::Plan))
        .says("plan", [plan(&["a", "check:qa < a"]), plan(&["b < a"])])
        .says("a", [says("A")])
        .says("check", [says("{\"verdict\": \"replan\", \"feedback\": \"longer\"}")])
        .says("b", [says("B")])
        .go();
    assert_eq!((world.run.status_word(), world.answer().as_str()), ("done", "B"));
}

#[test]
fn retry_goes_to_the_latest_of_the_steps_that_made_the_result() {
    let mut start = given(&["find", "make < find", "check:reviewer < make find"]);
    let steps = &mut Arc::make_mut(start.plan.as_mut().unwrap()).steps;
    steps[0].writes = vec!["facts".into()];
    steps[1].writes = vec!["text".into()];
    steps[2].reads = vec!["facts".into(), "text".into()];
    let world = World::of(start)
        .says("find", [says("facts")])
        .says("make", [says("one"), says("two")])
        .says(
            "check",
            [
                says("{\"verdict\": \"retry\", \"feedback\": \"x\"}"),
                says("{\"verdict\": \"accept\", \"feedback\": \"\"}"),
            ],
        )
        .go();
    assert_eq!(world.answer(), "two", "{}", world.transcript());
    assert_eq!((world.step("find").visit, world.step("make").visit, world.step("check").visit), (0, 1, 1));
}

#[test]
fn what_was_built_on_a_result_that_is_made_again_is_built_again() {
    // `sum` reads the text beside the review and is done before the review sends the text back.
    let mut start = given(&["make", "sum < make", "check:qa < make sum", "tell < check sum"]);
    let steps = &mut Arc::make_mut(start.plan.as_mut().unwrap()).steps;
    steps[0].writes = vec!["text".into()];
    steps[1].reads = vec!["text".into()];
    steps[1].writes = vec!["sum".into()];
    steps[2].reads = vec!["text".into()];
    let world = World::of(start)
        .says("make", [says("one"), says("two")])
        .says("sum", [says("sum of one"), says("sum of two")])
        .says(
            "check",
            [
                says("{\"verdict\": \"retry\", \"feedback\": \"x\"}"),
                says("{\"verdict\": \"accept\", \"feedback\": \"\"}"),
            ],
        )
        .says("tell", [says("told")])
        .go();
    assert_eq!(world.run.variables()["sum"].value.as_str(), Some("sum of two"), "{}", world.transcript());
    assert_eq!((world.run.status_word(), world.answer().as_str()), ("done", "told"));
}

#[test]
fn a_step_at_work_on_an_input_that_is_made_again_is_entered_again() {
    let mut start = given(&["make", "slow < make", "check:qa < make"]);
    let steps = &mut Arc::make_mut(start.plan.as_mut().unwrap()).steps;
    steps[0].writes = vec!["text".into()];
    steps[1].reads = vec!["text".into()];
    steps[2].reads = vec!["text".into()];
    let mut world = World::of(start);
    world.reply(&at("make/0/0/ask.0"), says("one"));
    world.reply(&at("check/0/0/ask.0"), says("{\"verdict\": \"retry\", \"feedback\": \"x\"}"));
    assert_eq!(world.open(), ["make/1/0/ask.0", "slow/0/0/ask.0"]);
    world.reply(&at("slow/0/0/ask.0"), says("read one"));
    assert_eq!(world.status("slow"), "pending");
    world.reply(&at("make/1/0/ask.0"), says("two"));
    assert_eq!(world.open(), ["check/1/0/ask.0", "slow/1/0/ask.0"]);
}

#[test]
fn a_step_that_fails_when_it_is_made_again_takes_its_review_with_it() {
    let world = World::of(start(RunMode::Plan))
        .says("plan", [plan(&["a", "check:qa < a"]), plan(&["b"])])
        .says("a", [says("A"), model_fails("gone")])
        .says("check", [says("{\"verdict\": \"retry\", \"feedback\": \"x\"}")])
        .says("b", [says("B")])
        .go();
    assert_eq!((world.run.status_word(), world.answer().as_str()), ("done", "B"), "{}", world.transcript());
}

#[test]
fn a_review_without_a_verdict_is_asked_for_one_and_then_stops_nothing() {
    let world = World::of(given(&["make", "check:reviewer < make"]))
        .says("make", [says("text")])
        .says("check", [says("It is fine."), says("It is fine.")])
        .go();
    assert!(world.transcript().contains("tells check: {\"unfit\":{\"what\":\"it contains no verdict\"}}"));
    assert_eq!(world.run.status_word(), "done");
    let prose = "I would write {\"verdict\": \"retry\"} only for a fault.";
    let world = World::of(given(&["make", "check:reviewer < make"]))
        .says("make", [says("text")])
        .says("check", [says(prose), says(prose)])
        .go();
    assert_eq!((world.run.status_word(), world.step("make").visit), ("done", 0));
}

#[test]
fn a_review_that_rejects_in_words_sends_the_result_back() {
    let world = World::of(given(&["make", "check:reviewer < make"]))
        .says("make", [says("one"), says("two")])
        .says("check", [says("reject: line 3 is wrong"), says("accept")])
        .go();
    assert_eq!((world.step("make").visit, world.answer().as_str()), (1, "two"));
    let transcript = world.transcript();
    assert!(transcript.contains("reject: line 3 is wrong\"") && !transcript.contains("no verdict"), "{transcript}");
}

#[test]
fn an_accepted_result_is_the_answer_word_for_word() {
    let world = World::of(given(&["make", "check:qa < make"]))
        .says("make", [says("  a poem\n")])
        .says("check", [says("{\"verdict\": \"accept\", \"feedback\": \"\"}")])
        .go();
    assert_eq!(world.answer(), "  a poem\n");
}

#[test]
fn one_agent_alone_reviews_in_its_own_words() {
    let review = "{\"verdict\": \"retry\", \"feedback\": \"x\"}";
    let world = World::of(start(RunMode::Agent("reviewer".into()))).says("reviewer", [says(review)]).go();
    assert_eq!((world.run.status_word(), world.answer().as_str()), ("done", review));
}

#[test]
fn a_new_plan_may_read_what_a_step_wrote_before_it_failed_in_its_second_visit() {
    let mut first = crate::support::graph(&["make", "check:qa < make"]);
    first.steps[0].writes = vec!["text".into()];
    first.steps[1].reads = vec!["text".into()];
    let mut second = crate::support::graph(&["mend"]);
    second.steps[0].reads = vec!["text".into()];
    let as_plan = |graph: &updraft_run::Graph| says(&serde_json::to_string(graph).unwrap());
    let world = World::of(start(RunMode::Plan))
        .says("plan", [as_plan(&first), as_plan(&second)])
        .says("make", [says("one"), model_fails("gone")])
        .says("check", [says("{\"verdict\": \"retry\", \"feedback\": \"x\"}")])
        .says("mend", [says("mended")])
        .go();
    assert_eq!((world.run.status_word(), world.answer().as_str()), ("done", "mended"), "{}", world.transcript());
}

#[test]
fn a_review_of_what_no_step_made_is_itself_the_answer() {
    let world = World::of(given(&["look:reviewer"]))
        .says("look", [says("{\"verdict\": \"retry\", \"feedback\": \"line 3 is wrong\"}")])
        .go();
    assert_eq!((world.run.status_word(), world.answer().as_str()), ("done", "line 3 is wrong"));
}

/// `make` writes a text that two others read.
fn two_readers(first: &str, second: &str) -> RunStart {
    let mut start = given(&["make", &format!("{first} < make"), &format!("{second} < make")]);
    let steps = &mut Arc::make_mut(start.plan.as_mut().unwrap()).steps;
    steps[0].writes = vec!["text".into()];
    steps[1].reads = vec!["text".into()];
    steps[2].reads = vec!["text".into()];
    start
}

#[test]
fn a_second_review_of_a_result_that_is_made_again_waits_for_the_new_one() {
    let retry = || says("{\"verdict\": \"retry\", \"feedback\": \"x\"}");
    let mut world = World::of(two_readers("one:qa", "two:reviewer"));
    world.reply(&at("make/0/0/ask.0"), says("first"));
    world.reply(&at("one/0/0/ask.0"), retry());
    world.reply(&at("two/0/0/ask.0"), retry());
    assert_eq!(world.open(), ["make/1/0/ask.0"]);
    assert_eq!((world.status("two"), world.step("make").visit), ("pending", 1));
}

#[test]
fn a_step_at_work_is_entered_again_also_where_the_new_result_is_there_first() {
    let mut world = World::of(two_readers("slow", "check:qa"));
    world.reply(&at("make/0/0/ask.0"), says("one"));
    world.reply(&at("check/0/0/ask.0"), says("{\"verdict\": \"retry\", \"feedback\": \"x\"}"));
    world.reply(&at("make/1/0/ask.0"), says("two"));
    world.reply(&at("slow/0/0/ask.0"), says("read one"));
    assert_eq!(world.open(), ["check/1/0/ask.0", "slow/1/0/ask.0"]);
}

#[test]
fn a_step_that_starts_again_without_its_input_does_not_wait_for_ever() {
    let mut world = World::of(two_readers("slow", "check:qa"));
    world.reply(&at("make/0/0/ask.0"), says("one"));
    world.reply(&at("check/0/0/ask.0"), says("{\"verdict\": \"retry\", \"feedback\": \"x\"}"));
    world.feed(cancel_step("make"));
    world.reply(&at("slow/0/0/ask.0"), says("{\"error\": \"it broke\"}"));
    assert_eq!((world.status("make"), world.status("slow")), ("cancelled", "skipped"), "{}", world.transcript());
    assert!(world.run.is_over(), "{}", world.transcript());
}

#[test]
fn a_review_that_waits_for_a_new_result_is_not_dropped_because_another_step_failed() {
    let mut world = World::of(start(RunMode::Plan));
    world.reply(&at("plan/0/0/ask.0"), plan(&["make", "check:qa < make", "other"]));
    world.reply(&at("make/0/0/ask.0"), says("one"));
    world.reply(&at("check/0/0/ask.0"), says("{\"verdict\": \"retry\", \"feedback\": \"x\"}"));
    world.reply(&at("other/0/0/ask.0"), model_fails("gone"));
    world.reply(&at("plan/1/0/ask.0"), plan(&["instead"]));
    world.reply(&at("make/1/0/ask.0"), says("two"));
    assert_eq!(world.open(), ["check/1/0/ask.0", "instead/0/0/ask.0"]);
}

#[test]
fn what_was_built_on_a_rejected_result_is_no_part_of_the_answer_after_a_new_plan() {
    let world = World::of(start(RunMode::Plan))
        .says("plan", [plan(&["a", "docs < a", "check:qa < a docs"]), plan(&["b"])])
        .says("a", [says("A")])
        .says("docs", [says("docs of A")])
        .says("check", [says("{\"verdict\": \"replan\", \"feedback\": \"x\"}")])
        .says("b", [says("B")])
        .go();
    assert_eq!((world.run.status_word(), world.answer().as_str()), ("done", "B"), "{}", world.transcript());
}
