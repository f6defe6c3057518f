//! Agents as files: whose role counts.

#![allow(clippy::unwrap_used, reason = "a broken setting shall stop the test")]

use updraft_engine::{Agents, Prompts, Trust, Words};
use updraft_run::{AgentRole, Roster};

/// The program's agents, and over them the files of some folders, the nearest last.
fn with(folders: &[&[(&str, &str)]]) -> Agents {
    let mut agents = Agents::compiled_in().unwrap();
    for files in folders {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in *files {
            std::fs::write(folder.path().join(format!("{name}.md")), text).unwrap();
        }
        agents.override_from(folder.path(), Trust::Full).unwrap();
    }
    agents
}

fn roster(agents: &Agents) -> Roster {
    Words::gather(agents.iter(), &Prompts::compiled_in(), &|_| Vec::new(), &|_| true).0
}

fn planner(agents: &Agents) -> String {
    let roster = roster(agents);
    let planners = roster.agents.iter().filter(|card| card.role() == AgentRole::Planner);
    planners.map(|card| card.name.as_str()).collect::<Vec<_>>().join(" ")
}

const STRATEGIST: &str = "---\npurpose: Plans.\nrole: planner\n---\nYou plan.\n";

#[test]
fn every_role_is_somebodys_among_the_agents_of_the_program() {
    let roster = roster(&with(&[]));
    for role in AgentRole::ALL {
        assert!(roster.in_role(role).is_some(), "{role:?}");
    }
}

#[test]
fn the_nearest_agent_with_a_role_has_it_and_nobody_else() {
    assert_eq!(planner(&with(&[])), "planner");
    assert_eq!(planner(&with(&[&[("zoe", STRATEGIST)]])), "zoe");
    assert_eq!(planner(&with(&[&[("adam", STRATEGIST)], &[("zoe", STRATEGIST)]])), "zoe");
    assert_eq!(planner(&with(&[&[("zoe", STRATEGIST)], &[("adam", STRATEGIST)]])), "adam");
    assert_eq!(planner(&with(&[&[("zoe", STRATEGIST), ("adam", STRATEGIST)]])), "adam");
}

#[test]
fn a_file_that_says_no_role_has_that_of_the_agent_it_replaces() {
    let agents = with(&[&[("planner", "---\npurpose: Plans.\n---\nYou plan.\n")]]);
    assert_eq!(planner(&agents), "planner");
    assert_eq!(agents.get("planner").unwrap().prompt, "You plan.");
}

#[test]
fn an_agent_that_is_left_out_gives_its_role_back() {
    let mut agents = with(&[&[("zoe", STRATEGIST)]]);
    agents.leave_out("zoe", "its model is not available".into());
    assert_eq!(planner(&agents), "planner");
}

#[test]
fn where_nobody_plans_a_run_says_so_before_it_starts() {
    let agents = with(&[&[("planner", "---\npurpose: Works.\nrole: work\n---\nWork.\n")]]);
    assert_eq!(planner(&agents), "");
    assert!(agents.in_role(AgentRole::Planner).is_none());
}
