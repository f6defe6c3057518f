//! What is wrong with a graph, and where.

use crate::id::StepId;

/// Something wrong with a graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphFault {
    /// The steps that have to change, or one of them; none if it is about the whole graph.
    pub steps: Vec<StepId>,
    /// What of these steps.
    pub field: Option<StepField>,
    /// What is wrong, in words that a model can act on.
    pub text: String,
}

/// A field of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StepField {
    /// Its name.
    Id,
    /// The agent that does it.
    Agent,
    /// The model.
    Model,
    /// The description or the prompt.
    Text,
    /// Steps that come first.
    After,
    /// Variables it reads.
    Reads,
    /// Variables it writes.
    Writes,
}

impl GraphFault {
    /// A fault of the whole graph.
    pub fn of_graph(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    pub(super) fn of_step(step: &StepId, field: StepField, text: String) -> Self {
        Self { steps: vec![step.clone()], field: Some(field), text }
    }
}
