//! Runs removed for good, with all that was kept for them beside the journal.

use std::collections::BTreeSet;
use std::path::PathBuf;

use updraft_journal::{Error, Journal, RunFilter, RunSummary};
use updraft_run::{RunId, Timestamp};

use crate::fault::{Fault, blocking};
use crate::folders::AppFolders;
use crate::observe::remove_logs;
use crate::repositories::{self, RunBranch};
use crate::{piped_files, tools, undo};

/// Which runs are old enough to be removed.
#[derive(Clone, Debug)]
pub struct PruneOrder {
    /// Those that have ended, and nothing happened in them since then.
    pub before: Timestamp,
    /// Only those of this workspace.
    pub workspace: Option<String>,
}

impl PruneOrder {
    /// The runs that would be removed now. Blocks on the disk.
    pub fn runs(&self, journal: &Journal) -> Result<Vec<RunSummary>, Fault> {
        let mut old = journal.list(&RunFilter { workspace: self.workspace.clone(), ..RunFilter::default() })?;
        old.retain(|run| run.status.is_final() && run.updated < self.before && !run.is_owned());
        Ok(old)
    }

    /// Removes them.
    pub async fn carry_out(&self, folders: &AppFolders, journal: &Journal) -> Result<Vec<RunId>, Fault> {
        let (order, read) = (self.clone(), journal.clone());
        let files = blocking(move || {
            let old = order.runs(&read)?;
            Ok(old.iter().flat_map(|run| piped_files::given_to(&read, run)).collect::<BTreeSet<PathBuf>>())
        });
        let files = files.await?;
        let gone = journal.prune(self.before, self.workspace.as_deref()).await?;
        for id in &gone {
            RunBranch::forget(journal, id).await;
        }
        let (folders, journal, ids) = (folders.clone(), journal.clone(), gone.clone());
        blocking(move || {
            for id in &ids {
                forget(&folders, id);
            }
            Ok(piped_files::remove(&journal, &files)?)
        })
        .await?;
        Ok(gone)
    }
}

/// Removes a run. Fails if a process works on it, unless `forced`.
pub async fn remove_run(folders: &AppFolders, journal: &Journal, id: &RunId, forced: bool) -> Result<(), Error> {
    // Of a run that the journal has lost, only the name is left.
    let files = journal.head(id).map(|run| piped_files::given_to(journal, &run)).unwrap_or_default();
    journal.delete(id, forced).await?;
    RunBranch::forget(journal, id).await;
    forget(folders, id);
    piped_files::remove(journal, &files.into_iter().collect())
}

/// Removes what was kept to undo the run, copies of the workspace that its candidates left, its clone of a repository, and its
/// logs.
fn forget(folders: &AppFolders, id: &RunId) {
    // Usually there is nothing; leftovers do no harm.
    let _ = std::fs::remove_dir_all(undo::records(folders).join(id.as_str()));
    let _ = std::fs::remove_dir_all(tools::copies_of(folders, id));
    repositories::forget_clone(folders, id);
    remove_logs(folders, id);
}
