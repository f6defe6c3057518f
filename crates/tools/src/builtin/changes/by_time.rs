//! Finds what changed in the workspace since a given time by looking at the times of files. Used for calls whose
//! changes the sandbox did not record.
//!
//! The times show neither the previous contents nor removed files, so none of these changes can be undone.

use std::path::PathBuf;
use std::time::SystemTime;

use updraft_run::FileChange;
use updraft_workspace::{Stamp, Workspace, in_nanoseconds};

/// Most files and folders that are looked at.
const LOOKED_AT: usize = 50_000;
/// Most changes that are listed.
const LISTED: usize = 1_000;

/// The reason given when the list may be incomplete.
const CUT: &str = "more than is listed may have changed: there are too many files or changes to look at";

/// The changes that were found.
#[derive(Debug, Default)]
pub(crate) struct SeenChanges {
    pub(crate) list: Vec<FileChange>,
    /// Whether there may be more changes than are listed.
    is_cut: bool,
}

impl SeenChanges {
    /// Why the list may be incomplete; `None` if it is complete.
    pub(crate) fn unlisted(&self) -> Option<String> {
        self.is_cut.then(|| CUT.to_owned())
    }
}

/// The changes in writable folders outside the workspace, with absolute paths.
pub(crate) async fn beyond(folders: &[PathBuf], began: SystemTime) -> SeenChanges {
    if folders.is_empty() {
        return SeenChanges::default();
    }
    let folders = folders.to_vec();
    let looking = tokio::task::spawn_blocking(move || {
        let mut all = SeenChanges::default();
        for folder in folders {
            let found = Workspace::open(&folder).map(|opened| since(&opened, began)).unwrap_or_default();
            let whole = |one: FileChange| FileChange { path: folder.join(&one.path).display().to_string(), ..one };
            all.list.extend(found.list.into_iter().map(whole));
            all.is_cut |= found.is_cut;
        }
        all
    });
    looking.await.unwrap_or(SeenChanges { list: Vec::new(), is_cut: true })
}

pub(crate) fn since(workspace: &Workspace, began: SystemTime) -> SeenChanges {
    let began = in_nanoseconds(began);
    let survey = workspace.survey(LOOKED_AT);
    let changed = survey.stamps.iter().filter(|(_, stamp)| !stamp.is_folder() && stamp.changed >= began);
    let change = |(path, stamp): (&Vec<u8>, &Stamp)| {
        let (path, now) = (String::from_utf8_lossy(path).into_owned(), Some(stamp.form()));
        FileChange { path, was: now, now, lost: true, ..FileChange::default() }
    };
    let mut list: Vec<FileChange> = changed.take(LISTED + 1).map(change).collect();
    let is_cut = survey.is_cut || list.len() > LISTED;
    list.truncate(LISTED);
    SeenChanges { list, is_cut }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_list_that_was_cut_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let folders = [folder.path().to_owned()];
        let fill = |files: std::ops::Range<usize>| {
            files.for_each(|n| std::fs::write(folder.path().join(n.to_string()), "").unwrap());
        };
        fill(0..LISTED);
        let seen = beyond(&folders, SystemTime::UNIX_EPOCH).await;
        assert_eq!((seen.list.len(), seen.unlisted()), (LISTED, None));
        fill(LISTED..LISTED + 1);
        let seen = beyond(&folders, SystemTime::UNIX_EPOCH).await;
        assert_eq!((seen.list.len(), seen.unlisted().as_deref()), (LISTED, Some(CUT)));
    }
}
