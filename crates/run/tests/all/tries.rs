//! Steps that are done several times: who works where, what follows if a try fails, and what a choice must do.
#![allow(clippy::unwrap_used, reason = "a test may")]

use std::sync::Arc;

use serde_json::json;
use updraft_run::{AgentCard, AgentRole, Graph, RunMode, RunSettings, RunStart, Tries, TryPlanner};

use crate::support::{World, calls, gives, id, says, start};

fn wanted(plan: &serde_json::Value) -> Result<Graph, Vec<String>> {
    let planner =
        TryPlanner { chooser: Some("chooser"), may_change: &|agent| agent == "coder", models: vec!["a", "b"] };
    Graph::read(plan)?.with_tries(&planner)
}

/// A start with an agent that chooses, and this plan.
fn given(plan: &serde_json::Value) -> RunStart {
    let mut start = RunStart { plan: Some(Arc::new(wanted(plan).unwrap())), ..start(RunMode::Given) };
    let tools = ["keep_candidate".to_owned(), "read".to_owned()].into();
    let role = Some(AgentRole::Chooser);
    let chooser = AgentCard { name: "chooser".into(), tools, role, ..AgentCard::default() };
    Arc::make_mut(&mut start.roster).agents.push(chooser);
    let settings =
        RunSettings { workspace: "/w".into(), copies: "/state/copies/run7".into(), ..RunSettings::default() };
    RunStart { settings: Arc::new(settings), ..start }
}

#[test]
fn a_step_with_candidates_becomes_tries_and_a_choice() {
    let plan = json!({"steps": [
        {"id": "fix-it", "agent": "coder", "prompt": "p", "reads": ["x"], "writes": ["done"], "candidates": 2, "tests": "make test"},
        {"id": "tell", "agent": "thinker", "reads": ["done"], "writes": ["answer"], "models": ["a", "b"]},
    ]});
    let graph = wanted(&plan).unwrap();
    let told: Vec<_> = graph
        .steps
        .iter()
        .map(|step| {
            (step.id.as_str(), step.agent.as_str(), step.reads.join(" "), step.writes.join(" "), step.model.as_deref())
        })
        .collect();
    assert_eq!(
        told,
        [
            ("fix-it.1", "coder", "x".into(), "fix_it_1".into(), None),
            ("fix-it.2", "coder", "x".into(), "fix_it_2".into(), None),
            ("fix-it", "chooser", "fix_it_1 fix_it_2".into(), "done".into(), None),
            ("tell.1", "thinker", "done".into(), "tell_1".into(), Some("a")),
            ("tell.2", "thinker", "done".into(), "tell_2".into(), Some("b")),
            ("tell", "chooser", "tell_1 tell_2".to_owned(), "answer".to_owned(), None),
        ]
    );
    let planner =
        TryPlanner { chooser: Some("chooser"), may_change: &|agent| agent == "coder", models: vec!["a", "b"] };
    let joined = graph.with_tries_joined();
    assert_eq!((joined.steps.len(), joined.with_tries(&planner).as_ref()), (2, Ok(&graph)), "and back");
    assert_eq!(graph.steps[0].tries.as_deref(), Some(&Tries::One { in_copy: true }));
    assert_eq!(graph.steps[3].tries.as_deref(), Some(&Tries::One { in_copy: false }));
    let among = vec![id("fix-it.1"), id("fix-it.2")];
    let choice = Tries::Choice { among, in_copies: true, tests: Some("make test".into()) };
    assert_eq!(graph.steps[2].tries.as_deref(), Some(&choice));
}

#[test]
fn what_cannot_be_tried_several_times_is_named() {
    let one = |extra: serde_json::Value| {
        let mut step = json!({"id": "s", "agent": "thinker", "prompt": "p"});
        step.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        wanted(&json!({"steps": [step]})).map(|graph| graph.steps.len()).map_err(|faults| faults.join("; "))
    };
    assert_eq!(one(json!({"candidates": 1})), Ok(1));
    assert_eq!(one(json!({"models": ["a"]})), Ok(1));
    assert!(one(json!({"candidates": "many"})).unwrap_err().contains("expected how many times"));
    assert!(one(json!({"candidates": 11})).unwrap_err().contains("at most 10"));
    assert!(one(json!({"models": ["a", "z"]})).unwrap_err().contains("`z`, which is not set up"));
    assert!(one(json!({"tests": "make"})).unwrap_err().contains("say how many with `candidates`"));
    assert!(one(json!({"candidates": 2, "tests": "make"})).unwrap_err().contains("changes nothing"));
}

#[test]
fn tries_work_in_copies_and_the_choice_must_keep_one() {
    let plan = json!({"steps": [{"id": "fix", "agent": "coder", "prompt": "p", "writes": ["done"], "candidates": 2}]});
    let world = World::of(given(&plan))
        .says("fix.1", [says("one")])
        .says("fix.2", [says("two")])
        .says("fix", [says("both are fine"), calls(&["keep_candidate run7/fix.2"]), says("two it is")])
        .gives("keep_candidate", gives("changed 1 file"))
        .go();
    assert_eq!(world.answer(), "two it is");
    assert_eq!(world.run.workspace_of(&id("fix.1")), "/state/copies/run7/fix.1");
    assert_eq!(world.run.workspace_of(&id("fix")), "/w");
    assert!(
        world
            .transcript()
            .contains("none of the candidates was kept; call `keep_candidate` with one of run7/fix.1, run7/fix.2")
    );
}

#[test]
fn a_try_that_fails_is_left_out_and_if_all_fail_the_step_has_failed() {
    let plan =
        json!({"steps": [{"id": "ask", "agent": "thinker", "prompt": "p", "writes": ["done"], "models": ["a", "b"]}]});
    let fails = || [says("{\"error\": \"no idea\"}"), says("{\"error\": \"no idea\"}")];
    let world =
        World::of(given(&plan)).says("ask.1", fails()).says("ask.2", [says("two")]).says("ask", [says("two")]).go();
    assert_eq!((world.answer().as_str(), world.run.status_word()), ("two", "done"));
    let world = World::of(given(&plan)).says("ask.1", fails()).says("ask.2", fails()).go();
    assert_eq!((world.status("ask"), world.run.status_word()), ("skipped", "failed"));
}
