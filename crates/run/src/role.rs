//! The role of an agent in a run: who plans, routes, distils, judges. The rules look for a role and never for a name,
//! because agents are files that anyone may replace.

use serde::{Deserialize, Serialize};

use crate::goal::{AgentCard, Roster};

/// The role of an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentRole {
    /// Its results are part of the work.
    #[default]
    Work,
    /// Its results are verdicts on the results of other steps: accept, retry, pivot or replan.
    Judge,
    /// Its answer is the graph of a run.
    Planner,
    /// Its answer is the graph of a swarm.
    Router,
    /// It profiles the files handed over, before anything is planned.
    Distiller,
    /// It reasons about what is known, so its model thinks unless someone chose otherwise.
    Thinker,
    /// It pursues a whole goal alone, if no plan can be read.
    Generalist,
    /// It decides among several results of one step.
    Chooser,
}

impl AgentRole {
    /// All of them, in the order they are listed to people.
    pub const ALL: [Self; 8] = [
        Self::Work,
        Self::Judge,
        Self::Planner,
        Self::Router,
        Self::Distiller,
        Self::Thinker,
        Self::Generalist,
        Self::Chooser,
    ];

    /// Its name in an agent's file.
    pub fn word(self) -> &'static str {
        match self {
            Self::Work => "work",
            Self::Judge => "judge",
            Self::Planner => "planner",
            Self::Router => "router",
            Self::Distiller => "distiller",
            Self::Thinker => "thinker",
            Self::Generalist => "generalist",
            Self::Chooser => "chooser",
        }
    }

    /// Parses the name of a role.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.word() == word)
    }

    /// Whether only one agent of a run may have it.
    pub fn is_for_one(self) -> bool {
        match self {
            Self::Planner | Self::Router | Self::Distiller | Self::Generalist | Self::Chooser => true,
            Self::Work | Self::Judge | Self::Thinker => false,
        }
    }

    /// The role that an agent has by its name, in journals from before roles were recorded. Judges were always
    /// recorded.
    pub fn by_old_name(name: &str) -> Self {
        match name {
            "planner" => Self::Planner,
            "router" => Self::Router,
            "distiller" => Self::Distiller,
            "thinker" => Self::Thinker,
            "coder" => Self::Generalist,
            _ => Self::Work,
        }
    }
}

impl AgentCard {
    /// The agent's role.
    pub fn role(&self) -> AgentRole {
        self.role.unwrap_or_else(|| AgentRole::by_old_name(&self.name))
    }
}

impl Roster {
    /// The first agent with a role.
    pub fn in_role(&self, role: AgentRole) -> Option<&AgentCard> {
        self.agents.iter().find(|card| card.role() == role)
    }
}
