//! Who plans and distils is said by roles on the cards; in old journals, by names.

#![allow(clippy::unwrap_used, reason = "a broken script shall stop the test")]

use std::sync::Arc;

use crate::support::{World, plan, says, start};
use updraft_run::{AgentCard, AgentRole, Roster, Run, RunMode, RunStart, StepId};

/// A start whose roster has these agents.
fn with(mode: RunMode, cards: &[(&str, Option<AgentRole>)]) -> RunStart {
    let card = |(name, role): &(&str, Option<AgentRole>)| AgentCard {
        name: (*name).to_owned(),
        role: *role,
        ..AgentCard::default()
    };
    let mut start = start(mode);
    start.goal.files = vec!["a.csv".into()];
    start.roster = Arc::new(Roster { agents: cards.iter().map(card).collect(), ..Roster::default() });
    start
}

fn agent_of(run: &Run, step: &str) -> Option<String> {
    run.step(&StepId::parse(step).unwrap()).map(|step| step.spec.agent.clone())
}

#[test]
fn an_agent_of_any_name_plans_and_distils_by_its_role() {
    let cards = [
        ("planner", Some(AgentRole::Work)),
        ("sorter", Some(AgentRole::Distiller)),
        ("strategist", Some(AgentRole::Planner)),
        ("thinker", Some(AgentRole::Work)),
    ];
    let world = World::of(with(RunMode::Plan, &cards))
        .says("distill", [says("a table")])
        .says("plan", [plan(&["a"])])
        .says("a", [says("A")])
        .go();
    assert_eq!(agent_of(&world.run, "plan").as_deref(), Some("strategist"));
    assert_eq!(agent_of(&world.run, "distill").as_deref(), Some("sorter"));
    assert_eq!(world.answer(), "A");
}

#[test]
fn a_roster_from_before_roles_goes_by_the_names_it_knew() {
    let names = ["coder", "distiller", "planner", "router", "thinker"].map(|name| (name, None));
    let world = World::of(with(RunMode::Swarm, &names)).go();
    assert_eq!(agent_of(&world.run, "plan").as_deref(), Some("router"));
    assert_eq!(agent_of(&world.run, "distill").as_deref(), Some("distiller"));
    let world = World::of(with(RunMode::Plan, &names)).go();
    assert_eq!(agent_of(&world.run, "plan").as_deref(), Some("planner"));
}

#[test]
fn files_are_not_profiled_where_nobody_distils() {
    let world = World::of(with(RunMode::Plan, &[("distiller", Some(AgentRole::Work)), ("planner", None)])).go();
    assert_eq!(agent_of(&world.run, "distill"), None);
}

#[test]
fn cards_of_old_journals_are_written_as_they_were_read() {
    for card in [r#"{"name":"planner"}"#, r#"{"name":"qa","role":"judge"}"#, r#"{"name":"a","role":"work"}"#] {
        let read: AgentCard = serde_json::from_str(card).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), card);
    }
}
