//! Removing what a command left in its folder, whatever modes it gave it.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use crate::guard::{allow_owner, names};

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Removes folders that nobody holds: the processes that made them are gone.
pub(super) fn sweep(parent: &Path, prefix: &str) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(prefix) {
            continue;
        }
        let Ok(folder) = rustix::fs::openat(CWD, entry.path(), FOLDER, Mode::empty()) else { continue };
        if rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok() {
            remove(&entry.path());
        }
    }
}

/// Removes a folder with all that is in it. What cannot be removed is left: the next sweep tries again.
pub(super) fn remove(path: &Path) {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return };
    if let Ok(parent) = rustix::fs::openat(CWD, parent, FOLDER, Mode::empty()) {
        remove_in(&parent, name);
    }
}

fn remove_in(parent: &OwnedFd, name: &OsStr) {
    match rustix::fs::unlinkat(parent, name, AtFlags::empty()) {
        Err(Errno::ISDIR | Errno::PERM) => {}
        _ => return,
    }
    if let Ok(folder) = open_up(parent, name) {
        for inner in names(&folder).unwrap_or_default() {
            remove_in(&folder, &inner);
        }
    }
    let _ = rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR);
}

/// Opens a folder that its owner may have been locked out of, with every right.
pub(super) fn open_up(parent: impl AsFd, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    let held = rustix::fs::openat(&parent, name, FOLDER.difference(OFlags::RDONLY) | OFlags::PATH, Mode::empty())?;
    let mode = Mode::from_raw_mode(rustix::fs::fstat(&held)?.st_mode);
    if !mode.contains(Mode::RWXU) {
        allow_owner(&held)?;
    }
    rustix::fs::openat(&parent, name, FOLDER, Mode::empty())
}
