//! Staging: what a command changes in the workspace is gathered in a folder of its own, and put into the workspace when it
//! has ended, with what was there before kept aside.
//!
//! The gathering is an overlay (see `launch/overlay`), the putting is done by the launcher (see `apply`). If our process
//! ends before the command does, nothing of the command reaches the workspace.

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

use crate::changed::StagedChange;

pub(crate) use clear::remove;
pub(crate) use stage::OverlayStage;

const CHANGES: &str = "changes.json";
const BEFORE: &str = "before";
/// So begin the names of folders of commands.
const PREFIX: &str = "command-";
/// And those of commands that were cut off, with what is to be kept of them.
const CUT_OFF: &str = "cut-off-";
/// Folders that are made for one command before it is given up, where other processes remove them at once.
const TRIES: usize = 100;

/// What one command changed, and what was there before. Gone when the last clone is dropped. Cheap to clone.
#[derive(Clone, Debug)]
pub struct StagedChanges(Arc<StagingFolder>);

#[derive(Debug)]
struct StagingFolder {
    path: PathBuf,
    /// As long as it is held, nobody takes the folder for one that was left behind.
    lock: OwnedFd,
    /// What earlier commands left, whose changes were not told to anybody.
    cut_off: Vec<PathBuf>,
    /// The launcher is done with it and whoever asked knows.
    is_told: AtomicBool,
}

impl StagedChanges {
    /// Makes a folder for one command, and removes those of commands whose processes are gone.
    pub(crate) fn begin(parent: &Path) -> io::Result<StagedChanges> {
        use std::os::unix::fs::DirBuilderExt;
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
        let cut_off = clear::sweep(parent);
        let mut tried = 1;
        let (path, lock) = loop {
            let path = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?.keep();
            match lock(&path).and_then(|lock| Ok((is_at(&lock, &path)?, lock))) {
                Ok((true, lock)) => break (path, lock),
                // Until it was locked, another sweep could take it for one that was left behind.
                Err(error) if !is_taken(&error) => return Err(error),
                Ok((false, _)) | Err(_) if tried < TRIES => tried += 1,
                Ok((false, _)) | Err(_) => return Err(io::Error::other("other processes keep removing the folder")),
            }
        };
        Ok(StagedChanges(Arc::new(StagingFolder { path, lock, cut_off, is_told: AtomicBool::new(false) })))
    }

    /// Removes what commands left in this folder that were cut off before a moment, and that no process works on. Names
    /// it; with `is_dry` it only does that.
    pub fn prune(parent: &Path, before: SystemTime, is_dry: bool) -> Vec<PathBuf> {
        clear::prune(parent, before, is_dry)
    }

    /// The command's end is known. Says what is to be known of earlier ones.
    pub(crate) fn told(&self) -> Vec<String> {
        self.0.is_told.store(true, Ordering::Relaxed);
        let say = |folder: &PathBuf| {
            format!(
                "an earlier command was cut off when its changes were put into the workspace; what was there before is \
                 in `{}`, listed in `{CHANGES}`: remove it when it is not needed",
                folder.display()
            )
        };
        self.0.cut_off.iter().map(say).collect()
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.0.path
    }

    /// What the command changed, in the order it was put into the workspace.
    pub fn changes(&self) -> io::Result<Vec<StagedChange>> {
        clear::listed(&self.0.path)
    }

    /// The file or link that was there before, under a name of ours.
    pub fn kept(&self, number: u64) -> PathBuf {
        self.0.path.join(BEFORE).join(number.to_string())
    }

    /// Opens the file that was there before.
    pub fn open_kept(&self, number: u64) -> io::Result<File> {
        use std::os::unix::fs::OpenOptionsExt;
        let path = self.kept(number);
        let open = || OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(&path);
        match open() {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                // Its owner could not read it, but change that.
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
            // Cut off. As long as the launcher holds it too, it is the launcher's to clear, or the next sweep's, which
            // also tells of what was kept.
            clear::remove_if_empty(&self.path);
        }
    }
}

/// Whether this is still the folder that has the name.
fn is_at(folder: &OwnedFd, path: &Path) -> io::Result<bool> {
    let (held, named) = (rustix::fs::fstat(folder)?, rustix::fs::lstat(path)?);
    Ok((held.st_dev, held.st_ino) == (named.st_dev, named.st_ino))
}

/// Whether it was removed, or somebody is about to do it.
fn is_taken(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::WouldBlock)
}

/// Holds a command's folder, together with whoever else works on it.
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
