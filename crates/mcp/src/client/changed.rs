//! Word that a server's list of tools has changed, and whether it was read since.

use std::time::Duration;

use tokio::sync::watch;

/// How often a server said so, and up to which time its list was read.
#[derive(Debug, Default)]
pub(super) struct ListChanges {
    said: watch::Sender<u64>,
    read: watch::Sender<u64>,
}

impl ListChanges {
    /// It says so.
    pub(super) fn notify_one(&self) {
        self.said.send_modify(|said| *said += 1);
    }

    /// Waits until it has said so after the last reading; how often by then.
    pub(super) async fn said_since(&self) -> u64 {
        let (read, mut hears) = (*self.read.borrow(), self.said.subscribe());
        // The sender is ours, so this never fails.
        hears.wait_for(|said| *said > read).await.map_or(read, |said| *said)
    }

    /// The list was read after it had said so this often.
    pub(super) fn is_read(&self, upto: u64) {
        self.read.send_replace(upto);
    }

    /// Waits until the list was read after the last time it said so, but no longer than this.
    pub(super) async fn settled(&self, limit: Duration) {
        let (said, mut hears) = (*self.said.borrow(), self.read.subscribe());
        let _ = tokio::time::timeout(limit, hears.wait_for(|read| *read >= said)).await;
    }
}
