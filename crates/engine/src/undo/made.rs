//! What a run changed, read from its journal.

use std::ops::ControlFlow;

use serde::Serialize;
use updraft_journal::Journal;
use updraft_run::{Address, Change, Event, Output, Record, Reply, RunId, StepId, Timestamp};

use crate::Error;

/// One change of a run, and the call that made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Made {
    /// When the call ended.
    pub at: Timestamp,
    /// The call.
    pub call: Address,
    /// What it changed.
    #[serde(flatten)]
    pub change: Change,
}

/// Which changes are meant.
#[derive(Clone, Debug, Default)]
pub struct Which {
    /// Only those of this step.
    pub step: Option<StepId>,
    /// Only those of this call.
    pub call: Option<Address>,
}

impl Which {
    fn has(&self, call: &Address) -> bool {
        self.step.as_ref().is_none_or(|step| *step == call.step) && self.call.as_ref().is_none_or(|one| one == call)
    }
}

/// All changes, in the order of the journal. What a fork took over from another run is that run's.
pub(crate) fn made(journal: &Journal, run: &RunId, which: &Which) -> Result<Vec<Made>, Error> {
    let mut made = Vec::new();
    let mut fault = None;
    journal.read(run, 0, &mut |_, record: Record| {
        for event in &record.events {
            match event {
                Event::Forked { .. } => made.clear(),
                Event::Replied { id, reply: Reply::Output(output), .. } if which.has(id) => {
                    match changes(journal, output) {
                        Ok(changes) => made.extend(changes.into_iter().map(|change| Made {
                            at: record.at,
                            call: id.clone(),
                            change,
                        })),
                        Err(error) => fault = Some(error),
                    }
                }
                _ => {}
            }
        }
        if fault.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    fault.map_or(Ok(made), Err)
}

/// All changes of one output.
pub(crate) fn changes(journal: &Journal, output: &Output) -> Result<Vec<Change>, Error> {
    let Some(all) = &output.all_changes else { return Ok(output.changes.clone()) };
    let stored = journal.blob(&all.hash)?;
    Ok(stored.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_else(|| output.changes.clone()))
}
