//! Taking turns to write: one writer at a time for a file, in this process and in all others of ours.

use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Folder;
use super::{LinkPolicy, Workspace, WorkspacePath};

/// How long another process is waited for: a write takes milliseconds, what a large command changed takes seconds. Then we go
/// on without the lock, and rely on the comparison before the new file is put in its place.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often we look whether the workspace is free.
const LOOK: Duration = Duration::from_millis(1);

/// The turn to write a file. Ends when it is dropped, and with the process.
pub struct WriteTurn<'a> {
    _here: MutexGuard<'a, ()>,
    /// The workspace, locked while it is open: the kernel gives it free however the process ends.
    _elsewhere: Option<Folder>,
}

impl Workspace {
    /// Waits for the turn to write a file.
    pub fn turn(&self, path: &WorkspacePath) -> WriteTurn<'_> {
        let sum = path.as_str().bytes().fold(0usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        // Nothing is guarded but the order, so a writer that panicked leaves nothing broken behind.
        let here = self.0.turns[sum % self.0.turns.len()].lock().unwrap_or_else(PoisonError::into_inner);
        WriteTurn { _here: here, _elsewhere: self.lock() }
    }

    /// Locks the workspace against other writers, and against commands whose changes are put into it; nothing where it cannot be locked, or another holds it for too long.
    fn lock(&self) -> Option<Folder> {
        // Opened anew each time: a lock belongs to the opened folder, so threads of one process exclude each other too.
        let folder = self.folder().folder(WorkspacePath::root().as_str(), LinkPolicy::Never).ok()?;
        let begun = Instant::now();
        while !folder.try_lock().ok()? {
            if begun.elapsed() > PATIENCE {
                tracing::warn!("another process has held the workspace for {PATIENCE:?}; writing without the lock");
                return None;
            }
            std::thread::sleep(LOOK);
        }
        Some(folder)
    }
}
