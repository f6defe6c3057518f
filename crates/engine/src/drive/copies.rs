//! Gives each candidate its copy of the workspace before its model is asked.

use updraft_run::{EffectAddress, Input, PreparedCall, Reply};
use updraft_run::{Failure, FailureKind};

use super::RunDriver;

impl RunDriver {
    /// Makes the copy that a step works in, unless it is there or the step needs none. Returns false if that failed:
    /// then the step is told.
    pub(super) async fn ensure_workspace_copy(&mut self, id: &EffectAddress) -> bool {
        if !self.run.is_in_copy(&id.step) {
            return true;
        }
        let (from, to) = (self.run.settings().workspace.clone(), self.run.workspace_of(&id.step));
        let Err(failure) = self.engine.performer.copy_workspace(&from, &to).await else { return true };
        let (id, attempt) = (id.clone(), self.attempt(id));
        self.inbox
            .queued
            .push(Input::Replied { id, attempt, reply: Reply::Failed(failure), prepared: Vec::new() }.into());
        false
    }
}

/// Refuses a call that would change something outside of the copy that the step works in.
pub(super) fn within_copy(prepared: PreparedCall) -> PreparedCall {
    if !(prepared.served && prepared.changes()) || prepared.fault.is_some() {
        return prepared;
    }
    let why = "this step works in a copy of the workspace, and a server works in the workspace itself; \
               its tools that change something cannot be used here";
    PreparedCall { fault: Some(Failure::new(FailureKind::Security, why)), ..prepared }
}
