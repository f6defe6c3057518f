//! The private folder of a command that sees the host's files: its home and its temporary files.
//!
//! It is removed when the command ends. If the launcher is killed, the next launcher removes it, because nobody holds
//! its lock any more.

use std::fs::{DirBuilder, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FlockOperation, Mode, OFlags};

use crate::git_identity::{self, GitSetting};
use crate::staged::remove;

const PREFIX: &str = "updraft-sandbox-";
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// How often to try: another sweep may remove the folder before it is locked.
const TRIES: usize = 8;

pub(super) struct ScratchFolder {
    path: PathBuf,
    /// While this lock is held, no sweep takes the folder for a leftover.
    _held: OwnedFd,
}

impl ScratchFolder {
    /// Creates a folder that nobody else can enter.
    pub(super) fn begin(parent: &Path, git: &[GitSetting]) -> io::Result<ScratchFolder> {
        DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
        sweep(parent);
        for _ in 0..TRIES {
            // Regardless of the umask: other users must not have access.
            let only_ours = Permissions::from_mode(0o700);
            let folder = tempfile::Builder::new().prefix(PREFIX).permissions(only_ours).tempdir_in(parent)?;
            let path = folder.keep();
            let Some(held) = hold(&path).filter(|held| is_at(held, &path)) else { continue };
            let scratch = ScratchFolder { path, _held: held };
            let home = scratch.path.join("home");
            std::fs::create_dir(&home)?;
            std::fs::create_dir(scratch.path.join("tmp"))?;
            for (name, text) in git_identity::files(git) {
                std::fs::write(home.join(name), text)?;
            }
            return Ok(scratch);
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

fn hold(path: &Path) -> Option<OwnedFd> {
    let folder = rustix::fs::openat(CWD, path, FOLDER, Mode::empty()).ok()?;
    rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive).ok()?;
    Some(folder)
}

fn is_at(held: &OwnedFd, path: &Path) -> bool {
    let there = std::fs::symlink_metadata(path).map(|there| (there.dev(), there.ino()));
    let ours = rustix::fs::fstat(held).map(|ours| (ours.st_dev, ours.st_ino));
    matches!((there, ours), (Ok(there), Ok(ours)) if there == ours)
}

/// Removes folders of launchers that are gone, but only from a parent where nobody else could have created them.
fn sweep(parent: &Path) {
    let user = rustix::process::geteuid().as_raw();
    let is_ours = std::fs::metadata(parent).is_ok_and(|about| about.uid() == user && about.mode() & 0o022 == 0);
    if !is_ours {
        return;
    }
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(PREFIX)
            && let Some(_held) = hold(&entry.path())
        {
            remove(&entry.path());
        }
    }
}
