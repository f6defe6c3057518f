//! What changed in the workspace since a moment, by the times of files: for calls whose changes were not gathered.
//!
//! It cannot be told what was there before, nor what was removed, so none of it can be undone.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use updraft_run::{Change, Form, FormKind};

use crate::place::Workspace;

/// Files and folders that are looked at.
const LOOKED_AT: usize = 50_000;
/// Changes that are listed.
const LISTED: usize = 1_000;

pub(crate) fn since(workspace: &Workspace, began: SystemTime) -> Vec<Change> {
    let began = began.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let began = (began.as_secs().cast_signed(), i64::from(began.subsec_nanos()));
    let mut seen = Seen { began, looked_at: 0, found: Vec::new() };
    let mut left = vec![PathBuf::new()];
    while let Some(folder) = left.pop() {
        left.extend(seen.folder(workspace.root(), &folder));
    }
    seen.found
}

struct Seen {
    began: (i64, i64),
    looked_at: usize,
    found: Vec<Change>,
}

impl Seen {
    /// Looks at the files of one folder, and gives the folders in it. Only times and sizes are read, and no link followed.
    fn folder(&mut self, root: &Path, folder: &Path) -> Vec<PathBuf> {
        let mut below = Vec::new();
        for entry in std::fs::read_dir(root.join(folder)).into_iter().flatten().flatten() {
            self.looked_at += 1;
            if self.looked_at > LOOKED_AT || self.found.len() >= LISTED {
                return Vec::new();
            }
            let Ok(about) = entry.metadata() else { continue };
            let path = folder.join(entry.file_name());
            if about.is_dir() {
                below.push(path);
            } else if (about.ctime(), about.ctime_nsec()) >= self.began {
                let now = Some(form(&about));
                let path = path.to_string_lossy().into_owned();
                self.found.push(Change { path, was: now, now, lost: true, ..Change::default() });
            }
        }
        below
    }
}

fn form(about: &Metadata) -> Form {
    let kind = match (about.is_file(), about.is_symlink()) {
        (true, _) => FormKind::File,
        (false, true) => FormKind::Link,
        (false, false) => FormKind::Other,
    };
    let modified = about.mtime().saturating_mul(1_000_000_000).saturating_add(about.mtime_nsec());
    Form { kind, mode: about.mode() & 0o7777, len: about.len(), modified: Some(modified) }
}
