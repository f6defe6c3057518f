//! From an answer to variables: the ladder, what is missing, and how results are judged.

#![allow(clippy::unwrap_used, reason = "a broken script shall stop the test")]

use std::sync::Arc;

use crate::support::{World, calls, given, gives_value, plan, says, start};
use serde_json::{Value, json};
use updraft_run::{ReflectionMode, RunMode, RunStart};

fn writing(names: &[&str]) -> RunStart {
    let mut start = given(&["a"]);
    Arc::make_mut(start.plan.as_mut().unwrap()).steps[0].writes = names.iter().map(ToString::to_string).collect();
    start
}

fn variable(world: &World, name: &str) -> Value {
    world.run.variables().get(name).map_or(Value::Null, |variable| (*variable.value).clone())
}

fn answered(names: &[&str], answer: &str) -> World {
    World::of(writing(names)).says("a", [says(answer), says("still not"), says("no")]).go()
}

#[test]
fn the_ladder_goes_from_execution_over_keys_and_output_to_the_answer_itself() {
    let executed = World::of(writing(&["x"]))
        .says("a", [calls(&["run_python 1"]), says("{\"x\": 2, \"output\": {\"x\": 3}}")])
        .gives("run_python", gives_value("", json!({ "result": { "x": 1 } })))
        .go();
    assert_eq!(variable(&executed, "x"), 1, "what code gave comes first");
    for (answer, x) in [
        ("{\"execution_result\": {\"x\": 1}, \"x\": 2}", json!(1)),
        ("{\"x\": 2, \"output\": {\"x\": 3}, \"final_answer\": 4}", json!(2)),
        ("{\"output\": {\"x\": 3}, \"final_answer\": 4}", json!(3)),
        ("{\"final_answer\": 4}", json!(4)),
        ("{\"answer\": 5}", json!("{\"answer\": 5}")),
        ("{\"other\": 6}", json!("{\"other\": 6}")),
        (" plain words\n", json!(" plain words\n")),
        ("```json\n{\"x\": [7]}\n```", json!([7])),
        ("{'x': [7,],}", json!([7])),
        ("Here:\n```json\n{\"x\": [7]}\n```", json!("Here:\n```json\n{\"x\": [7]}\n```")),
        ("{\"x\": 1}\n{\"x\": 2}", json!("{\"x\": 1}\n{\"x\": 2}")),
    ] {
        assert_eq!(variable(&answered(&["x"], answer), "x"), x, "{answer}");
    }
}

#[test]
fn a_missing_variable_is_asked_for_once_then_the_step_fails() {
    insta::assert_snapshot!(answered(&["x", "y"], "{\"x\": 1}").transcript(), @r#"
    started: the goal
    planned because "first": a
    wants a/0/0/ask.0
    a/0/0/ask.0 says "{\"x\": 1}"
    tells a: {"missing_output":{"names":["y"]}}
    wants a/0/1/ask.0
    a/0/1/ask.0 says "still not"
    a failed (model_behavior): the result lacks `x`, `y`
    a judged: "give_up"
    finished:  [model_behavior: step `a` failed: the result lacks `x`, `y`]
    "#);
}

#[test]
fn a_missing_variable_that_comes_with_the_second_answer_is_fine() {
    let world = World::of(writing(&["x", "y"])).says("a", [says("{\"x\": 1}"), says("{\"x\": 1, \"y\": 2}")]).go();
    assert_eq!((variable(&world, "x"), variable(&world, "y")), (json!(1), json!(2)));
}

#[test]
fn a_failure_mark_gets_one_more_visit_with_the_reason() {
    for mark in [
        "{\"error\": \"no disk\"}",
        "{\"status\": \"failed\", \"message\": \"no disk\"}",
        "{\"success\": false, \"reason\": \"no disk\"}",
    ] {
        let world = World::of(given(&["a"])).says("a", [says(mark), says("worked")]).go();
        assert!(
            world.transcript().contains("a judged: {\"retry\":{\"feedback\":\"no disk\"}}"),
            "{}",
            world.transcript()
        );
        assert_eq!(world.answer(), "worked");
    }
    let world =
        World::of(given(&["a"])).says("a", [says("{\"error\": \"no disk\"}"), says("{\"error\": \"still\"}")]).go();
    assert_eq!(world.status("a"), "failed");
}

#[test]
fn a_failure_that_an_answer_quotes_is_no_failure() {
    for answer in [
        "The server says {\"error\": \"unauthorized\"}: renew the token.",
        "```json\n{\"status\": \"failed\"}\n```\nis what you get without a key.",
        "{\"status\": \"failed\", \"rows\": 12, \"error\": \"disk full\"}",
    ] {
        for start in [given(&["a"]), writing(&["x"])] {
            let world = World::of(start).says("a", [says(answer)]).go();
            assert_eq!((world.status("a"), world.answer().as_str()), ("completed", answer));
        }
    }
}

#[test]
fn an_error_that_says_nothing_is_no_failure() {
    for error in [json!(null), json!(false), json!(""), json!([]), json!({}), json!(0)] {
        let answer = json!({ "text": "fine", "error": error }).to_string();
        let world = World::of(given(&["a"])).says("a", [says(&answer)]).go();
        assert_eq!(world.status("a"), "completed", "{answer}");
    }
}

fn with_agent(mut start: RunStart, change: impl Fn(&mut updraft_run::AgentCard)) -> RunStart {
    Arc::make_mut(&mut start.roster).agents.iter_mut().filter(|agent| agent.name == "thinker").for_each(change);
    start
}

#[test]
fn a_result_that_does_not_fit_its_schema_is_sent_back_once() {
    let schema = json!({ "type": "object", "required": ["n"], "properties": { "n": { "type": "integer" } } });
    let start = with_agent(given(&["a"]), |agent| agent.schema = Some(schema.clone()));
    let world = World::of(start.clone()).says("a", [says("{\"n\": \"one\"}"), says("{\"n\": 1}")]).go();
    insta::assert_snapshot!(world.transcript(), @r#"
    started: the goal
    planned because "first": a
    wants a/0/0/ask.0
    a/0/0/ask.0 says "{\"n\": \"one\"}"
    tells a: {"unfit":{"what":"the result.n must be of type integer, and is string"}}
    wants a/0/1/ask.0
    a/0/1/ask.0 says "{\"n\": 1}"
    a done
    finished: {"n": 1}
    "#);
    let world = World::of(start).says("a", [says("words"), says("more words")]).go();
    assert_eq!(world.status("a"), "failed");
}

#[test]
fn bounds_of_a_schema_count_for_numbers_texts_and_lists() {
    let schema = json!({ "type": "object", "properties": {
        "n": { "type": "number", "minimum": 1, "maximum": 5 },
        "text": { "type": "string", "minLength": 2, "maxLength": 3 },
        "list": { "type": "array", "minItems": 1, "maxItems": 2, "items": { "minimum": 0 } },
    } });
    let start = with_agent(given(&["a"]), |agent| agent.schema = Some(schema.clone()));
    let told = |answer: &str| {
        let world = World::of(start.clone()).says("a", [says(answer), says("{}")]).go();
        let transcript = world.transcript();
        transcript.lines().find_map(|line| Some(line.split_once("\"what\":\"")?.1.trim_end_matches("\"}}").to_owned()))
    };
    let wrong = [
        (r#"{"n": 0.5}"#, "the result.n must be at least 1"),
        (r#"{"n": 6}"#, "the result.n must be at most 5"),
        (r#"{"text": "ä"}"#, "the result.text must have at least 2 characters"),
        (r#"{"text": "four"}"#, "the result.text must have at most 3 characters"),
        (r#"{"list": []}"#, "the result.list must have at least 1 entries"),
        (r#"{"list": [1, 2, 3]}"#, "the result.list must have at most 2 entries"),
        (r#"{"list": [-1]}"#, "the result.list[0] must be at least 0"),
    ];
    for (answer, what) in wrong {
        assert_eq!(told(answer).as_deref(), Some(what), "{answer}");
    }
    assert_eq!(told(r#"{"n": 5, "text": "äöü", "list": [0, 1]}"#), None);
}

fn judged<const N: usize>(verdicts: [&str; N]) -> World {
    let start = with_agent(given(&["a"]), |agent| agent.reflect = ReflectionMode::Model);
    let mut world = World::of(start);
    for (n, verdict) in verdicts.iter().enumerate() {
        let said = json!({ "verdict": verdict, "feedback": format!("reason {n}") }).to_string();
        world = world.says("a", [says(&format!("try {n}")), says(&said)]);
    }
    world.go()
}

#[test]
fn a_model_judges_where_the_agent_asks_for_it() {
    insta::assert_snapshot!(judged(["accept"]).transcript(), @r#"
    started: the goal
    planned because "first": a
    wants a/0/0/ask.0
    a/0/0/ask.0 says "try 0"
    wants a/0/0/judge.0
    a/0/0/judge.0 says "{\"feedback\":\"reason 0\",\"verdict\":\"accept\"}"
    a judged: "accept"
    a done
    finished: try 0
    "#);
    insta::assert_snapshot!(judged(["retry", "pivot", "Accept"]).transcript(), @r#"
    started: the goal
    planned because "first": a
    wants a/0/0/ask.0
    a/0/0/ask.0 says "try 0"
    wants a/0/0/judge.0
    a/0/0/judge.0 says "{\"feedback\":\"reason 0\",\"verdict\":\"retry\"}"
    a judged: {"retry":{"feedback":"reason 0"}}
    wants a/1/0/ask.0
    a/1/0/ask.0 says "try 1"
    wants a/1/0/judge.0
    a/1/0/judge.0 says "{\"feedback\":\"reason 1\",\"verdict\":\"pivot\"}"
    a judged: {"pivot":{"feedback":"reason 1"}}
    wants a/2/0/ask.0
    a/2/0/ask.0 says "try 2"
    wants a/2/0/judge.0
    a/2/0/judge.0 says "{\"feedback\":\"reason 2\",\"verdict\":\"Accept\"}"
    a judged: "accept"
    a done
    finished: try 2
    "#);
}

#[test]
fn a_judge_cannot_send_back_for_ever() {
    let world = judged(["retry", "retry", "retry", "retry"]);
    assert_eq!(world.status("a"), "failed");
    assert!(world.transcript().contains("its result was rejected 4 times, most recently: reason 3"));
}

#[test]
fn a_judge_that_says_nothing_sensible_does_not_stop_the_work() {
    assert_eq!(judged(["perhaps"]).answer(), "try 0");
}

#[test]
fn a_judge_who_wants_another_plan_gets_one_or_else_another_way() {
    let start = with_agent(start(RunMode::Plan), |agent| agent.reflect = ReflectionMode::Model);
    let world = World::of(start)
        .says("plan", [plan(&["a", "b < a"]), plan(&["c:coder"])])
        .says("a", [says("A"), says("{\"verdict\": \"replan\", \"feedback\": \"wrong way\"}")])
        .says("c", [says("C")])
        .go();
    insta::assert_snapshot!(world.transcript(), @r#"
    started: the goal
    planned because "goal": plan
    wants plan/0/0/ask.0
    plan/0/0/ask.0 says "{\"steps\":[{\"id\":\"a\",\"agent\":\"thinker\"},{\"id\":\"b\",\"agent\":\"thinker\",\"after\":[\"a\"]}]}"
    plan done
    planned because "first": a, b < a
    wants a/0/0/ask.0
    a/0/0/ask.0 says "A"
    wants a/0/0/judge.0
    a/0/0/judge.0 says "{\"verdict\": \"replan\", \"feedback\": \"wrong way\"}"
    a judged: {"replan":{"why":"wrong way"}}
    wants plan/1/0/ask.0
    plan/1/0/ask.0 says "{\"steps\":[{\"id\":\"c\",\"agent\":\"coder\"}]}"
    plan done
    planned because {"failed":"a"}: c
    wants c/0/0/ask.0
    c/0/0/ask.0 says "C"
    c done
    finished: C
    "#);
    // Without a planner there is no other plan.
    let world = judged(["replan", "accept"]);
    assert_eq!(world.answer(), "try 1");
}

#[test]
fn text_from_outside_marks_all_that_is_made_of_it() {
    let mut start = given(&["a", "b < a"]);
    let steps = &mut Arc::make_mut(start.plan.as_mut().unwrap()).steps;
    steps[0].writes = vec!["x".into()];
    steps[1].reads = vec!["x".into()];
    steps[1].writes = vec!["y".into()];
    let page = updraft_run::ToolOutput { text: "page".into(), untrusted: true, ..updraft_run::ToolOutput::default() };
    let world = World::of(start)
        .says("a", [calls(&["fetch x"]), says("X")])
        .says("b", [says("Y")])
        .gives("fetch", updraft_run::Reply::Output(Arc::new(page)))
        .go();
    assert!(world.run.variables()["x"].is_untrusted() && world.run.variables()["y"].is_untrusted());
}

#[test]
fn what_a_tool_calls_its_result_does_not_replace_an_answer() {
    let world = World::of(writing(&["x"]))
        .says("a", [calls(&["fetch page"]), says("the answer")])
        .gives("fetch", gives_value("", json!({ "result": { "x": "the server's words" } })))
        .go();
    assert_eq!(variable(&world, "x"), "the answer");
}
