//! Applies the changes of a command to the workspace, once all its processes are gone.
//!
//! Both trees are walked by descriptors, one name at a time and without following links, so nothing is ever written
//! outside the workspace. If both are on one file system, a changed file and the one it replaces are exchanged
//! atomically, and nothing is copied.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit};
use updraft_workspace::{FileKind, FileMetadata, Stamp};

use super::clear::open_up;
use super::stage::{DiskTime, OverlayStage, times};
use crate::guard::{ChangedPaths, names};
use crate::staged_change::{StagedChange, UnlistedChanges};

mod conflict;
mod file;
pub(super) mod list;

use list::ChangeList;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Most nested folders that are walked: each takes descriptors and stack space.
const DEEPEST: usize = 2_000;
/// Most problems that are reported one by one.
const TOLD: usize = 20;
/// Most characters of a path that are shown.
const SHOWN: usize = 200;

/// The result of applying the changes.
#[derive(Default)]
pub(crate) struct ApplyResult {
    /// What could not be done.
    pub(crate) troubles: Vec<String>,
    /// Changes that were made but are not listed.
    pub(crate) unlisted: UnlistedChanges,
    /// All paths that the command created or changed and did not remove.
    pub(crate) made: ChangedPaths,
    /// The number of paths that are not as the command left them; they are listed in `troubles`.
    pub(crate) lost: u64,
    /// Files that another program also changed while the command ran, for which nothing was applied.
    pub(crate) conflicts: Vec<String>,
}

impl ApplyResult {
    /// The result if nothing could be applied.
    pub(crate) fn failed(error: &io::Error) -> ApplyResult {
        let why =
            format!("the command's changes are lost, because they could not be applied to the workspace: {error}");
        ApplyResult { troubles: vec![why], lost: 1, ..ApplyResult::default() }
    }
}

/// What to do with a command's changes if another program changed the same files meanwhile.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConflictPolicy {
    /// Apply them nevertheless, and keep what they replace.
    Overwrite,
    /// Apply nothing.
    Yield,
}

/// Whether the command changed nothing.
pub(crate) fn is_empty(stage: &OverlayStage) -> io::Result<bool> {
    let folder = rustix::fs::openat(CWD, &stage.folder, FOLDER, Mode::empty())?;
    let is = rustix::fs::statat(&folder, "upper", AtFlags::SYMLINK_NOFOLLOW)?;
    let is_as_it_was = (is.st_mode, is.st_mtime, is.st_mtime_nsec) == stage.as_it_was;
    Ok(is_as_it_was && names(&open_up(&folder, OsStr::new("upper"))?)?.is_empty())
}

/// Whether the changes of another command, or anything else, reached the workspace since the command started. Waits
/// for changes that are being applied right now.
pub(crate) fn has_moved_on(stage: &OverlayStage) -> io::Result<bool> {
    let workspace = open_workspace(stage)?;
    take_turns(&workspace);
    // Applying a command's changes always ends with a change to the workspace folder itself.
    Ok(is_later(stage.since, &rustix::fs::fstat(&workspace)?))
}

fn open_workspace(stage: &OverlayStage) -> io::Result<OwnedFd> {
    let flags = FOLDER.difference(OFlags::NOFOLLOW);
    Ok(rustix::fs::openat(CWD, &stage.workspace, flags, Mode::empty())?)
}

/// Applies all changes, lists them, and reports what could not be done. An error means that nothing was applied.
pub(crate) fn apply(stage: &OverlayStage, contested: ConflictPolicy) -> io::Result<ApplyResult> {
    allow_many_files();
    let workspace = open_workspace(stage)?;
    take_turns(&workspace);
    let folder = rustix::fs::openat(CWD, &stage.folder, FOLDER, Mode::empty())?;
    let is = rustix::fs::statat(&folder, "upper", AtFlags::SYMLINK_NOFOLLOW)?;
    let upper = open_up(&folder, OsStr::new("upper"))?;
    if contested == ConflictPolicy::Yield {
        let conflicts = conflict::conflicts(stage.since, &upper, &workspace)?;
        if !conflicts.is_empty() {
            return Ok(ApplyResult { conflicts, ..ApplyResult::default() });
        }
    }
    let before = rustix::fs::openat(&folder, super::BEFORE, FOLDER, Mode::empty())?;
    let was = rustix::fs::fstat(&workspace)?;
    let mut apply = ChangeApplier {
        before,
        same_disk: is.st_dev == was.st_dev,
        since: stage.since,
        list: ChangeList::open(&folder)?,
        kept: 0,
        copied: 0,
        depth: 0,
        made: ChangedPaths::new(),
        is_full: is_full(&folder),
        lost: 0,
        troubles: Vec::new(),
        untold: 0,
    };
    apply.folder(Path::new(""), &upper, &workspace, false);
    ChangeApplier::finish_folder(&workspace, &is);
    let made = std::mem::take(&mut apply.made);
    let (unlisted, lost) = (apply.list.unlisted, apply.lost);
    Ok(ApplyResult { troubles: apply.told(), unlisted, made, lost, ..ApplyResult::default() })
}

/// Whether the disk of the staged changes is full, so that the last data of the command may be truncated.
fn is_full(folder: &OwnedFd) -> bool {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let written = rustix::fs::openat(folder, "room", flags, Mode::RUSR | Mode::WUSR)
        .and_then(|file| rustix::io::write(&file, &[1; 4096]));
    let _ = rustix::fs::unlinkat(folder, "room", AtFlags::empty());
    // A file system that is almost full accepts only a part.
    written.map_or_else(|error| matches!(error, Errno::NOSPC | Errno::DQUOT), |count| count < 4096)
}

/// Raises the limit of open files: the launcher itself needs few, but a deep tree needs many.
fn allow_many_files() {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let _ = rustix::process::setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// Locks the workspace folder, so that file tools do not write meanwhile, and commands without turns write one at a
/// time. Does not wait long for another holder of the lock.
fn take_turns(workspace: &OwnedFd) {
    for _ in 0..3_000 {
        match rustix::fs::flock(workspace, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK | Errno::INTR) => std::thread::sleep(Duration::from_millis(10)),
            _ => return,
        }
    }
}

/// An entry of the upper layer, and the folder of the workspace that it belongs to.
struct UpperEntry<'a> {
    path: &'a Path,
    name: &'a OsStr,
    /// The folder of the upper layer that it is in.
    upper: &'a OwnedFd,
    /// The same folder in the workspace.
    ws: &'a OwnedFd,
    /// What the command made.
    is: Stat,
}

struct ChangeApplier {
    /// The folder for previous contents.
    before: OwnedFd,
    same_disk: bool,
    since: DiskTime,
    list: ChangeList,
    /// The last number for a previous content.
    kept: u64,
    /// Bytes copied for undo, if files cannot be moved.
    copied: u64,
    depth: usize,
    made: ChangedPaths,
    /// Whether the disk was full when the command ended.
    is_full: bool,
    lost: u64,
    troubles: Vec<String>,
    untold: usize,
}

impl ChangeApplier {
    /// Applies one folder of the upper layer to its folder in the workspace. If it hides that folder, entries that
    /// the command did not create again are removed.
    fn folder(&mut self, path: &Path, upper: &OwnedFd, workspace: &OwnedFd, hides: bool) {
        let made = match names(upper) {
            Ok(made) => made,
            Err(error) => return self.trouble(path, &error),
        };
        if hides {
            let made: BTreeSet<&OsString> = made.iter().collect();
            for name in names(workspace).unwrap_or_default().iter().filter(|name| !made.contains(name)) {
                self.noted(path, name, |apply, path| apply.delete(path, workspace, name));
            }
        }
        for name in &made {
            self.noted(path, name, |apply, path| apply.entry(path, upper, workspace, name, hides));
        }
    }

    fn noted(&mut self, path: &Path, name: &OsStr, act: impl FnOnce(&mut Self, &Path) -> io::Result<()>) {
        let path = path.join(name);
        if let Err(error) = act(self, &path) {
            self.trouble(&path, &error);
        }
    }

    fn trouble(&mut self, path: &Path, error: &io::Error) {
        self.lost += 1;
        self.tell(|| format!("the command's change to `{}` is lost: {error}", shown(path)));
    }

    fn tell(&mut self, words: impl FnOnce() -> String) {
        if self.troubles.len() < TOLD {
            self.troubles.push(words());
        } else {
            self.untold += 1;
        }
    }

    fn told(mut self) -> Vec<String> {
        if self.untold > 0 {
            self.troubles.push(format!("{} more paths are not as the command left them", self.untold));
        }
        if self.list.unlisted.changes > 0 {
            let count = self.list.unlisted.changes;
            self.troubles.push(format!("{count} more changes are not listed and cannot be undone"));
        }
        self.troubles
    }

    fn entry(&mut self, path: &Path, upper: &OwnedFd, ws: &OwnedFd, name: &OsStr, hides: bool) -> io::Result<()> {
        let is = rustix::fs::statat(upper, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let was = rustix::fs::statat(ws, name, AtFlags::SYMLINK_NOFOLLOW).ok();
        let kind = FileType::from_raw_mode(is.st_mode);
        if is_whiteout(&is) {
            return self.delete(path, ws, name);
        }
        self.made.insert(path.to_owned());
        let entry = UpperEntry { path, name, upper, ws, is };
        match kind {
            FileType::Directory => self.subfolder(&entry, was, hides),
            FileType::RegularFile | FileType::Symlink | FileType::Fifo | FileType::Socket => {
                if was.is_some_and(|was| is_folder(&was)) {
                    self.delete(path, ws, name)?;
                }
                self.file(&entry)
            }
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    fn subfolder(&mut self, entry: &UpperEntry<'_>, was: Option<Stat>, hides: bool) -> io::Result<()> {
        let UpperEntry { path, name, upper, ws, ref is } = *entry;
        let inner = open_up(upper, name)?;
        let hides = (hides || hides_all(&inner)) && !conflict::is_new(self.since, ws, name);
        let was = match was {
            Some(was) if is_folder(&was) => Some(was),
            Some(_) => {
                self.delete(path, ws, name)?;
                None
            }
            None => None,
        };
        self.deeper(|apply| {
            if was.is_none_or(|was| was.st_mode != is.st_mode) {
                let made = changed(apply.since, path, was.as_ref(), Some(is));
                apply.change(made, |_, _| {
                    if was.is_none() {
                        rustix::fs::mkdirat(ws, name, Mode::RWXU)?;
                    }
                    Ok(None)
                })?;
            }
            let place = open_up(ws, name)?;
            apply.folder(path, &inner, &place, hides);
            Self::finish_folder(&place, is);
            Ok(())
        })
    }

    /// Sets the mode and times that the command gave a folder, after its content has been applied.
    fn finish_folder(place: &OwnedFd, is: &Stat) {
        // The folder of another user keeps its mode, but anyone who can write a folder may set its times.
        let _ = rustix::fs::fchmod(place, Mode::from_raw_mode(is.st_mode & 0o7777));
        let _ = rustix::fs::futimens(place, &times(is));
    }

    /// Removes a path from the workspace, from the inside out, and keeps files and links.
    fn delete(&mut self, path: &Path, ws: &OwnedFd, name: &OsStr) -> io::Result<()> {
        let was = match rustix::fs::statat(ws, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(was) => was,
            Err(Errno::NOENT) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        if !is_folder(&was) {
            if is_later(self.since, &was) {
                self.tell(|| {
                    format!(
                        "`{}` was kept although the command removed it: someone else changed it meanwhile",
                        shown(path)
                    )
                });
                return Ok(());
            }
            let gone = changed(self.since, path, Some(&was), None);
            return self.change(gone, |apply, number| apply.take_out(ws, name, &was, number));
        }
        let inner = open_up(ws, name)?;
        self.deeper(|apply| names(&inner)?.iter().try_for_each(|name| apply.delete(&path.join(name), &inner, name)))?;
        if !names(&inner)?.is_empty() {
            return Ok(());
        }
        self.change(changed(self.since, path, Some(&was), None), |_, _| {
            rustix::fs::unlinkat(ws, name, AtFlags::REMOVEDIR)?;
            Ok(None)
        })
    }

    fn deeper(&mut self, act: impl FnOnce(&mut Self) -> io::Result<()>) -> io::Result<()> {
        if self.depth >= DEEPEST {
            return Err(io::Error::other(format!("it lies more than {DEEPEST} folders deep")));
        }
        self.depth += 1;
        let done = act(self);
        self.depth -= 1;
        done
    }

    /// Lists a change and makes it. The function that makes it gets the number for the previous content, and returns
    /// whether it kept it. If we are interrupted in between, the list already says what has that number.
    fn change(
        &mut self,
        mut change: StagedChange,
        act: impl FnOnce(&mut Self, u64) -> io::Result<Option<u64>>,
    ) -> io::Result<()> {
        let is_kept = change.was.is_some_and(|look| look.kind != FileKind::Folder) && !change.has_same_content;
        self.kept += 1;
        change.kept = is_kept.then_some(self.kept);
        let line = self.list.add(&change);
        let made = act(self, self.kept);
        if made.as_ref().ok() != Some(&change.kept) {
            self.list.take_back(line);
            change.kept = made?;
            self.list.add(&change);
        }
        Ok(())
    }
}

/// An entry of the list, as far as it is known before the change.
fn changed(since: DiskTime, path: &Path, was: Option<&Stat>, now: Option<&Stat>) -> StagedChange {
    let contested = was.is_some_and(|was| !is_folder(was) && is_later(since, was));
    let (was, now) = (was.map(look), now.map(look));
    let (is_exact, path) = (path.to_str().is_some(), path.to_string_lossy().into_owned());
    StagedChange { path, is_exact, was, now, kept: None, has_same_content: false, contested }
}

/// The end of a path, which distinguishes it from others.
fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    match text.char_indices().rev().nth(SHOWN) {
        Some((at, _)) => format!("…{}", &text[at..]),
        None => text.into_owned(),
    }
}

/// Whether it was changed after the command started, and so by another program.
fn is_later(since: DiskTime, was: &Stat) -> bool {
    DiskTime::of_change(was) >= since
}

/// Whether this is a whiteout, with which an overlay records that a file was removed.
fn is_whiteout(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice && stat.st_rdev == 0
}

/// Whether a folder of the upper layer hides the whole folder at its place in the workspace.
fn hides_all(folder: &OwnedFd) -> bool {
    let mut value = [0; 1];
    rustix::fs::fgetxattr(folder, "user.overlay.opaque", &mut value[..]) == Ok(1) && value == *b"y"
}

fn is_folder(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

fn look(stat: &Stat) -> FileMetadata {
    Stamp::of(stat).form()
}

/// Exchanges two files atomically, if the file system supports it.
fn exchange(from: impl AsFd, name: &OsStr, to: impl AsFd) -> rustix::io::Result<()> {
    rustix::fs::renameat_with(from, name, to, name, RenameFlags::EXCHANGE)
}
