//! Notices if the journal's files are deleted or replaced while this process writes to them.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::{Error, location};

/// The identities of the main file and the write-ahead log when this process began to write. SQLite removes neither
/// while a process has them open, so both must exist and be the same as long as it writes.
#[derive(Debug)]
pub(super) struct FileIdentities(Vec<(PathBuf, Option<FileId>)>);

impl FileIdentities {
    pub(super) fn now(journal: &Path) -> Self {
        Self(
            [journal.to_path_buf(), location::beside(journal, "-wal")]
                .map(|path| (path.clone(), id(&path).ok()))
                .into(),
        )
    }

    /// What happened to the first file that is missing or replaced.
    pub(super) fn fault(&self) -> Option<Error> {
        self.0.iter().find_map(|(path, known)| {
            let why = match id(path) {
                Err(error) if error.kind() == ErrorKind::NotFound && known.is_some() => "was deleted",
                Ok(found) if known.is_some_and(|known| known != found) => "was replaced by another file",
                Ok(_) | Err(_) => return None,
            };
            Some(Error::Replaced { path: path.clone(), why })
        })
    }
}

/// Device and inode. On other systems than Unix a file in use can be neither deleted nor replaced, and both are 0.
type FileId = (u64, u64);

#[cfg(unix)]
fn id(path: &Path) -> std::io::Result<FileId> {
    use std::os::unix::fs::MetadataExt as _;
    path.metadata().map(|about| (about.dev(), about.ino()))
}

#[cfg(not(unix))]
fn id(path: &Path) -> std::io::Result<FileId> {
    path.metadata().map(|_| (0, 0))
}
