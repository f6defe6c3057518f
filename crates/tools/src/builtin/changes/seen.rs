//! What changed in the workspace since a moment, by the times of files: for calls whose changes were not gathered.
//!
//! It cannot be told what was there before, nor what was removed, so none of it can be undone.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use updraft_run::Change;

use updraft_workspace::{Links, Workspace};

/// Files and folders that are looked at.
const LOOKED_AT: usize = 50_000;
/// Changes that are listed.
const LISTED: usize = 1_000;

/// What changed in folders outside of the workspace that may be written as well, by whole paths.
pub(crate) async fn beyond(folders: &[PathBuf], began: SystemTime) -> Vec<Change> {
    if folders.is_empty() {
        return Vec::new();
    }
    let folders = folders.to_vec();
    let looking = tokio::task::spawn_blocking(move || {
        let in_one = |folder: PathBuf| {
            let found = Workspace::open(&folder).map(|opened| since(&opened, began)).unwrap_or_default();
            found.into_iter().map(move |one| Change { path: folder.join(&one.path).display().to_string(), ..one })
        };
        folders.into_iter().flat_map(in_one).collect()
    });
    looking.await.unwrap_or_default()
}

pub(crate) fn since(workspace: &Workspace, began: SystemTime) -> Vec<Change> {
    let began = began.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let began = i64::try_from(began.as_nanos()).unwrap_or(i64::MAX);
    let mut seen = Seen { began, looked_at: 0, found: Vec::new() };
    let mut left = vec![PathBuf::new()];
    while let Some(folder) = left.pop() {
        left.extend(seen.folder(workspace, &folder));
    }
    seen.found
}

struct Seen {
    /// In nanoseconds since 1970.
    began: i64,
    looked_at: usize,
    found: Vec<Change>,
}

impl Seen {
    /// Looks at the files of one folder, and gives the folders in it. Only times and sizes are read, and no link followed.
    fn folder(&mut self, workspace: &Workspace, folder: &Path) -> Vec<PathBuf> {
        let mut below = Vec::new();
        let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let Ok(opened) = workspace.folder().folder(here, Links::Never) else { return below };
        for (name, _) in opened.entries().into_iter().flatten().flatten() {
            self.looked_at += 1;
            if self.looked_at > LOOKED_AT || self.found.len() >= LISTED {
                return Vec::new();
            }
            let Ok(about) = opened.look(&name) else { continue };
            let path = folder.join(name);
            if about.is_folder() {
                below.push(path);
            } else if about.changed >= self.began {
                let now = Some(about.form());
                let path = path.to_string_lossy().into_owned();
                self.found.push(Change { path, was: now, now, lost: true, ..Change::default() });
            }
        }
        below
    }
}
