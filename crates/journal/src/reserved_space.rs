//! Reserved disk space, so that a journal on a full disk can still be read and cleared.
//!
//! SQLite needs space even to read (the index of the log) and to delete (the log). A file next to the journal reserves
//! that space. It is removed when the disk is full, and created again once there is enough space.

use std::path::{Path, PathBuf};

use crate::location;

/// Enough for the index of the log and for removing runs in small steps.
const RESERVE: u64 = 1 << 20;

/// With less free space than this nothing is reserved, and the log is kept short.
const PLENTY: u64 = 16 << 20;

/// Reserves space, if there is enough. Errors are ignored, because this matters only on a full disk.
pub(crate) fn keep(journal: &Path) {
    let path = file(journal);
    let is_there = path.metadata().is_ok_and(|about| about.len() >= RESERVE);
    if !is_there && !is_cramped(journal) {
        let _ = location::open_private(&path, true).map(|file| allocate(&file));
    }
}

/// Frees the reserved space. Returns whether there was any.
pub(crate) fn release(journal: &Path) -> bool {
    std::fs::remove_file(file(journal)).is_ok()
}

/// Whether there is little space left.
pub(crate) fn is_cramped(journal: &Path) -> bool {
    location::room(journal).is_some_and(|room| room < PLENTY)
}

fn file(journal: &Path) -> PathBuf {
    location::beside(journal, "-reserve")
}

#[cfg(target_os = "linux")]
fn allocate(file: &std::fs::File) {
    let _ = rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, RESERVE);
}

#[cfg(not(target_os = "linux"))]
fn allocate(mut file: &std::fs::File) {
    let _ = std::io::Write::write_all(&mut file, &vec![0; RESERVE as usize]);
}
