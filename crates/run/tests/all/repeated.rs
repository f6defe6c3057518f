//! Repeated runs: results of steps that nothing has changed for are kept, without a model call.

#![allow(clippy::unwrap_used, reason = "a broken script shall stop the test")]

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::support::{World, calls, gives, id, opaque, says, start};
use serde_json::{Value, json};
use updraft_run::{EarlierRuns, Graph, KeptResult, RepeatedRun, RunId, RunMode, RunStart, StepSpec};

fn step(name: &str, reads: &[&str], writes: &[&str]) -> StepSpec {
    let own = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    StepSpec { reads: own(reads), writes: own(writes), ..StepSpec::new(id(name), "thinker") }
}

fn plan() -> Graph {
    Graph { steps: vec![step("a", &[], &["x"]), step("b", &["x"], &["y"]), step("c", &["y"], &[])] }
}

fn result(spec: StepSpec, wrote: &[(&str, Value)], output: Option<&str>) -> KeptResult {
    let wrote = wrote.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    KeptResult {
        spec,
        wrote,
        output: output.map(str::to_owned),
        origins: updraft_run::Origins::default(),
        used_tools: false,
    }
}

/// A run that repeats one in which `a` gave 1, `b` gave 2 and `c` said "two", without the results of `lost`.
fn repeat(lost: &[&str]) -> RunStart {
    let [a, b, c] = <[StepSpec; 3]>::try_from(plan().steps).unwrap();
    let all = [result(a, &[("x", json!(1))], None), result(b, &[("y", json!(2))], None), result(c, &[], Some("two"))];
    let results = all.into_iter().filter(|kept| !lost.contains(&kept.spec.id.as_str())).collect();
    let variables = BTreeMap::from([("x".to_owned(), json!(1)), ("y".to_owned(), json!(2))]);
    let of = RunId::parse("before").unwrap();
    let repeated = RepeatedRun {
        of,
        goal: "the goal".into(),
        plan: Arc::new(plan()),
        results,
        variables,
        outputs: BTreeMap::new(),
    };
    let earlier = EarlierRuns { repeated: Some(Arc::new(repeated)), ..EarlierRuns::default() };
    RunStart { plan: Some(Arc::new(plan())), earlier, ..start(RunMode::Given) }
}

#[test]
fn a_run_that_nothing_has_changed_for_asks_nobody() {
    let world = World::of(repeat(&[]));
    assert_eq!((world.answer().as_str(), world.run.status_word(), world.run.ledger().turns), ("two", "done", 0));
    assert!(world.run.is_kept(&id("a")) && world.run.is_kept(&id("c")));
}

#[test]
fn a_step_that_gets_the_same_input_keeps_its_result() {
    let world = World::of(repeat(&["a"])).says("a", [says("{\"x\": 1}")]).go();
    assert_eq!((world.answer().as_str(), world.run.ledger().turns), ("two", 1));
}

#[test]
fn a_step_that_gets_another_input_is_carried_out() {
    let world = World::of(repeat(&["a"])).says("a", [says("{\"x\": 5}")]).says("b", [says("{\"y\": 2}")]).go();
    assert_eq!((world.answer().as_str(), world.run.ledger().turns), ("two", 2), "y is the same again, so c is kept");
    assert!(!world.run.is_kept(&id("b")) && world.run.is_kept(&id("c")));
}

/// The same, but `b` and `c` used tools before.
fn repeat_with_tools(lost: &[&str]) -> RunStart {
    let mut start = repeat(lost);
    let repeated = Arc::make_mut(start.earlier.repeated.as_mut().unwrap());
    repeated.results.iter_mut().for_each(|kept| kept.used_tools = true);
    start
}

#[test]
fn behind_a_step_that_changed_something_those_that_used_tools_are_carried_out() {
    let script = |start| {
        World::of(start)
            .says("a", [calls(&["write z"]), says("{\"x\": 1}")])
            .says("b", [says("{\"y\": 2}")])
            .says("c", [says("three")])
            .gives("write", gives("written"))
            .prepares("write", opaque())
            .go()
    };
    let world = script(repeat_with_tools(&["a"]));
    assert_eq!(world.answer(), "three", "what `a` wrote may be what the others read");
    assert_eq!(script(repeat(&["a"])).answer(), "two", "who uses no tools reads no files");
}

#[test]
fn behind_a_step_that_only_read_results_are_kept() {
    let world = World::of(repeat_with_tools(&["a"])).says("a", [calls(&["read z"]), says("{\"x\": 1}")]);
    assert_eq!(world.gives("read", gives("Z")).go().answer(), "two");
}

#[test]
fn a_changed_step_is_carried_out_and_the_others_are_kept() {
    let mut start = repeat(&[]);
    let mut changed = plan();
    changed.steps[1].prompt = "do it better".into();
    start.plan = Some(Arc::new(changed));
    let world = World::of(start).says("b", [says("{\"y\": 9}")]).says("c", [says("nine")]).go();
    assert_eq!((world.answer().as_str(), world.run.is_kept(&id("a"))), ("nine", true));
}

/// The run with another goal and these tasks of its steps, in the old plan and in the new one.
fn with_another_goal(tasks: [&str; 3]) -> World {
    let mut start = repeat(&[]);
    start.goal.text = "another goal".into();
    let mut plan = plan();
    for (step, task) in plan.steps.iter_mut().zip(tasks) {
        step.prompt = task.into();
    }
    let repeated = Arc::make_mut(start.earlier.repeated.as_mut().unwrap());
    for (kept, step) in repeated.results.iter_mut().zip(&plan.steps) {
        kept.spec = step.clone();
    }
    start.plan = Some(Arc::new(plan));
    let said = |value: &str| [says(value)];
    World::of(start).says("a", said("{\"x\": 1}")).says("b", said("{\"y\": 2}")).says("c", said("new")).go()
}

#[test]
fn with_another_goal_only_steps_with_the_same_task_are_kept_and_never_the_last() {
    let world = with_another_goal(["find x", "find y", "tell"]);
    assert_eq!((world.answer().as_str(), world.run.ledger().turns), ("new", 1));
    let world = with_another_goal(["find x", "", "tell"]);
    assert!(world.run.is_kept(&id("a")) && !world.run.is_kept(&id("b")), "its task is the goal");
}

#[test]
fn a_step_behind_one_without_variables_is_kept_if_that_says_the_same() {
    let steps = vec![step("a", &[], &[]), StepSpec { after: vec![id("a")], ..step("b", &[], &[]) }];
    let run = |said: &str| {
        let mut start = repeat(&[]);
        start.plan = Some(Arc::new(Graph { steps: steps.clone() }));
        let repeated = Arc::make_mut(start.earlier.repeated.as_mut().unwrap());
        repeated.results = vec![result(steps[1].clone(), &[], Some("B"))];
        repeated.outputs = BTreeMap::from([(id("a"), "A".to_owned())]);
        World::of(start).says("a", [says(said)]).says("b", [says("another B")]).go()
    };
    assert_eq!(run("A").answer(), "B");
    assert_eq!(run("another A").answer(), "another B");
}

#[test]
fn a_kept_step_keeps_the_origins_of_what_it_had_read() {
    let mut start = repeat(&["b"]);
    let mut steps = vec![step("a", &[], &[]), StepSpec { after: vec![id("a")], ..step("b", &[], &[]) }];
    start.plan = Some(Arc::new(Graph { steps: steps.clone() }));
    let mut kept = result(steps.remove(0), &[], Some("read"));
    kept.origins = updraft_run::Origins::of("a page");
    let repeated = start.earlier.repeated.as_mut().unwrap();
    Arc::make_mut(repeated).results = vec![kept];
    let world = World::of(start).says("b", [says("B")]).go();
    assert!(world.run.is_kept(&id("a")) && world.step("b").is_untrusted(), "{:?}", world.step("b").origins);
}
