//! Where a page of a run gets what the run's history does not hold: from a server, or from the stored run.

use updraft_run::{EffectAddress, Graph, Run, RunId};
use updraft_workbench::history::{CallEntry, RunArchive};
use updraft_workbench::service::{LiveRuns, NumberedEvent};
use updraft_workbench::{Fault, StepOutlook};

/// The source of a page.
#[derive(Clone, Copy)]
pub(super) enum RunSource<'a> {
    /// The runs of a server: the page leads to others.
    Served(&'a LiveRuns),
    /// One stored run: the page is a file of its own, which leads nowhere.
    Stored(&'a RunArchive),
}

impl RunSource<'_> {
    pub(super) fn is_stored(&self) -> bool {
        matches!(self, RunSource::Stored(_))
    }

    /// How many runs wait for a person.
    pub(super) fn waiting(&self) -> usize {
        match self {
            RunSource::Served(runs) => runs.waiting(),
            RunSource::Stored(_) => 0,
        }
    }

    /// What a call changed.
    pub(super) fn diff_of(&self, call: &CallEntry) -> Option<String> {
        match self {
            RunSource::Served(runs) => runs.diff_of(call),
            RunSource::Stored(run) => run.diff_of(call),
        }
    }

    /// Events from a number on; a file does not list them.
    pub(super) fn events(&self, run: &RunId, from: u64, most: usize) -> Result<Vec<NumberedEvent>, Fault> {
        match self {
            RunSource::Served(runs) => runs.events(run, from, most),
            RunSource::Stored(_) => Ok(Vec::new()),
        }
    }

    /// The prompt of a question, in words; a file does not show them.
    pub(super) fn prompt(&self, run: &RunId, address: &EffectAddress) -> Result<Option<String>, Fault> {
        match self {
            RunSource::Served(runs) => Ok(runs.prompt(run, address)?.map(|sent| sent.prompt)),
            RunSource::Stored(_) => Ok(None),
        }
    }

    /// What a plan that waits would use.
    pub(super) fn outlook(&self, run: &Run, graph: &Graph) -> Vec<StepOutlook> {
        match self {
            RunSource::Served(runs) => runs.outlook(run, graph),
            RunSource::Stored(_) => Vec::new(),
        }
    }
}
