//! Locks a workspace so that commands take turns, across processes.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::supervise;
use crate::channel::Channel;
use crate::protocol::{LaunchFault, LauncherEvent, WorkspaceSharing};

/// How often the lock is tried.
const TRY: Duration = Duration::from_millis(10);
/// After this time, the process that requested the command is told that it waits.
const SILENCE: Duration = Duration::from_secs(1);

/// The right to change a workspace while it is held. It is a file lock, which the kernel releases when this process
/// and its forks are gone. The file is removed with it.
pub(super) struct WorkspaceLock {
    file: PathBuf,
    _lock: OwnedFd,
}

impl WorkspaceLock {
    /// Waits for the lock before a command starts.
    pub(super) fn wait(turns: &WorkspaceSharing, asker: &Channel) -> Result<WorkspaceLock, LaunchFault> {
        let asked = Instant::now();
        let mut is_told = false;
        loop {
            let lock = try_lock(&turns.lock).map_err(LaunchFault::set_up("waiting for other commands"))?;
            if let Some(lock) = lock {
                return Ok(WorkspaceLock { file: turns.lock.clone(), _lock: lock });
            }
            if supervise::is_gone(asker.as_fd()) {
                return Err(LaunchFault::SetUp { doing: "nobody waits for the command any more".to_owned(), errno: 0 });
            }
            if asked.elapsed() >= turns.patience {
                return Err(LaunchFault::Waited(turns.patience));
            }
            if !is_told && asked.elapsed() >= SILENCE {
                // If sending fails, that is noticed above.
                let _ = asker.send(&LauncherEvent::Waiting, None);
                is_told = true;
            }
            std::thread::sleep(TRY);
        }
    }

    /// Waits for the lock after a command has ended. Returns `None` if the requesting process is gone first.
    pub(super) fn take(file: &Path, asker: BorrowedFd<'_>) -> io::Result<Option<WorkspaceLock>> {
        loop {
            if let Some(lock) = try_lock(file)? {
                return Ok(Some(WorkspaceLock { file: file.to_owned(), _lock: lock }));
            }
            if supervise::is_gone(asker) {
                return Ok(None);
            }
            std::thread::sleep(TRY);
        }
    }
}

impl Drop for WorkspaceLock {
    fn drop(&mut self) {
        // While it is still locked: a process that opened it meanwhile sees that the file has been removed.
        let _ = rustix::fs::unlink(&self.file);
    }
}

fn try_lock(path: &Path) -> io::Result<Option<OwnedFd>> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(CWD, path, flags, Mode::RUSR | Mode::WUSR)?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK | Errno::INTR) => return Ok(None),
        other => other?,
    }
    let has_name = rustix::fs::fstat(&file)?.st_nlink > 0;
    Ok(has_name.then_some(file))
}
