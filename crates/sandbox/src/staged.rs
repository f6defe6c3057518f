//! Staging: the changes that a command makes in the workspace are collected in a separate folder, and applied to the
//! workspace when the command has ended. The previous contents are kept.
//!
//! They are collected by an overlay (see `launch/overlay`) and applied by the launcher (see `apply`). If our process
//! ends before the command does, none of its changes reaches the workspace.

pub(crate) mod apply;
mod clear;
mod stage;

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use rustix::fs::{FlockOperation, Mode, OFlags};

use crate::staged_change::StagedChange;

pub(crate) use clear::remove;
pub(crate) use stage::OverlayStage;

const CHANGES: &str = "changes.json";
const BEFORE: &str = "before";
/// The prefix of the folders of commands.
const PREFIX: &str = "command-";
/// The prefix of the folders of interrupted commands with contents that must be kept.
const CUT_OFF: &str = "cut-off-";
/// How often to create a folder for a command before giving up, if other processes remove it at once.
const TRIES: usize = 100;

/// The changes of one command, and the previous contents. Removed when the last clone is dropped. Cheap to clone.
#[derive(Clone, Debug)]
pub struct StagedChanges(Arc<StagingFolder>);

#[derive(Debug)]
struct StagingFolder {
    path: PathBuf,
    /// While this lock is held, no sweep takes the folder for a leftover.
    lock: OwnedFd,
    /// Folders of earlier commands whose changes were never reported.
    cut_off: Vec<PathBuf>,
    /// Whether the launcher is done with it and the caller has the result.
    is_told: AtomicBool,
}

impl StagedChanges {
    /// Creates a folder for one command, and removes those of commands whose processes are gone.
    pub(crate) fn begin(parent: &Path) -> io::Result<StagedChanges> {
        use std::os::unix::fs::DirBuilderExt;
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
        let cut_off = clear::sweep(parent);
        let mut tried = 1;
        let (path, lock) = loop {
            let path = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?.keep();
            match lock(&path).and_then(|lock| Ok((is_at(&lock, &path)?, lock))) {
                Ok((true, lock)) => break (path, lock),
                // Before it was locked, another sweep could take it for a leftover.
                Err(error) if !is_taken(&error) => return Err(error),
                Ok((false, _)) | Err(_) if tried < TRIES => tried += 1,
                Ok((false, _)) | Err(_) => return Err(io::Error::other("other processes keep removing the folder")),
            }
        };
        Ok(StagedChanges(Arc::new(StagingFolder { path, lock, cut_off, is_told: AtomicBool::new(false) })))
    }

    /// Removes the folders of commands in this folder that were interrupted before a given time and that no process
    /// uses. Returns their paths; with `is_dry` it only lists them.
    pub fn prune(parent: &Path, before: SystemTime, is_dry: bool) -> Vec<PathBuf> {
        clear::prune(parent, before, is_dry)
    }

    /// Marks the result of the command as reported. Returns messages about earlier, interrupted commands.
    pub(crate) fn told(&self) -> Vec<String> {
        self.0.is_told.store(true, Ordering::Relaxed);
        let say = |folder: &PathBuf| {
            format!(
                "an earlier command was interrupted while its changes were being applied to the workspace; the \
                 previous contents are in `{}`, listed in `{CHANGES}`: remove that folder when it is not needed",
                folder.display()
            )
        };
        self.0.cut_off.iter().map(say).collect()
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.0.path
    }

    /// The changes of the command, in the order in which they were applied to the workspace.
    pub fn changes(&self) -> io::Result<Vec<StagedChange>> {
        clear::listed(&self.0.path)
    }

    /// The path of the previous file or link, under a name of ours.
    pub fn kept(&self, number: u64) -> PathBuf {
        self.0.path.join(BEFORE).join(number.to_string())
    }

    /// Opens the previous file.
    pub fn open_kept(&self, number: u64) -> io::Result<File> {
        use std::os::unix::fs::OpenOptionsExt;
        let path = self.kept(number);
        let open = || OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(&path);
        match open() {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                // Its owner could not read it, but may change that.
                rustix::fs::chmod(&path, Mode::RUSR)?;
                open()
            }
            other => other,
        }
    }
}

impl PartialEq for StagedChanges {
    fn eq(&self, other: &Self) -> bool {
        self.0.path == other.0.path
    }
}

impl Eq for StagedChanges {}

impl Drop for StagingFolder {
    fn drop(&mut self) {
        if self.is_told.load(Ordering::Relaxed) {
            clear::remove(&self.path);
        } else if rustix::fs::flock(&self.lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
            // The command was interrupted. While the launcher also holds the folder, the launcher removes it, or the
            // next sweep does, which also reports the contents that were kept.
            clear::remove_if_empty(&self.path);
        }
    }
}

/// Whether the path still leads to this folder.
fn is_at(folder: &OwnedFd, path: &Path) -> io::Result<bool> {
    let (held, named) = (rustix::fs::fstat(folder)?, rustix::fs::lstat(path)?);
    Ok((held.st_dev, held.st_ino) == (named.st_dev, named.st_ino))
}

/// Whether the folder was removed, or another process is about to remove it.
fn is_taken(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::WouldBlock)
}

/// Locks a command's folder, shared with the other processes that use it.
fn lock(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::open(path, flags, Mode::empty())?;
    rustix::fs::flock(&folder, FlockOperation::NonBlockingLockShared)?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_sweep_takes_the_folder_of_a_command_that_is_about_to_begin() {
        let parent = tempfile::tempdir().unwrap();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        assert!(clear::sweep(parent.path()).is_empty());
                    }
                });
            }
            let begun = || -> io::Result<()> {
                for _ in 0..500 {
                    let staged = StagedChanges::begin(parent.path())?;
                    std::fs::create_dir(staged.folder().join("upper"))?;
                    staged.told();
                }
                Ok(())
            };
            let all = begun();
            is_over.store(true, Ordering::Relaxed);
            all.unwrap();
        });
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0);
    }
}
