//! Locks that let one writer at a time change a file, in this process and across our processes.

use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Folder;
use super::{LinkPolicy, Workspace, WorkspacePath};

/// How long to wait for another process: a write takes milliseconds, applying the changes of a large command takes
/// seconds. After that we continue without the lock, and rely on the comparison before the new file is renamed into
/// place.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often to try the lock of the workspace.
const LOOK: Duration = Duration::from_millis(1);

/// The right to write a file. Released when dropped, and when the process ends.
pub struct WriteTurn<'a> {
    _here: MutexGuard<'a, ()>,
    /// The workspace folder, locked while it is open: the kernel releases the lock however the process ends.
    _elsewhere: Option<Folder>,
}

impl Workspace {
    /// Waits for the right to write a file.
    pub fn turn(&self, path: &WorkspacePath) -> WriteTurn<'_> {
        let sum = path.as_str().bytes().fold(0usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        // The lock protects no data, so it is still usable after a writer has panicked.
        let here = self.0.turns[sum % self.0.turns.len()].lock().unwrap_or_else(PoisonError::into_inner);
        WriteTurn { _here: here, _elsewhere: self.lock() }
    }

    /// Locks the workspace against other writers, and against commands whose changes are being applied to it. Returns
    /// `None` if it cannot be locked, or if another process holds the lock for too long.
    fn lock(&self) -> Option<Folder> {
        // Opened each time: a lock belongs to the open handle, so threads of one process exclude each other too.
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
