//! Plans that are sent back, and new plans after a failure.

use std::sync::Arc;

use crate::support::{World, at, calls, cancel_step, gives, model_fails, plan, says, start};
use updraft_run::{RunMode, RunSettings, RunStart};

#[test]
fn a_faulty_plan_is_sent_back_with_its_faults_and_then_replaced_by_one_step() {
    let world = World::of(start(RunMode::Plan))
        .says("plan", [plan(&["a:wizard"]), says("no plan"), plan(&["a < a"]), plan(&["a"])])
        .says("answer", [says("done alone")])
        .go();
    insta::assert_snapshot!(world.transcript(), @r#"
    started: the goal
    planned because "goal": plan
    wants plan/0/0/ask.0
    plan/0/0/ask.0 says "{\"steps\":[{\"id\":\"a\",\"agent\":\"wizard\"}]}"
    tells plan: {"plan_faults":{"faults":["step `a` names the agent `wizard`, which does not exist; available: `browser`, `coder`, `distiller`, `judge`, `planner`, `qa`, `researcher`, `reviewer`, `router`, `thinker`"]}}
    wants plan/0/1/ask.0
    plan/0/1/ask.0 says "no plan"
    tells plan: {"plan_faults":{"faults":["the answer contains no plan; answer with the plan as one JSON object"]}}
    wants plan/0/2/ask.0
    plan/0/2/ask.0 says "{\"steps\":[{\"id\":\"a\",\"agent\":\"thinker\",\"after\":[\"a\"]}]}"
    plan done
    planned because "first": answer (one step: `planner` gave no plan that can be carried out (the plan has faults: the step `a` waits for itself))
    wants answer/0/0/ask.0
    answer/0/0/ask.0 says "done alone"
    answer done
    finished: done alone
    "#);
}

#[test]
fn a_planner_whose_model_fails_is_replaced_by_one_step_and_says_so() {
    let world = World::of(start(RunMode::Plan))
        .says("plan", [model_fails("too long")])
        .says("answer", [says("done alone")])
        .go();
    assert_eq!((world.answer().as_str(), world.run.status_word()), ("done alone", "done"));
    assert!(
        world.run.planned_instead().is_some_and(|why| why.contains("too long")),
        "{:?}",
        world.run.planned_instead()
    );
}

#[test]
fn a_planner_with_thousands_of_faults_is_told_the_first_of_them() {
    let many: Vec<String> = (0..5_000).map(|n| format!("s{n}:wizard")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let mut world = World::of(start(RunMode::Plan));
    world.reply(&at("plan/0/0/ask.0"), plan(&many));
    assert!(world.talk("plan").contains("and 4950 more"));
    let updraft_run::ConversationEntry::Note(updraft_run::Note::PlanFaults { faults }) =
        world.step("plan").conversation.last().unwrap()
    else {
        panic!("no faults were told");
    };
    assert_eq!(faults.len(), 51);
}

#[test]
fn files_are_profiled_before_the_plan_is_made() {
    let mut start = start(RunMode::Plan);
    start.goal.files = vec!["data.csv".into()];
    let world = World::of(start)
        .says("distill", [says("{\"data.csv\": \"two columns\"}")])
        .says("plan", [plan(&["a"])])
        .says("a", [says("A")])
        .go();
    assert_eq!(world.run.profile().unwrap()["data.csv"], "two columns");
    assert_eq!(world.answer(), "A");
}

#[test]
fn a_new_plan_keeps_what_is_done_and_replaces_what_has_not_begun() {
    let world = World::of(start(RunMode::Plan))
        .says("plan", [plan(&["a", "b < a", "c < b"]), plan(&["c < a", "d < c"])])
        .says("a", [says("A")])
        .says("b", [model_fails("gone")])
        .says("c", [says("C")])
        .says("d", [says("D")])
        .go();
    insta::assert_snapshot!(world.transcript(), @r#"
    started: the goal
    planned because "goal": plan
    wants plan/0/0/ask.0
    plan/0/0/ask.0 says "{\"steps\":[{\"id\":\"a\",\"agent\":\"thinker\"},{\"id\":\"b\",\"agent\":\"thinker\",\"after\":[\"a\"]},{\"id\":\"c\",\"agent\":\"thinker\",\"after\":[\"b\"]}]}"
    plan done
    planned because "first": a, b < a, c < b
    wants a/0/0/ask.0
    a/0/0/ask.0 says "A"
    a done
    wants b/0/0/ask.0
    b/0/0/ask.0 gives failed: gone
    b failed (model): gone
    b judged: {"replan":{"why":"step `b` failed: gone"}}
    wants plan/1/0/ask.0
    plan/1/0/ask.0 says "{\"steps\":[{\"id\":\"c\",\"agent\":\"thinker\",\"after\":[\"a\"]},{\"id\":\"d\",\"agent\":\"thinker\",\"after\":[\"c\"]}]}"
    plan done
    planned because {"failed":"b"}: c < a, d < c
    wants c/0/0/ask.0
    c/0/0/ask.0 says "C"
    c done
    wants d/0/0/ask.0
    d/0/0/ask.0 says "D"
    d done
    finished: D
    "#);
    assert_eq!(world.run.status_word(), "done");
}

#[test]
fn new_plans_are_bounded() {
    let world = World::of(start(RunMode::Plan))
        .says("plan", [plan(&["a"]), plan(&["b"]), plan(&["c"]), plan(&["d"])])
        .says("a", [model_fails("1")])
        .says("b", [model_fails("2")])
        .says("c", [model_fails("3")])
        .go();
    assert_eq!(world.transcript().matches("planned because {\"failed\"").count(), 2);
    assert_eq!(world.run.status_word(), "failed");
}

#[test]
fn the_ids_of_begun_steps_are_not_given_away() {
    let mut world = World::of(start(RunMode::Plan))
        .says("plan", [plan(&["a", "b"]), plan(&["a"])])
        .says("b", [model_fails("gone")]);
    for _ in 0..3 {
        world.step_on();
    }
    assert!(world.last().contains("the id `a` belongs to a step that has already begun"), "{}", world.last());
}

#[test]
fn steps_that_have_not_begun_wait_for_the_new_plan() {
    let mut world = World::of(start(RunMode::Plan));
    world.reply(&at("plan/0/0/ask.0"), plan(&["a", "b", "c < a", "d < c"]));
    world.reply(&at("b/0/0/ask.0"), model_fails("gone"));
    world.reply(&at("a/0/0/ask.0"), says("A"));
    assert_eq!(world.open(), ["plan/1/0/ask.0"], "`c` could begin, and the new plan may name it");
    world.reply(&at("plan/1/0/ask.0"), plan(&["c < a", "e < c"]));
    assert_eq!(world.open(), ["c/0/0/ask.0"]);
    assert_eq!(world.status("e"), "pending");
}

#[test]
fn a_planner_that_fails_again_lets_the_other_steps_begin() {
    let mut world = World::of(start(RunMode::Plan));
    world.reply(&at("plan/0/0/ask.0"), plan(&["a", "b", "c < a"]));
    world.reply(&at("b/0/0/ask.0"), model_fails("gone"));
    world.reply(&at("a/0/0/ask.0"), says("A"));
    world.reply(&at("plan/1/0/ask.0"), model_fails("the planner is gone"));
    assert_eq!(world.open(), ["c/0/0/ask.0"]);
}

#[test]
fn a_step_entered_again_keeps_its_id_while_a_new_plan_is_made() {
    let settings = Arc::new(RunSettings { parallel: 3, ..RunSettings::default() });
    let mut world = World::of(RunStart { settings, ..start(RunMode::Plan) });
    world.reply(&at("plan/0/0/ask.0"), plan(&["z1 < y", "z2 < y", "a", "y", "b"]));
    assert_eq!(world.open(), ["a/0/0/ask.0", "b/0/0/ask.0", "y/0/0/ask.0"]);
    world.feed(updraft_run::Input::Pause);
    world.reply(&at("a/0/0/ask.0"), says("{\"error\": \"try again\"}"));
    world.reply(&at("b/0/0/ask.0"), model_fails("gone"));
    world.reply(&at("y/0/0/ask.0"), says("Y"));
    world.feed(crate::support::resume());
    assert_eq!(world.open(), ["a/1/0/ask.0", "plan/1/0/ask.0"]);
    world.reply(&at("plan/1/0/ask.0"), plan(&["a"]));
    assert!(world.last().contains("the id `a` belongs to a step that has already begun"), "{}", world.last());
    world.reply(&at("plan/1/1/ask.0"), plan(&["c < a"]));
    assert_eq!(world.status("a"), "running");
    let asks = world.transcript().lines().filter(|line| *line == "wants a/0/0/ask.0").count();
    assert_eq!(asks, 1, "a place is never used twice");
}

#[test]
fn a_planner_that_fails_while_planning_anew_leaves_the_failure_as_it_was() {
    let world = World::of(start(RunMode::Plan))
        .says("plan", [plan(&["a", "b < a", "x"]), model_fails("the planner is gone")])
        .says("a", [model_fails("gone")])
        .says("x", [says("X")])
        .go();
    insta::assert_snapshot!(world.transcript(), @r#"
    started: the goal
    planned because "goal": plan
    wants plan/0/0/ask.0
    plan/0/0/ask.0 says "{\"steps\":[{\"id\":\"a\",\"agent\":\"thinker\"},{\"id\":\"b\",\"agent\":\"thinker\",\"after\":[\"a\"]},{\"id\":\"x\",\"agent\":\"thinker\"}]}"
    plan done
    planned because "first": a, b < a, x
    wants a/0/0/ask.0
    wants x/0/0/ask.0
    a/0/0/ask.0 gives failed: gone
    a failed (model): gone
    a judged: {"replan":{"why":"step `a` failed: gone"}}
    wants plan/1/0/ask.0
    plan/1/0/ask.0 gives failed: the planner is gone
    plan failed (model): the planner is gone
    plan judged: "give_up"
    b skipped because of a
    a judged: "give_up"
    x/0/0/ask.0 says "X"
    x done
    finished: X [model: step `a` failed: gone]
    "#);
}

#[test]
fn cancelling_the_planner_while_it_plans_anew_does_not_hang_the_run() {
    let mut world =
        World::of(start(RunMode::Plan)).says("plan", [plan(&["a", "b < a"])]).says("a", [model_fails("gone")]).go();
    assert_eq!(world.open(), ["plan/1/0/ask.0"]);
    world.feed(cancel_step("plan"));
    assert_eq!(world.run.status_word(), "failed");
    assert_eq!(world.status("b"), "skipped");
}

#[test]
fn steps_at_work_go_on_while_a_new_plan_is_made_and_new_steps_may_wait_for_them() {
    let mut world = World::of(start(RunMode::Plan))
        .says("plan", [plan(&["a", "b"]), plan(&["c < a"])])
        .says("b", [model_fails("gone")])
        .go();
    assert_eq!(world.open(), ["a/0/0/ask.0"]);
    assert_eq!(world.status("c"), "pending");
    world.says.insert("a".into(), vec![calls(&["read x"]), says("A")]);
    world.says.insert("c".into(), vec![says("C")]);
    world.gives.insert("read".into(), gives("X"));
    world.work();
    assert_eq!(world.answer(), "C");
}

#[test]
fn nobody_is_skipped_because_the_planner_failed_later() {
    // `c` names the planner as something it waits for; it was done when `c` was planned.
    let mut world = World::of(start(RunMode::Plan))
        .says("plan", [plan(&["a", "b", "c < plan a"]), model_fails("gone")])
        .says("b", [model_fails("gone")])
        .go();
    world.says.insert("a".into(), vec![says("A")]);
    world.says.insert("c".into(), vec![says("C")]);
    world.work();
    assert_eq!(world.status("c"), "completed");
}

#[test]
fn a_router_nobody_understands_is_replaced_by_one_agent() {
    let world =
        World::of(start(RunMode::Swarm)).says("plan", [says("hm"), says("hm")]).says("answer", [says("done")]).go();
    assert!(world.transcript().contains("planned because \"first\": answer"), "{}", world.transcript());
    assert_eq!((world.run.steps().last().unwrap().spec.agent.as_str(), world.run.status_word()), ("coder", "done"));
}

#[test]
fn a_router_whose_plans_have_faults_is_replaced_by_one_agent() {
    let faulty = || says("{\"steps\": [{\"id\": \"a\", \"agent\": \"nobody\", \"prompt\": \"do it\"}]}");
    let world = World::of(start(RunMode::Swarm))
        .says("plan", [faulty(), faulty(), faulty()])
        .says("answer", [says("done")])
        .go();
    assert_eq!(world.answer(), "done");
}

#[test]
fn the_fallback_of_a_swarm_does_not_use_the_ids_of_steps_that_had_begun() {
    let world = World::of(start(RunMode::Swarm))
        .says("plan", [says("hm"), says("hm"), says("hm"), says("hm")])
        .says("answer", [model_fails("gone")])
        .says("answer.1", [says("done at last")])
        .go();
    assert_eq!(world.answer(), "done at last");
}

#[test]
fn where_nobody_does_everything_the_thinker_answers() {
    let mut start = start(RunMode::Swarm);
    Arc::make_mut(&mut start.roster).agents.retain(|agent| agent.name != "coder");
    let world =
        World::of(start).says("plan", [says("hm"), says("hm")]).says("answer", [says("done by one alone")]).go();
    assert_eq!(world.answer(), "done by one alone");
}
