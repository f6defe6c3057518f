//! A thread of its own for the runs that a service drives, so that serving many watchers takes no time from them.

use std::io;

use tokio::runtime::{Builder, Handle};
use tokio_util::sync::CancellationToken;

/// The thread. It ends when this is dropped; the service waits for its runs before.
pub(super) struct DriveThread {
    handle: Handle,
    end: CancellationToken,
}

impl DriveThread {
    pub(super) fn start() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (handle, end) = (runtime.handle().clone(), CancellationToken::new());
        let ended = end.clone();
        std::thread::Builder::new().name("runs".into()).spawn(move || {
            runtime.block_on(ended.cancelled());
            // Whatever still waits for a disk or a process does not hold up the end.
            runtime.shutdown_background();
        })?;
        Ok(Self { handle, end })
    }

    /// Tasks spawned on it are carried out by the thread.
    pub(super) fn handle(&self) -> &Handle {
        &self.handle
    }
}

impl Drop for DriveThread {
    fn drop(&mut self) {
        self.end.cancel();
    }
}
