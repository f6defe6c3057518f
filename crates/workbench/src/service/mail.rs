//! Answers that other processes have sent to a run while it rests, such as `updraft answer` and `updraft attach`: the service goes on with
//! the run, as it does when a client answers.

use std::time::Duration;

use tracing::warn;
use updraft_run::{Input, RunId};

use super::runs::LiveRuns;
use crate::fault::Fault;

/// How long an answer is left to the process that sent it: `updraft resume` may follow, and the run is its own then.
const COURTESY: Duration = Duration::from_secs(1);

impl LiveRuns {
    /// Goes on with runs of this service that were answered, until the service stops.
    pub(super) async fn attend_mail(self) {
        let mut changes = self.journal().changes();
        let stop = self.closing().clone();
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = changes.next() => {}
            }
            // Most changes bring no answer, and an answer is not in a hurry: changes come many at a time.
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(COURTESY) => {}
            }
            match self.answered() {
                Err(fault) => warn!(why = fault.in_one_line(), "what was sent to runs cannot be read"),
                Ok(answered) => {
                    for id in answered {
                        if let Err(fault) = self.go_on(&id).await {
                            warn!(run = %id, why = fault.in_one_line(), "a run that was answered is left as it is");
                        }
                    }
                }
            }
        }
    }

    /// The runs of this workspace that nobody drives and that were answered.
    fn answered(&self) -> Result<Vec<RunId>, Fault> {
        let mut found = Vec::new();
        for id in self.journal().runs_with_inputs()? {
            let head = self.journal().head(&id)?;
            let is_here = head.workspace == self.workspace() && !head.is_owned();
            let is_answer = |input: &Input| {
                matches!(
                    input,
                    Input::Answer { .. } | Input::Verdict { .. } | Input::Decline { .. } | Input::Tell { .. }
                )
            };
            if is_here && self.journal().inbox(&id).is_ok_and(|inbox| inbox.iter().any(|mail| is_answer(&mail.input))) {
                found.push(id);
            }
        }
        Ok(found)
    }
}
