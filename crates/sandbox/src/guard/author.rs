//! Finds out who changed a guarded file: a command cannot have written a file that was read-only for it.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags, Stat};

/// The device and inode of a file or folder.
type GuardInode = (u64, u64);

/// The paths that were mounted read-only over themselves when a command started.
#[derive(Default)]
pub(super) struct ReadOnlyMounts(BTreeMap<PathBuf, MountIdentity>);

struct MountIdentity {
    itself: GuardInode,
    /// The folder it is in.
    above: Option<GuardInode>,
    is_folder: bool,
    has_other_names: bool,
}

/// Who changed a file, as far as known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChangeAuthor {
    /// Possibly the command.
    Command,
    /// Others: it was read-only for the command all the time.
    Others,
    /// Another program replaced it. The new file was no longer read-only, but no command can have put it there.
    Replaced,
}

impl ReadOnlyMounts {
    pub(super) fn of(root: &OwnedFd, paths: impl Iterator<Item = PathBuf>) -> ReadOnlyMounts {
        let mounted = |path: PathBuf| {
            let stat = stat(root, &path)?;
            let is_folder = rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Directory;
            let above = above(root, &path);
            let has_other_names = !is_folder && stat.st_nlink > 1;
            Some((path, MountIdentity { itself: inode(&stat), above, is_folder, has_other_names }))
        };
        ReadOnlyMounts(paths.filter_map(mounted).collect())
    }

    /// Who made the current file at this path. `had_other_names` says that hard links could reach the file around its
    /// mount.
    pub(super) fn author(&self, root: &OwnedFd, path: &Path, had_other_names: bool) -> ChangeAuthor {
        if had_other_names {
            return ChangeAuthor::Command;
        }
        for place in path.ancestors() {
            let Some(was) = self.0.get(place).filter(|was| !was.has_other_names) else { continue };
            if stat(root, place).is_some_and(|now| inode(&now) == was.itself) {
                return ChangeAuthor::Others;
            }
            // In the command's mount namespace nothing can be renamed over a mount point.
            if !was.is_folder && was.above.is_some() && above(root, place) == was.above {
                return ChangeAuthor::Replaced;
            }
        }
        ChangeAuthor::Command
    }
}

fn inode(stat: &Stat) -> GuardInode {
    (stat.st_dev, stat.st_ino)
}

fn above(root: &OwnedFd, path: &Path) -> Option<GuardInode> {
    path.parent().and_then(|parent| stat(root, parent)).map(|stat| inode(&stat))
}

/// The metadata of a path, reached without following links.
fn stat(root: &OwnedFd, path: &Path) -> Option<Stat> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let opened = rustix::fs::openat2(root, path, flags, Mode::empty(), resolve).ok()?;
    rustix::fs::fstat(&opened).ok()
}
