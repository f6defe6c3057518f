//! A whole run as it is stored, to be written out for people.

use std::ops::ControlFlow;

use updraft_journal::Journal;
use updraft_run::{Record, Reply, RunId};

use super::{CallEntry, RunHistory};
use crate::fault::Fault;

/// Most bytes of a diff that are shown.
const DIFF: usize = 200_000;

/// A run and everything that happened in it.
pub struct RunArchive {
    journal: Journal,
    id: RunId,
    history: RunHistory,
}

impl RunArchive {
    /// Reads a run.
    pub fn read(journal: &Journal, id: &RunId) -> Result<Self, Fault> {
        let mut history = RunHistory::default();
        journal.read(id, 0, &mut |first, record: Record| {
            history.add(first, &record, u64::MAX);
            ControlFlow::Continue(())
        })?;
        Ok(Self { journal: journal.clone(), id: id.clone(), history })
    }

    /// The run's id.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// What happened.
    pub fn history(&self) -> &RunHistory {
        &self.history
    }

    /// What a call changed in text files, as a unified diff.
    pub fn diff_of(&self, call: &CallEntry) -> Option<String> {
        diff_in(&self.journal, call)
    }
}

/// What a call changed in text files, as a unified diff.
pub(crate) fn diff_in(journal: &Journal, call: &CallEntry) -> Option<String> {
    let Some(Reply::Output(output)) = &call.reply else { return None };
    let stored = || {
        let bytes = journal.blob(&output.diff?.hash).ok()??;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    let own = output.value.as_ref().and_then(|value| value["diff"].as_str()).map(str::to_owned);
    let mut text = own.or_else(stored).filter(|text| !text.trim().is_empty())?;
    text.truncate(text.floor_char_boundary(DIFF));
    Some(text)
}
