//! What changed in the workspace since a moment, by the times of files: for calls whose changes were not gathered.
//!
//! It cannot be told what was there before, nor what was removed, so none of it can be undone.

use std::path::PathBuf;
use std::time::SystemTime;

use updraft_run::FileChange;
use updraft_workspace::{Stamp, Workspace, in_nanoseconds};

/// Files and folders that are looked at.
const LOOKED_AT: usize = 50_000;
/// Changes that are listed.
const LISTED: usize = 1_000;

/// What changed in folders outside of the workspace that may be written as well, by whole paths.
pub(crate) async fn beyond(folders: &[PathBuf], began: SystemTime) -> Vec<FileChange> {
    if folders.is_empty() {
        return Vec::new();
    }
    let folders = folders.to_vec();
    let looking = tokio::task::spawn_blocking(move || {
        let in_one = |folder: PathBuf| {
            let found = Workspace::open(&folder).map(|opened| since(&opened, began)).unwrap_or_default();
            found.into_iter().map(move |one| FileChange { path: folder.join(&one.path).display().to_string(), ..one })
        };
        folders.into_iter().flat_map(in_one).collect()
    });
    looking.await.unwrap_or_default()
}

pub(crate) fn since(workspace: &Workspace, began: SystemTime) -> Vec<FileChange> {
    let began = in_nanoseconds(began);
    let survey = workspace.survey(LOOKED_AT);
    let changed = survey.stamps.iter().filter(|(_, stamp)| !stamp.is_folder() && stamp.changed >= began);
    let change = |(path, stamp): (&Vec<u8>, &Stamp)| {
        let (path, now) = (String::from_utf8_lossy(path).into_owned(), Some(stamp.form()));
        FileChange { path, was: now, now, lost: true, ..FileChange::default() }
    };
    changed.take(LISTED).map(change).collect()
}
