//! Removes the folder of a command, whatever modes the command gave its content.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::{BEFORE, CHANGES, CUT_OFF, PREFIX, StagedChange};
use crate::guard::{allow_owner, names};

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Most nested folders that are held open at once.
const HELD: usize = 64;

/// Removes folders that nobody holds, because the processes that made them are gone. Returns those that contain
/// previous contents of a workspace which were never reported.
pub(super) fn sweep(parent: &Path) -> Vec<PathBuf> {
    let mut cut_off = Vec::new();
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let Ok(folder) = rustix::fs::openat(CWD, entry.path(), FOLDER, Mode::empty()) else { continue };
        if rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok() {
            cut_off.extend(settle(&entry.path()));
        }
    }
    cut_off
}

/// Removes the folders of interrupted commands that ended before this time and that no process uses. Returns their
/// paths.
pub(super) fn prune(parent: &Path, before: SystemTime, is_dry: bool) -> Vec<PathBuf> {
    let mut gone = Vec::new();
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !name.starts_with(CUT_OFF) && !name.starts_with(PREFIX) {
            continue;
        }
        let Ok(folder) = rustix::fs::openat(CWD, entry.path(), FOLDER, Mode::empty()) else { continue };
        let is_free = rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok();
        let is_old = entry.metadata().and_then(|about| about.modified()).is_ok_and(|changed| changed < before);
        if is_free && is_old {
            if !is_dry {
                remove(&entry.path());
            }
            gone.push(entry.path());
        }
    }
    gone
}

/// Removes the folder of a command whose end was never reported, unless some of its changes reached the workspace:
/// then the folder gets a name that no sweep looks for.
pub(super) fn settle(path: &Path) -> Option<PathBuf> {
    if remove_if_empty(path) { None } else { keep(path) }
}

/// Removes the folder unless some changes of the command reached the workspace; the next sweep reports those.
pub(super) fn remove_if_empty(path: &Path) -> bool {
    let has_kept = std::fs::read_dir(path.join(BEFORE)).is_ok_and(|mut kept| kept.next().is_some());
    // A file may have been moved away and not be among the kept ones yet; and new files are recorded only in the
    // list.
    let is_empty = !has_kept && !listed(path).is_ok_and(|all| !all.is_empty());
    if is_empty {
        remove(path);
    }
    is_empty
}

fn keep(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?.strip_prefix(PREFIX)?;
    let kept = path.with_file_name(format!("{CUT_OFF}{name}"));
    std::fs::rename(path, &kept).is_ok().then_some(kept)
}

/// The list of changes in a command's folder.
pub(super) fn listed(path: &Path) -> io::Result<Vec<StagedChange>> {
    let file = io::BufReader::new(File::open(path.join(CHANGES))?);
    let mut all = Vec::new();
    for one in serde_json::Deserializer::from_reader(file).into_iter() {
        match one {
            Ok(one) => all.push(one),
            // The process that wrote it was interrupted.
            Err(error) if error.is_eof() => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(all)
}

/// Removes a folder with its content. If something cannot be removed, the next sweep tries again.
pub(crate) fn remove(path: &Path) {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return };
    let Ok(parent) = rustix::fs::openat(CWD, parent, FOLDER, Mode::empty()) else { return };
    let Ok(top) = open_up(&parent, name) else { return };
    let mut removal = FolderRemoval { top, hoisted: 0 };
    loop {
        let before = removal.hoisted;
        removal.empty(None, 0);
        if removal.hoisted == before {
            break;
        }
    }
    let _ = rustix::fs::unlinkat(&parent, name, AtFlags::REMOVEDIR);
}

/// Removes a tree that may be deeper than there are descriptors: folders that are too deep are moved to the top
/// first.
struct FolderRemoval {
    top: OwnedFd,
    hoisted: usize,
}

impl FolderRemoval {
    fn empty(&mut self, folder: Option<&OwnedFd>, depth: usize) {
        for name in names(folder.unwrap_or(&self.top)).unwrap_or_default() {
            let place = folder.unwrap_or(&self.top);
            match rustix::fs::unlinkat(place, &name, AtFlags::empty()) {
                Err(Errno::ISDIR | Errno::PERM) => {}
                _ => continue,
            }
            let Ok(inner) = open_up(place, &name) else { continue };
            if depth < HELD {
                self.empty(Some(&inner), depth + 1);
            } else if rustix::fs::renameat(place, &name, &self.top, format!("hoisted-{}", self.hoisted)).is_ok() {
                self.hoisted += 1;
                continue;
            }
            let _ = rustix::fs::unlinkat(folder.unwrap_or(&self.top), &name, AtFlags::REMOVEDIR);
        }
    }
}

/// Opens a folder whose owner may have no permission for it, and gives the owner all permissions.
pub(super) fn open_up(parent: impl AsFd, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    let held = rustix::fs::openat(&parent, name, FOLDER.difference(OFlags::RDONLY) | OFlags::PATH, Mode::empty())?;
    let mode = Mode::from_raw_mode(rustix::fs::fstat(&held)?.st_mode);
    if !mode.contains(Mode::RWXU) {
        allow_owner(&held)?;
    }
    rustix::fs::openat(&parent, name, FOLDER, Mode::empty())
}
