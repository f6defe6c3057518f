//! What is known about a run's plan as a whole: whether a person approved it, and what took its place or was kept.

use std::collections::BTreeSet;

use crate::earlier_runs::EarlierRuns;
use crate::id::{EffectAddress, StepId};
use crate::state::Run;

/// The status of a run's plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PlanStatus {
    /// Why the plan is a single step instead of the planner's plan.
    pub(crate) instead: Option<String>,
    /// Where a person is asked about the plan, while the answer is missing.
    pub(crate) approval: Option<EffectAddress>,
    /// A person has approved a plan.
    pub(crate) is_approved: bool,
    /// What is taken over from earlier runs.
    pub(crate) earlier: EarlierRuns,
    /// The steps whose results were taken from an earlier run.
    pub(crate) kept: BTreeSet<StepId>,
}

impl Run {
    /// What it takes over from earlier runs.
    pub fn earlier_runs(&self) -> &EarlierRuns {
        &self.plan.earlier
    }

    /// Why its plan is a single step instead of the planner's plan, if it is.
    pub fn planned_instead(&self) -> Option<&str> {
        self.plan.instead.as_deref()
    }

    /// Where a person is asked to approve the plan, while the answer is missing.
    pub fn plan_approval(&self) -> Option<&EffectAddress> {
        self.plan.approval.as_ref()
    }

    /// Whether nothing may be changed yet, because no plan has been approved.
    pub fn awaits_first_approval(&self) -> bool {
        self.settings.plan_first && !self.plan.is_approved
    }

    /// Whether a step's result was taken from an earlier run.
    pub fn is_kept(&self, step: &StepId) -> bool {
        self.plan.kept.contains(step)
    }
}
