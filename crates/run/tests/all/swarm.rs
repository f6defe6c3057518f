//! Swarms: the last step joins all results, and keywords choose the workers if the router makes no plan.
#![allow(clippy::unwrap_used, reason = "a test may")]

use std::sync::Arc;

use updraft_run::{RunMode, RunStart};

use crate::support::{World, plan, says, start};

fn swarm(goal: &str) -> RunStart {
    let mut start = start(RunMode::Swarm);
    start.goal.text = goal.to_owned();
    for card in &mut Arc::make_mut(&mut start.roster).agents {
        card.read_only = card.name == "researcher";
        card.keywords = match card.name.as_str() {
            "coder" => vec!["fix".into()],
            "researcher" => vec!["why".into()],
            "reviewer" => vec!["review".into()],
            _ => Vec::new(),
        };
    }
    start
}

/// The steps that were planned last: id, agent, and what they read.
fn planned(world: &World) -> Vec<(String, String, String)> {
    let work = world.run.steps().filter(|step| step.spec.agent != "router");
    work.map(|step| (step.spec.id.to_string(), step.spec.agent.clone(), step.spec.reads.join(" "))).collect()
}

fn step(id: &str, agent: &str, reads: &str) -> (String, String, String) {
    (id.to_owned(), agent.to_owned(), reads.to_owned())
}

#[test]
fn a_plan_without_a_last_step_that_joins_gets_one() {
    let routed = says(
        "{\"steps\": [{\"id\": \"answer\", \"agent\": \"coder\", \"prompt\": \"p\", \"writes\": [\"a\"]}, \
          {\"id\": \"b\", \"agent\": \"researcher\", \"prompt\": \"p\", \"writes\": [\"b\"]}, \
          {\"id\": \"c\", \"agent\": \"coder\", \"prompt\": \"p\"}]}",
    );
    let replies = |world: World| {
        world.says("plan", [routed]).says("answer", [says("A")]).says("b", [says("B")]).says("c", [says("C")])
    };
    let world = replies(World::of(swarm("go"))).says("answer.2", [says("all")]).go();
    assert_eq!(planned(&world)[3], step("answer.2", "thinker", "a b"));
    assert_eq!(world.run.steps().last().unwrap().spec.after, [crate::support::id("c")]);
    assert_eq!(world.answer(), "all");
}

#[test]
fn a_last_step_that_reads_too_little_reads_all_results() {
    let routed = "{\"steps\": [{\"id\": \"a\", \"agent\": \"coder\", \"prompt\": \"p\", \"writes\": [\"a\"]}, \
          {\"id\": \"b\", \"agent\": \"coder\", \"prompt\": \"p\", \"reads\": [\"a\"], \"writes\": [\"b\"]}, \
          {\"id\": \"t\", \"agent\": \"thinker\", \"prompt\": \"p\", \"reads\": [\"b\"], \"writes\": [\"t\"]}]}";
    let world = World::of(swarm("go"))
        .says("plan", [says(routed)])
        .says("a", [says("A")])
        .says("b", [says("B")])
        .says("t", [says("T")])
        .go();
    assert_eq!(planned(&world)[2], step("t", "thinker", "b a"));
    assert_eq!(world.answer(), "T");
    // A plan of one step, and a planned run, stay as they are.
    let world = World::of(swarm("go")).says("plan", [plan(&["a:coder"])]).says("a", [says("A")]).go();
    assert_eq!(planned(&world).len(), 1);
}

#[test]
fn keywords_choose_the_workers_if_there_is_no_plan() {
    let world = World::of(swarm("Why does it fail? Fix it and review it."))
        .says("plan", [says("hm"), says("hm")])
        .says("researcher", [says("R")])
        .says("coder", [says("C")])
        .says("reviewer", [says("{\"verdict\": \"accept\", \"feedback\": \"\"}")])
        .says("answer", [says("all")])
        .go();
    assert_eq!(
        planned(&world),
        [
            step("researcher", "researcher", ""),
            step("coder", "coder", "researcher_result"),
            step("reviewer", "reviewer", "researcher_result coder_result"),
            step("answer", "thinker", "researcher_result coder_result reviewer_result"),
        ]
    );
    assert_eq!(world.answer(), "all");
}
