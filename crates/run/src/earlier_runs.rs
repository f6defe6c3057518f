//! What a run takes over from earlier runs: statistics of the agents, and results that are kept when a run is repeated.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::graph::{Graph, StepSpec};
use crate::id::{RunId, StepId};
use crate::origins::Origins;

/// What is taken over from earlier runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EarlierRuns {
    /// How each agent did before, in one line for the planner.
    #[serde(rename = "record", skip_serializing_if = "BTreeMap::is_empty")]
    pub agent_stats: BTreeMap<String, String>,
    /// The run that this one repeats, if it repeats one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeated: Option<Arc<RepeatedRun>>,
}

impl EarlierRuns {
    /// Whether nothing is taken over.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The run that is repeated, with the results that are still good.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepeatedRun {
    /// The run.
    pub of: RunId,
    /// Its goal.
    pub goal: String,
    /// Its plan, which the planner changes as little as possible.
    pub plan: Arc<Graph>,
    /// Its results that are kept where they are wanted again.
    pub results: Vec<KeptResult>,
    /// The values of its variables. A step that reads another value is run again.
    pub variables: BTreeMap<String, Value>,
    /// The outputs of its steps that wrote no variable.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub outputs: BTreeMap<StepId, String>,
}

/// The result of a step of an earlier run. Its agent, its model and the files it read are as they were.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptResult {
    /// The step.
    pub spec: StepSpec,
    /// What it wrote.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub wrote: BTreeMap<String, Value>,
    /// Its output, if it wrote no variable that holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Where the text from outside that it had read came from.
    #[serde(default, skip_serializing_if = "Origins::is_empty")]
    pub origins: Origins,
    /// Whether it used tools, so that its result may depend on what steps before it have changed.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub used_tools: bool,
}

fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_true(flag: &bool) -> bool {
    *flag
}
