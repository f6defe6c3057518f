//! What other processes have sent to a run while it rests, such as `updraft answer`, `updraft attach` and, for a run that is kept elsewhere,
//! `updraft cancel`: the service goes on with the run or stops it, as it does when a client says so.

use std::time::Duration;

use tracing::warn;
use updraft_journal::ChangeWatcher;
use updraft_run::{Input, RunId};

use super::runs::LiveRuns;
use crate::fault::Fault;

/// How long an answer is left to the process that sent it: `updraft resume` may follow, and the run is its own then.
const COURTESY: Duration = Duration::from_secs(1);

impl LiveRuns {
    /// Goes on with runs of this service that were answered, and stops those that are to stop, until the service stops itself.
    /// `changes` is older than the last look at what was sent, so that nothing is missed in between.
    pub(super) async fn attend_mail(self, mut changes: ChangeWatcher) {
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
            match self.addressed() {
                Err(fault) => warn!(why = fault.in_one_line(), "what was sent to runs cannot be read"),
                Ok(addressed) => {
                    for (id, is_to_stop) in addressed {
                        let read =
                            if is_to_stop { self.stop_resting(&id).await } else { self.go_on(&id).await.map(drop) };
                        if let Err(fault) = read {
                            warn!(run = %id, why = fault.in_one_line(), "a run to which something was sent is left as it is");
                        }
                    }
                }
            }
        }
    }

    /// The runs of this workspace that nobody drives and that were answered or are to stop; and whether they are to stop.
    fn addressed(&self) -> Result<Vec<(RunId, bool)>, Fault> {
        let mut found = Vec::new();
        for id in self.journal().runs_with_inputs()? {
            let head = self.journal().head(&id)?;
            if head.workspace != self.workspace() || head.is_owned() {
                continue;
            }
            let Ok(inbox) = self.journal().inbox(&id) else { continue };
            let is_to_stop = !head.status.is_final() && inbox.iter().any(|mail| stops(&mail.input));
            if is_to_stop || inbox.iter().any(|mail| is_answer(&mail.input)) {
                found.push((id, is_to_stop));
            }
        }
        Ok(found)
    }
}

/// Whether a run goes on with it.
fn is_answer(input: &Input) -> bool {
    matches!(
        input,
        Input::Answer { .. }
            | Input::Verdict { .. }
            | Input::Decline { .. }
            | Input::Tell { .. }
            | Input::Cancel { step: Some(_), .. }
    )
}

/// Whether the whole run stops with it.
fn stops(input: &Input) -> bool {
    matches!(input, Input::Pause | Input::Cancel { step: None, .. })
}
