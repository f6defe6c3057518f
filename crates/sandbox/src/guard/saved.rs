//! Copies of guarded files that no mount can protect: links, files with hard links, and all guarded files below the
//! full level.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags};
use updraft_workspace::PathKind;

use super::scan::{self, GuardedItem, ScanResult};
use crate::policy::SandboxLevel;

/// Most bytes of a file that is copied. Settings files are small; a change to a larger file is only reported.
const LARGEST: u64 = 1 << 20;

/// The previous state of one guarded file.
#[derive(Clone)]
pub(super) enum SavedFile {
    File { bytes: Vec<u8>, mode: u32 },
    Link(CString),
}

/// The previous states of the guarded files that could change.
#[derive(Default)]
pub(super) struct SavedFiles(BTreeMap<PathBuf, SavedFile>);

impl SavedFiles {
    pub(super) fn of(root: &OwnedFd, found: &ScanResult, level: SandboxLevel) -> SavedFiles {
        let mut saved = SavedFiles::default();
        for (path, item) in &found.items {
            let is_plain = item.stamp.kind == PathKind::File && !item.stamp.has_other_names();
            let is_mounted = level == SandboxLevel::Full && is_plain && !item.stays_writable();
            if !is_mounted && let Ok(copy) = SavedFile::of(root, path, item) {
                saved.0.extend(copy.map(|copy| (path.clone(), copy)));
            }
        }
        saved
    }

    pub(super) fn get(&self, path: &Path) -> Option<&SavedFile> {
        self.0.get(path)
    }

    /// The previous text of a file, if it was saved and is text.
    pub(super) fn text(&self, path: &Path) -> Option<Cow<'_, str>> {
        match self.get(path)? {
            SavedFile::File { bytes, .. } => Some(String::from_utf8_lossy(bytes)),
            SavedFile::Link(_) => None,
        }
    }

    /// Whether a file whose stamp changed has other content now, or has become executable.
    pub(super) fn differs(&self, root: &OwnedFd, path: &Path, old: &GuardedItem, new: &GuardedItem) -> bool {
        if old.stamp.kind == PathKind::Folder && new.stamp.kind == PathKind::Folder {
            return false;
        }
        if old.stamp.kind != new.stamp.kind || old.stamp.mode != new.stamp.mode {
            return true;
        }
        match (self.get(path), SavedFile::of(root, path, new)) {
            (Some(SavedFile::File { bytes, .. }), Ok(Some(SavedFile::File { bytes: now, .. }))) => *bytes != now,
            (Some(SavedFile::Link(target)), Ok(Some(SavedFile::Link(now)))) => *target != now,
            (_, _) => true,
        }
    }
}

impl SavedFile {
    fn of(root: &OwnedFd, path: &Path, item: &GuardedItem) -> io::Result<Option<SavedFile>> {
        let parent = scan::open(root, path.parent().unwrap_or(Path::new("")))?;
        let name = path.file_name().unwrap_or_default();
        if item.stamp.kind == PathKind::Link {
            return Ok(Some(SavedFile::Link(rustix::fs::readlinkat(&parent, name, Vec::new())?)));
        }
        if item.stamp.kind != PathKind::File || item.stamp.len > LARGEST {
            return Ok(None);
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let file = rustix::fs::openat2(&parent, name, flags, Mode::empty(), resolve)?;
        let mut bytes = Vec::new();
        std::fs::File::from(file).take(LARGEST + 1).read_to_end(&mut bytes)?;
        Ok(Some(SavedFile::File { bytes, mode: item.stamp.mode & 0o7777 }))
    }

    /// Restores the file. The new one must have been moved away first.
    pub(super) fn put_back(&self, root: &OwnedFd, path: &Path) -> io::Result<()> {
        let parent = scan::open(root, path.parent().unwrap_or(Path::new("")))?;
        let name = path.file_name().unwrap_or_default();
        match self {
            SavedFile::Link(target) => Ok(rustix::fs::symlinkat(target, &parent, name)?),
            SavedFile::File { bytes, mode } => {
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                let file = rustix::fs::openat(&parent, name, flags, Mode::from_raw_mode(0o600))?;
                rustix::fs::fchmod(&file, Mode::from_raw_mode(*mode))?;
                std::fs::File::from(file).write_all(bytes)
            }
        }
    }
}
