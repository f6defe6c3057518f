//! Room that is kept back, so that a journal on a full disk can still be read and cleared.
//!
//! SQLite needs room even to read (the index of the log) and to delete (the log). A file beside the journal holds that
//! room; it is removed when the disk is full, and made again once there is plenty.

use std::path::{Path, PathBuf};

use crate::place;

/// Enough for the index of the log and for removing runs in small steps.
const RESERVE: u64 = 1 << 20;

/// With less room than this none is kept back, and the log is kept short.
const PLENTY: u64 = 16 << 20;

/// Keeps room back, if there is plenty. Whether it worked does not matter to anyone but a full disk.
pub(crate) fn keep(journal: &Path) {
    let path = file(journal);
    let is_there = path.metadata().is_ok_and(|about| about.len() >= RESERVE);
    if !is_there && !is_cramped(journal) {
        let _ = place::open_private(&path, true).map(|file| allocate(&file));
    }
}

/// Gives the room free; whether there was some.
pub(crate) fn release(journal: &Path) -> bool {
    std::fs::remove_file(file(journal)).is_ok()
}

/// Whether there is little room left.
pub(crate) fn is_cramped(journal: &Path) -> bool {
    place::room(journal).is_some_and(|room| room < PLENTY)
}

fn file(journal: &Path) -> PathBuf {
    place::beside(journal, "-reserve")
}

#[cfg(target_os = "linux")]
fn allocate(file: &std::fs::File) {
    let _ = rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, RESERVE);
}

#[cfg(not(target_os = "linux"))]
fn allocate(mut file: &std::fs::File) {
    let _ = std::io::Write::write_all(&mut file, &vec![0; RESERVE as usize]);
}
