//! Copies of guarded files that no mount can protect: links, files with a second name, and all of them below the full
//! level.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags};
use updraft_workspace::Kind;

use super::scan::{self, Found, Item};
use crate::policy::Level;

/// A settings file is small. What is larger is not kept, and a change to it is only told.
const LARGEST: u64 = 1 << 20;

/// What one guarded file was.
#[derive(Clone)]
pub(super) enum Copy {
    File { bytes: Vec<u8>, mode: u32 },
    Link(CString),
}

/// What the guarded files were that could change.
#[derive(Default)]
pub(super) struct Saved(BTreeMap<PathBuf, Copy>);

impl Saved {
    pub(super) fn of(root: &OwnedFd, found: &Found, level: Level) -> Saved {
        let mut saved = Saved::default();
        for (path, item) in &found.items {
            let is_plain = item.stamp.kind == Kind::File && !item.stamp.has_other_names();
            let is_mounted = level == Level::Full && is_plain && !item.stays_writable();
            if !is_mounted && let Ok(copy) = Copy::of(root, path, item) {
                saved.0.extend(copy.map(|copy| (path.clone(), copy)));
            }
        }
        saved
    }

    pub(super) fn get(&self, path: &Path) -> Option<&Copy> {
        self.0.get(path)
    }

    /// What a file said, if it is kept and is text.
    pub(super) fn text(&self, path: &Path) -> Option<Cow<'_, str>> {
        match self.get(path)? {
            Copy::File { bytes, .. } => Some(String::from_utf8_lossy(bytes)),
            Copy::Link(_) => None,
        }
    }

    /// Whether a file whose stamp changed says something else now, or may be run now.
    pub(super) fn differs(&self, root: &OwnedFd, path: &Path, old: &Item, new: &Item) -> bool {
        if old.stamp.kind == Kind::Folder && new.stamp.kind == Kind::Folder {
            return false;
        }
        if old.stamp.kind != new.stamp.kind || old.stamp.mode != new.stamp.mode {
            return true;
        }
        match (self.get(path), Copy::of(root, path, new)) {
            (Some(Copy::File { bytes, .. }), Ok(Some(Copy::File { bytes: now, .. }))) => *bytes != now,
            (Some(Copy::Link(target)), Ok(Some(Copy::Link(now)))) => *target != now,
            (_, _) => true,
        }
    }
}

impl Copy {
    fn of(root: &OwnedFd, path: &Path, item: &Item) -> io::Result<Option<Copy>> {
        let parent = scan::open(root, path.parent().unwrap_or(Path::new("")))?;
        let name = path.file_name().unwrap_or_default();
        if item.stamp.kind == Kind::Link {
            return Ok(Some(Copy::Link(rustix::fs::readlinkat(&parent, name, Vec::new())?)));
        }
        if item.stamp.kind != Kind::File || item.stamp.len > LARGEST {
            return Ok(None);
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let file = rustix::fs::openat2(&parent, name, flags, Mode::empty(), resolve)?;
        let mut bytes = Vec::new();
        std::fs::File::from(file).take(LARGEST + 1).read_to_end(&mut bytes)?;
        Ok(Some(Copy::File { bytes, mode: item.stamp.mode & 0o7777 }))
    }

    /// Makes the file again. It must have been moved out of the way.
    pub(super) fn put_back(&self, root: &OwnedFd, path: &Path) -> io::Result<()> {
        let parent = scan::open(root, path.parent().unwrap_or(Path::new("")))?;
        let name = path.file_name().unwrap_or_default();
        match self {
            Copy::Link(target) => Ok(rustix::fs::symlinkat(target, &parent, name)?),
            Copy::File { bytes, mode } => {
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                let file = rustix::fs::openat(&parent, name, flags, Mode::from_raw_mode(0o600))?;
                rustix::fs::fchmod(&file, Mode::from_raw_mode(*mode))?;
                std::fs::File::from(file).write_all(bytes)
            }
        }
    }
}
