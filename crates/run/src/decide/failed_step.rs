//! Decides what follows from a step that did not succeed: a new plan, or its dependants are skipped.

use std::collections::BTreeSet;

use crate::event::{Event, Judgement};
use crate::reply::Failure;
use crate::state::Run;
use crate::step::{Step, StepRole, StepState};

impl Run {
    /// Decides what follows from a failed step: a new plan, or its dependants are skipped.
    pub(super) fn after_failure(&self, at: usize) -> Vec<Event> {
        let step = &self.steps[at];
        if self.may_fail_alone(step) {
            return vec![Event::Judged { step: step.spec.id.clone(), verdict: Judgement::GiveUp }];
        }
        if let StepState::Failed(why) = &step.state
            && step.role == StepRole::Work
            && self.may_replan()
        {
            let why = format!("step `{}` failed: {why}", step.spec.id);
            return vec![Event::Judged { step: step.spec.id.clone(), verdict: Judgement::Replan { why } }];
        }
        let because = &step.spec.id;
        let below = self.waiting_below(at).into_iter().map(|later| &self.steps[later].spec.id);
        let mut events: Vec<Event> =
            below.map(|later| Event::StepSkipped { step: later.clone(), because: because.clone() }).collect();
        events.push(Event::Judged { step: because.clone(), verdict: Judgement::GiveUp });
        events
    }

    /// All steps that can no longer begin because this one failed, in the order they were planned.
    pub(crate) fn waiting_below(&self, at: usize) -> BTreeSet<usize> {
        let mut below = BTreeSet::new();
        let mut todo = vec![at];
        while let Some(at) = todo.pop() {
            let waiting = |next: &&usize| matches!(self.steps[**next].state, StepState::Waiting | StepState::Ready);
            todo.extend(self.steps[at].next.iter().filter(waiting).filter(|next| below.insert(**next)));
        }
        below
    }

    /// Skips a step that waits for a result which will not come. This happens to a step that starts again on its own account
    /// after the step before it, which was being made again, was cancelled or failed.
    pub(super) fn skip_stranded(&self) -> Vec<Event> {
        let without_result = self.steps().filter(|step| step.has_ended() && step.state != StepState::Done);
        let mut below = without_result.flat_map(|lost| lost.next.iter().map(move |at| (lost, &self.steps[*at])));
        let stranded = below.find(|(_, step)| step.state == StepState::Waiting);
        let skip = |(lost, step): (&Step, &Step)| Event::StepSkipped {
            step: step.spec.id.clone(),
            because: lost.spec.id.clone(),
        };
        stranded.map(skip).into_iter().collect()
    }

    /// Whether a planner can still be asked for another plan.
    pub(super) fn may_replan(&self) -> bool {
        let planner = self.planner.map(|at| &self.steps[at]);
        self.replans < self.settings.replans
            && self.replanning.is_none()
            && planner.is_some_and(|planner| planner.state == StepState::Done)
    }

    /// Whether a step must not begin now because the planner is making a plan that may replace it.
    pub(super) fn waits_for_plan(&self, at: usize) -> bool {
        let is_planning = self.planner.is_some_and(|planner| !self.steps[planner].has_ended());
        is_planning && self.steps[at].role == StepRole::Work && !self.steps[at].has_begun()
    }
}

/// Fails a step for a reason.
pub(super) fn fail(step: &Step, why: Failure) -> Vec<Event> {
    vec![Event::StepFailed { step: step.spec.id.clone(), why }]
}
