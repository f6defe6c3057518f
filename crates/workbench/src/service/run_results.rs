//! What a program that delegates work asks for: how far each run is, and the files that one has made.

use updraft_engine::changed_files;
use updraft_journal::{RunFilter, RunSummary};
use updraft_run::{RunId, Status, Timestamp};

use super::run_list::seen;
use super::runs::LiveRuns;
use crate::fault::Fault;

/// How far a run is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunHead {
    /// Its id.
    pub id: RunId,
    /// Its status; a run whose process is gone is paused.
    pub status: Status,
    /// When something last happened.
    pub updated: Timestamp,
}

impl From<RunSummary> for RunHead {
    fn from(run: RunSummary) -> Self {
        Self { status: seen(&run), id: run.id, updated: run.updated }
    }
}

impl LiveRuns {
    /// All runs of this workspace, the one that changed last first. Blocks on the disk.
    pub fn heads(&self) -> Result<Vec<RunHead>, Fault> {
        let workspace = Some(self.workspace().to_owned());
        let listed = self.journal().list(&RunFilter { workspace, ..RunFilter::default() })?;
        let mut heads: Vec<RunHead> = listed.into_iter().map(RunHead::from).collect();
        heads.sort_by(|one, other| (other.updated, &other.id).cmp(&(one.updated, &one.id)));
        Ok(heads)
    }

    /// How far one run is.
    pub fn head(&self, run: &RunId) -> Result<RunHead, Fault> {
        Ok(self.journal().head(run)?.into())
    }

    /// The files that a run has made or changed and that are still there, by path. Blocks on the disk.
    pub fn files_of(&self, run: &RunId) -> Result<Vec<String>, Fault> {
        let changed = changed_files(self.journal(), run, &self.bench().folder)?;
        Ok(changed.into_iter().filter(|file| file.is_there).map(|file| file.path).collect())
    }
}
