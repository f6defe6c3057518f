//! Guards files that other programs would run later: existing ones are read-only while a command runs, and new ones
//! are moved aside after it.
//!
//! A hook, an editor's task or an agent's settings planted by a command would run with the user's full rights the
//! next time someone commits or opens the folder. The guard creates nothing in the workspace: files that do not exist
//! yet are looked for after the command.

mod aside;
mod author;
mod folder_kind;
mod from_settings;
mod harmless;
mod links;
mod rebase_todo;
mod saved;
mod scan;
mod watch;

pub(crate) use aside::names;
pub(crate) use scan::allow_owner;

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use updraft_workspace::{GRAIN, PathKind, ago};

use crate::policy::SandboxLevel;
use crate::protocol::MovedFile;
use aside::AsideFolder;
use author::{ChangeAuthor, ReadOnlyMounts};
use saved::{SavedFile, SavedFiles};
use scan::{GuardWalk, GuardedItem, ScanResult};

/// A path of a writable folder that is mounted over itself while a command runs.
pub(crate) struct SelfMount {
    folder: PathBuf,
    within: PathBuf,
    /// A repository stays writable; as a mount point it only cannot be renamed.
    pub(crate) is_read_only: bool,
}

/// The file or folder that a [`SelfMount`] mounts.
pub(crate) struct MountSource {
    /// Opened without following links, so that the source of the mount cannot be swapped.
    pub(crate) opened: OwnedFd,
    pub(crate) is_folder: bool,
}

impl SelfMount {
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join(&self.within)
    }

    /// The writable folder it is in.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Opens it in the mount namespace of the caller. Returns `None` if it is no longer a file or folder.
    pub(crate) fn open(&self) -> std::io::Result<Option<MountSource>> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        self.open_in(&rustix::fs::openat(CWD, &self.folder, flags, Mode::empty())?)
    }

    /// Opens it below `root`, which takes the place of its writable folder.
    pub(crate) fn open_in(&self, root: &OwnedFd) -> std::io::Result<Option<MountSource>> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let opened = match rustix::fs::openat2(root, &self.within, flags | OFlags::NOFOLLOW, Mode::empty(), resolve) {
            Ok(opened) => opened,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NAMETOOLONG) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let kind = FileType::from_raw_mode(rustix::fs::fstat(&opened)?.st_mode);
        let is_folder = kind == FileType::Directory;
        Ok((is_folder || kind == FileType::RegularFile).then_some(MountSource { opened, is_folder }))
    }
}

/// The guarded files of one writable folder, as they were before a command.
pub(crate) struct FolderGuard {
    folder: PathBuf,
    root: OwnedFd,
    /// Paths below the folder that are guarded regardless of their names.
    named: BTreeSet<PathBuf>,
    before: ScanResult,
    /// When the walk began, minus the resolution of file system clocks.
    settled: i64,
    saved: SavedFiles,
    held: ReadOnlyMounts,
}

/// The paths that a command created or changed in a folder, relative to it, if its changes were staged.
pub(crate) type ChangedPaths = BTreeSet<PathBuf>;

/// The result of the check after a command.
#[derive(Default)]
pub(crate) struct GuardReport {
    pub(crate) moved: Vec<MovedFile>,
    pub(crate) troubles: Vec<String>,
}

impl FolderGuard {
    /// Walks the folder before a command starts.
    pub(crate) fn before(folder: &Path, level: SandboxLevel, guarded: &[PathBuf]) -> std::io::Result<FolderGuard> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::openat(CWD, folder, flags, Mode::empty())?;
        let settled = ago(GRAIN);
        let below = guarded.iter().filter_map(|path| Some(path.strip_prefix(folder).ok()?.to_owned()));
        let named: BTreeSet<PathBuf> = below.filter(|path| !path.as_os_str().is_empty()).collect();
        let before = GuardWalk::all(&root, folder, &named, None);
        let saved = SavedFiles::of(&root, &before, level);
        let held = ReadOnlyMounts::default();
        let mut guard = FolderGuard { folder: folder.to_owned(), root, named, before, settled, saved, held };
        if level == SandboxLevel::Full {
            let read_only = guard.holds().into_iter().filter(|hold| hold.is_read_only).map(|hold| hold.within);
            guard.held = ReadOnlyMounts::of(&guard.root, read_only);
        }
        Ok(guard)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The sockets that were found.
    pub(crate) fn sockets(&self) -> impl Iterator<Item = PathBuf> {
        self.before.sockets.iter().map(|path| self.folder.join(path))
    }

    /// The paths to mount over themselves, outer folders first.
    pub(crate) fn holds(&self) -> Vec<SelfMount> {
        let mut paths: Vec<(PathBuf, bool)> =
            self.before.repositories.iter().map(|path| (path.clone(), false)).collect();
        // The folders above a guarded path must not be renamed.
        let around = self.named.iter().flat_map(|path| path.ancestors().skip(1)).map(|path| (path.to_owned(), false));
        paths.extend(around);
        let hooks = self.before.repositories.iter().map(|path| path.join("hooks"));
        paths.extend(hooks.chain(self.before.folders.iter().cloned()).map(|path| (path, true)));
        let whole: BTreeSet<PathBuf> =
            paths.iter().filter(|(_, is_read_only)| *is_read_only).map(|(path, _)| path.clone()).collect();
        for (path, item) in &self.before.items {
            let is_covered = path.ancestors().any(|above| whole.contains(above));
            // Links are not mounted; the target of a link is an item of its own.
            if item.stamp.kind != PathKind::Link && !item.stays_writable() && !is_covered {
                paths.push((path.clone(), true));
            }
        }
        // The workspace itself may be a bare repository; it is already a mount.
        paths.retain(|(path, _)| !path.as_os_str().is_empty());
        paths.sort();
        paths.dedup();
        paths.sort_by_key(|(path, _)| path.components().count());
        let hold = |(within, is_read_only)| SelfMount { folder: self.folder.clone(), within, is_read_only };
        paths.into_iter().map(hold).collect()
    }

    /// Walks the folder again once every process of the command is gone, and moves new guarded files aside. If it is
    /// known which paths the command changed, all others are attributed to other programs.
    pub(crate) fn after(&self, aside: Option<&Path>, made: Option<&ChangedPaths>) -> GuardReport {
        let after = GuardWalk::all(&self.root, &self.folder, &self.named, Some((&self.before, self.settled)));
        let mut outcome = GuardReport { moved: Vec::new(), troubles: told(after.troubles.clone()) };
        let mut place = AsideFolder::new(aside);
        let known = KnownFiles::of(&self.before);
        let (mut done, mut restored_all): (BTreeSet<PathBuf>, BTreeSet<PathBuf>) = Default::default();
        for (path, item) in &after.items {
            // If a guarded folder did not exist before, it is moved as a whole.
            let unit = if known.tops.contains(&item.top) { path } else { &item.top };
            let is_theirs = made.is_some_and(|made| !self.had_a_hand(made, path));
            // The content of a moved folder was moved with it.
            let is_done = path.ancestors().any(|above| done.contains(above));
            if is_done || is_theirs || !self.is_suspicious(&known, path, item) {
                continue;
            }
            let had_other_names = self.before.items.get(path).is_some_and(|old| old.stamp.has_other_names());
            match self.held.author(&self.root, path, had_other_names) {
                ChangeAuthor::Command => {}
                ChangeAuthor::Others => continue,
                ChangeAuthor::Replaced if made.is_some() => continue,
                ChangeAuthor::Replaced => {
                    outcome.troubles.push(format!(
                        "`{}` was replaced by someone else meanwhile and is left as it is; look at it if that was not you",
                        self.folder.join(path).display()
                    ));
                    continue;
                }
            }
            done.insert(unit.clone());
            let restore = self.restored(unit, item);
            match place.take(&self.root, unit) {
                Ok(kept_at) => {
                    let restored = restore.is_some_and(|saved| saved.put_back(&self.root, unit).is_ok());
                    restored_all.extend(restored.then(|| unit.clone()));
                    let why = item.why.to_owned();
                    if outcome.moved.len() < aside::TOLD {
                        outcome.moved.push(MovedFile { path: self.folder.join(unit), kept_at, why, restored });
                    }
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => outcome.troubles.push(format!("could not move `{}` aside: {error}", unit.display())),
            }
        }
        outcome.troubles.extend(place.untold());
        if let Err(error) = place.write_down(&outcome.moved) {
            outcome.troubles.push(format!("could not record what was moved aside: {error}"));
        }
        self.bring_back_removed(&after, &restored_all, &mut outcome);
        outcome.troubles = told(outcome.troubles);
        outcome
    }

    /// The content to restore in place of a file that is moved aside.
    fn restored(&self, unit: &Path, item: &GuardedItem) -> Option<SavedFile> {
        if !item.stays_writable() {
            return self.saved.get(unit).cloned();
        }
        // The old todo list would repeat steps that are already done.
        let now = rebase_todo::read(&self.root, unit)?;
        let text = rebase_todo::without_new(&self.saved.text(unit).unwrap_or_default(), &now);
        Some(SavedFile::File { bytes: text.into_bytes(), mode: item.stamp.mode & 0o777 })
    }

    /// Whether the guarded files are the same as before, and unchanged.
    pub(crate) fn is_as_before(&self) -> bool {
        let now = GuardWalk::all(&self.root, &self.folder, &self.named, Some((&self.before, self.settled)));
        let stamps = |found: &ScanResult| -> Vec<_> {
            found.items.iter().map(|(path, item)| (path.clone(), item.stamp)).collect()
        };
        now.repositories == self.before.repositories
            && now.folders == self.before.folders
            && stamps(&now) == stamps(&self.before)
    }

    /// Whether the command created the file, or made it effective by creating a repository around it.
    fn had_a_hand(&self, made: &ChangedPaths, path: &Path) -> bool {
        let repository = |folder: &Path| {
            let marks = ["HEAD", "objects", "refs", "commondir"];
            !self.before.repositories.iter().any(|known| known == folder)
                && marks.iter().any(|mark| made.contains(&folder.join(mark)))
        };
        made.contains(path) || path.ancestors().skip(1).take(2).any(repository)
    }

    /// Whether it is new or changed, and could run something.
    fn is_suspicious(&self, known: &KnownFiles<'_>, path: &Path, item: &GuardedItem) -> bool {
        if item.stays_writable() && item.stamp.kind == PathKind::File {
            let is_as_before = self.before.items.get(path).is_some_and(|old| old.stamp == item.stamp);
            let before = self.saved.text(path).unwrap_or_default();
            return !is_as_before
                && rebase_todo::read(&self.root, path).is_none_or(|now| rebase_todo::runs_more(&before, &now));
        }
        if let Some(old) = self.before.items.get(path) {
            return old.stamp != item.stamp && self.saved.differs(&self.root, path, old, item);
        }
        // A known file under a new path: a folder above it was renamed.
        let is_known =
            item.stamp.kind != PathKind::Folder && known.files.contains(&(item.stamp.inode, item.stamp.changed));
        !is_known && !harmless::is_harmless(&self.root, &self.folder, path, item.why)
    }

    fn bring_back_removed(&self, after: &ScanResult, restored: &BTreeSet<PathBuf>, outcome: &mut GuardReport) {
        for (path, item) in &self.before.items {
            let is_gone = !after.items.contains_key(path) && item.stamp.kind != PathKind::Folder;
            let is_gone = is_gone && !item.stays_writable();
            let has_place = path.parent().is_some_and(|above| scan::open(&self.root, above).is_ok());
            let Some(saved) = self.saved.get(path).filter(|_| is_gone && has_place) else { continue };
            if !restored.contains(path)
                && let Err(error) = saved.put_back(&self.root, path)
            {
                outcome.troubles.push(format!("could not put `{}` back: {error}", path.display()));
            }
        }
    }
}

/// The files found before, indexed.
struct KnownFiles<'a> {
    tops: BTreeSet<&'a PathBuf>,
    /// By inode and change time.
    files: BTreeSet<((u64, u64), i64)>,
}

impl KnownFiles<'_> {
    fn of(before: &ScanResult) -> KnownFiles<'_> {
        let items = before.items.values();
        KnownFiles {
            tops: items.clone().map(|item| &item.top).collect(),
            files: items.map(|item| (item.stamp.inode, item.stamp.changed)).collect(),
        }
    }
}

/// The first problems, and how many more there are.
fn told(mut troubles: Vec<String>) -> Vec<String> {
    if troubles.len() > MOST_TROUBLES {
        let more = troubles.len() - MOST_TROUBLES;
        troubles.truncate(MOST_TROUBLES);
        troubles.push(format!("and {more} more problems of this kind"));
    }
    troubles
}

/// Most problems that are reported one by one.
const MOST_TROUBLES: usize = 20;

#[cfg(test)]
mod tests;
