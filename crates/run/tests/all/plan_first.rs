//! Plans that a person sees first: approved, changed, refused; and nothing is changed before.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::support::{World, at, calls, gives, graph, plan, says, start};
use updraft_run::{
    EffectClass, GraphFault, Input, PreparedCall, RunMode, RunSettings, RunStart, StepField, StepId, StepRole, Verdict,
};

fn shown() -> RunStart {
    let mut start = start(RunMode::Plan);
    Arc::make_mut(&mut start.settings).plan_first = true;
    start
}

fn verdict(allow: bool, because: &str) -> Input {
    Input::Verdict { id: None, verdict: Verdict { allow, because: because.into(), ..Verdict::default() } }
}

fn planned() -> World {
    World::of(shown()).says("plan", [plan(&["a", "b < a"]), plan(&["c"])]).go()
}

#[test]
fn nothing_begins_before_the_plan_is_approved() {
    let mut world = planned();
    assert_eq!((world.open(), world.run.status_word()), (vec!["plan/0/0/approve.0".to_owned()], "waiting"));
    // A process that ends while the plan waits changes nothing.
    world.feed(Input::Recovered { found: Vec::new() });
    world.feed(crate::support::resume());
    assert_eq!(world.open(), ["plan/0/0/approve.0"]);
    world.feed(verdict(true, ""));
    assert_eq!(world.open(), ["a/0/0/ask.0"]);
    world.feed(verdict(true, ""));
    assert_eq!(world.open(), ["a/0/0/ask.0"], "a second approval has no effect");
}

#[test]
fn yes_does_not_approve_a_plan_that_nobody_has_seen() {
    let mut world = planned();
    world.feed(Input::Resume { budget: None, approvals: Some(updraft_run::ApprovalMode::Allow) });
    assert_eq!(world.open(), ["plan/0/0/approve.0"]);
}

#[test]
fn a_refused_plan_goes_back_to_the_planner_with_the_reason_and_the_plan() {
    let mut world = planned();
    world.feed(verdict(false, "leave b out"));
    assert_eq!(world.open(), ["plan/1/0/ask.0"]);
    let carried = format!("{:?}", world.step("plan").carried);
    assert!(carried.contains("leave b out") && carried.contains("after"), "{carried}");
    world.reply(&at("plan/1/0/ask.0"), plan(&["a"]));
    assert_eq!(world.open(), ["plan/1/0/approve.0"]);
    world.feed(verdict(true, ""));
    world.says.insert("a".into(), vec![says("A")]);
    world.work();
    assert_eq!((world.answer().as_str(), world.run.status_word()), ("A", "done"));
}

#[test]
fn an_edited_plan_replaces_the_one_that_waits_and_a_faulty_one_changes_nothing() {
    let mut world = planned();
    let edit = |steps: &[&str]| Input::EditPlan {
        graph: Arc::new(graph(steps)),
        models: BTreeMap::new(),
        requirements: Vec::new(),
        by: "me".into(),
    };
    world.feed(edit(&["x < nowhere"]));
    assert_eq!(world.open(), ["plan/0/0/approve.0"]);
    let fault = GraphFault {
        steps: vec![StepId::parse("x").unwrap()],
        field: Some(StepField::After),
        text: "step `x` waits for `nowhere`, and there is no such step".to_owned(),
    };
    assert_eq!(world.run.edit_faults(&graph(&["x < nowhere"]), &BTreeMap::new()), [fault]);
    world.feed(edit(&["b", "c"]));
    assert_eq!(world.open(), ["b/0/0/ask.0", "c/0/0/ask.0"]);
    let steps: Vec<&str> =
        world.run.steps().filter(|step| step.role == StepRole::Work).map(|step| step.spec.id.as_str()).collect();
    assert_eq!(steps, ["b", "c"]);
    world.feed(edit(&["d"]));
    assert_eq!(world.open(), ["b/0/0/ask.0", "c/0/0/ask.0"], "it is too late for another plan");
}

#[test]
fn until_the_approval_a_call_that_changes_something_is_refused() {
    let mut start = shown();
    start.goal.files = vec!["data.csv".into()];
    let writes = PreparedCall { class: EffectClass::Opaque, writes: vec!["x".into()], ..PreparedCall::default() };
    let mut world = World::of(start).prepares("write", writes).says("distill", [calls(&["write x", "read y"])]);
    world.gives.insert("read".into(), gives("Y"));
    world.step_on();
    assert!(world.transcript().contains("this run is read-only"), "{}", world.transcript());
    assert!(world.run.awaits_first_approval());
}

#[test]
fn a_step_uses_the_model_that_its_plan_names() {
    let mut given = start(RunMode::Given);
    let models = BTreeMap::from([("fast".to_owned(), "x/small".to_owned())]);
    given.settings = Arc::new(RunSettings { models, model: "x/large".into(), ..RunSettings::default() });
    let mut plan = graph(&["a", "b"]);
    plan.steps[0].model = Some("fast".into());
    given.plan = Some(Arc::new(plan));
    let world = World::of(given);
    assert_eq!(
        (world.run.model_of(&crate::support::id("a")), world.run.model_of(&crate::support::id("b"))),
        ("x/small", "x/large")
    );
}

#[test]
fn what_a_refused_plan_required_is_required_no_longer() {
    let first = says(r#"{"steps": [{"id": "a", "agent": "thinker"}], "requirements": ["`false` succeeds"]}"#);
    let mut world = World::of(shown()).says("plan", [first, plan(&["c"])]).go();
    assert_eq!(world.run.proof().requirements.len(), 1);
    world.feed(verdict(false, "without that"));
    world.work();
    assert!(world.run.proof().requirements.is_empty(), "{:?}", world.run.proof().requirements);
}
