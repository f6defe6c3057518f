//! What a run knows about steps that are done several times: where each works, and what follows if one fails.

use crate::graph::Tries;
use crate::id::StepId;
use crate::state::Run;
use crate::step::{Step, StepState};

/// The tool that applies the changes of one try to the workspace.
pub const KEEP_CANDIDATE: &str = "keep_candidate";

impl Run {
    /// The folder that a step works in: the run's workspace, or a copy of it.
    pub fn workspace_of(&self, step: &StepId) -> String {
        if self.is_in_copy(step) {
            return format!("{}/{step}", self.settings.copies);
        }
        self.settings.workspace.clone()
    }

    /// Whether a step works in a copy of the workspace.
    pub fn is_in_copy(&self, step: &StepId) -> bool {
        let tries = self.step(step).and_then(|step| step.spec.tries.as_deref());
        matches!(tries, Some(Tries::One { in_copy: true }))
    }

    /// The names by which tools know the tries in copies that a step chooses among: the run's id and the step's.
    pub fn candidates_of(&self, step: &Step) -> Vec<String> {
        let Some(Tries::Choice { among, in_copies: true, .. }) = step.spec.tries.as_deref() else { return Vec::new() };
        let run = self.settings.copies.rsplit('/').next().unwrap_or_default();
        let is_done = |id: &&StepId| self.step(id).is_some_and(|step| step.state == StepState::Done);
        among.iter().filter(is_done).map(|id| format!("{run}/{id}")).collect()
    }

    /// Whether a step is one of several tries, and another of them has not failed: then its own failure has no
    /// consequences.
    pub(crate) fn may_fail_alone(&self, step: &Step) -> bool {
        let is_choice = |next: &&Step| matches!(next.spec.tries.as_deref(), Some(Tries::Choice { .. }));
        let is_try = matches!(step.spec.tries.as_deref(), Some(Tries::One { .. }));
        let Some(choice) = self.dependants(step).find(is_choice).filter(|_| is_try) else { return false };
        let Some(Tries::Choice { among, .. }) = choice.spec.tries.as_deref() else { return false };
        let others = among.iter().filter(|id| **id != step.spec.id).filter_map(|id| self.step(id));
        others.into_iter().any(|other| !other.has_ended() || other.state == StepState::Done)
    }

    /// What is missing in the result of a step that chooses among tries in copies: it has kept none of them.
    pub(crate) fn missing_choice(&self, step: &Step) -> Option<String> {
        let names = self.candidates_of(step);
        let has_kept = || {
            let actions = step.actions.iter().flat_map(|actions| &actions.newest);
            actions.into_iter().any(|action| action.tool == KEEP_CANDIDATE && action.ok)
        };
        if names.is_empty() || has_kept() {
            return None;
        }
        Some(format!("none of the candidates was kept; call `{KEEP_CANDIDATE}` with one of {} first", names.join(", ")))
    }
}
