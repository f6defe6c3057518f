//! The list of changes, one line each. Each line is written before its change is made, so that the name of a kept
//! content is always known.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

use rustix::fs::{FallocateFlags, Mode, OFlags};
use updraft_workspace::FileKind;

use super::super::{CHANGES, StagedChange};
use crate::staged_change::UnlistedChanges;

/// Most changes that are listed; further ones are made without being listed, as nobody undoes so many one by one.
const MOST: usize = 20_000;
/// Most bytes of names that are listed.
const MOST_BYTES: usize = 4 << 20;
/// Bytes that are reserved before a command starts, so that there is room for some hundred changes even if it fills
/// the disk.
const RESERVED: u64 = 64 << 10;

pub(super) struct ChangeList {
    file: File,
    end: u64,
    count: usize,
    names: usize,
    /// Changes that were made and could not be listed.
    pub(super) unlisted: UnlistedChanges,
}

/// The position of a line.
#[derive(Clone, Copy)]
pub(super) enum LinePosition {
    At(u64),
    /// It was not written.
    Missing(UnlistedChanges),
}

/// Creates the list for a command that is about to start.
pub(in crate::staged) fn reserve(folder: &OwnedFd) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(folder, CHANGES, flags, Mode::from_raw_mode(0o600))?;
    // Not every file system supports this, and a disk without room for it has no room for the command either.
    let _ = rustix::fs::fallocate(&file, FallocateFlags::KEEP_SIZE, 0, RESERVED);
    Ok(())
}

impl ChangeList {
    pub(super) fn open(folder: &OwnedFd) -> io::Result<ChangeList> {
        let file =
            rustix::fs::openat(folder, CHANGES, OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
        Ok(ChangeList { file: File::from(file), end: 0, count: 0, names: 0, unlisted: UnlistedChanges::default() })
    }

    pub(super) fn add(&mut self, one: &StagedChange) -> LinePosition {
        if let Some(start) = self.try_add(one) {
            return LinePosition::At(start);
        }
        let takes = one.was.is_some_and(|was| was.kind != FileKind::Folder) && !one.has_same_content;
        let missing = UnlistedChanges { changes: 1, taken: takes.into() };
        self.unlisted.changes += missing.changes;
        self.unlisted.taken += missing.taken;
        LinePosition::Missing(missing)
    }

    fn try_add(&mut self, one: &StagedChange) -> Option<u64> {
        if self.count >= MOST || self.names + one.path.len() > MOST_BYTES {
            return None;
        }
        let mut line = serde_json::to_vec(one).ok()?;
        line.push(b'\n');
        let start = self.end;
        if self.file.write_all_at(&line, start).is_err() {
            let _ = self.file.set_len(start);
            return None;
        }
        self.count += 1;
        self.names += one.path.len();
        self.end += line.len() as u64;
        Some(start)
    }

    /// Removes the last line: the change was not made, or not in that way.
    pub(super) fn take_back(&mut self, line: LinePosition) {
        let start = match line {
            LinePosition::At(start) => start,
            LinePosition::Missing(missing) => {
                self.unlisted.changes -= missing.changes;
                self.unlisted.taken -= missing.taken;
                return;
            }
        };
        self.count -= 1;
        self.end = start;
        let _ = self.file.set_len(start);
    }
}
