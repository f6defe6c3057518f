//! A plan that waits for approval, and how a person reads and changes it.

use std::collections::BTreeMap;

use serde_json::Value;
use updraft_run::{EffectAddress, Graph, GraphFault, Requirement, Run, StepRole, Tries};

use crate::workbench::Workbench;

/// A plan that waits for approval.
#[derive(Clone, Debug)]
pub struct WaitingPlan {
    /// The question about it.
    pub approval: EffectAddress,
    /// Its steps.
    pub graph: Graph,
    /// What is required.
    pub requirements: Vec<Requirement>,
}

impl WaitingPlan {
    /// The plan that a run waits to have approved.
    pub fn of(run: &Run) -> Option<Self> {
        let approval = run.plan_approval()?.clone();
        let waits = run.steps().filter(|step| step.role == StepRole::Work && !step.has_begun() && !step.has_ended());
        let graph = Graph { steps: waits.map(|step| (*step.spec).clone()).collect() };
        Some(Self { approval, graph, requirements: run.proof().requirements.clone() })
    }
}

/// A plan in the form that people edit and `--plan` reads.
pub fn plan_file(plan: &Graph, requirements: &[Requirement]) -> Value {
    let plan = plan.with_tries_joined();
    let mut value = serde_json::to_value(&plan).unwrap_or_default();
    for (step, written) in plan.steps.iter().zip(value["steps"].as_array_mut().into_iter().flatten()) {
        let Some(Tries::Wanted { count, models, tests }) = step.tries.as_deref() else { continue };
        if let Some(fields) = written.as_object_mut() {
            fields.remove("tries");
            fields.insert("candidates".to_owned(), (*count).into());
            fields.extend((!models.is_empty()).then(|| ("models".to_owned(), models.clone().into())));
            fields.extend(tests.clone().map(|tests| ("tests".to_owned(), tests.into())));
        }
    }
    let own: Vec<_> = requirements.iter().filter(|one| one.derived).map(Requirement::in_plan).collect();
    if !own.is_empty() {
        value["requirements"] = own.into();
    }
    value
}

impl Workbench {
    /// The steps of an edited plan, the models they name in full, and what is wrong with the plan.
    pub(crate) fn read_edited(&self, run: &Run, plan: &Value) -> (Graph, BTreeMap<String, String>, Vec<GraphFault>) {
        let (graph, unreadable) = Graph::read_what_can_be(plan);
        let models = self.named_in_full(&graph);
        let mut faults: Vec<GraphFault> = unreadable.into_iter().map(GraphFault::of_graph).collect();
        faults.extend(run.edit_faults(&graph, &models));
        (graph, models, faults)
    }
}
