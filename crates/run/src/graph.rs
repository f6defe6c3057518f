//! The graph of steps that a goal is divided into.

mod check;
mod fault;
mod read;
mod schema;
mod tries;

use serde::{Deserialize, Serialize};

use crate::id::StepId;

pub(crate) use check::similar_to;
pub use check::{GraphContext, close_to};
pub use fault::{GraphFault, StepField};
pub use tries::{Tries, TryPlanner};

/// One step as it was planned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepSpec {
    /// Its name.
    pub id: StepId,
    /// The agent that does it.
    pub agent: String,
    /// What it does, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The task that its agent is given.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prompt: String,
    /// Variables it reads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<String>,
    /// Variables it writes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<String>,
    /// Steps that must be done first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<StepId>,
    /// The model it uses, by a name of `RunSettings::models`; absent if the agent's or the run's is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Its part in work that is done several times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tries: Option<Box<Tries>>,
}

impl StepSpec {
    /// A step with only an id and an agent.
    pub fn new(id: StepId, agent: impl Into<String>) -> Self {
        Self {
            id,
            agent: agent.into(),
            description: String::new(),
            prompt: String::new(),
            reads: Vec::new(),
            writes: Vec::new(),
            after: Vec::new(),
            model: None,
            tries: None,
        }
    }
}

/// A directed acyclic graph of steps. Only a checked graph is ever planned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Graph {
    /// The steps, in the order they were planned.
    pub steps: Vec<StepSpec>,
}
