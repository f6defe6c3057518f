//! Tracks notifications that a server's list of tools has changed, and whether the list was read since.

use std::time::Duration;

use tokio::sync::watch;

/// The number of notifications, and the number of them that were covered by the last reading of the list.
#[derive(Debug, Default)]
pub(super) struct ListChanges {
    said: watch::Sender<u64>,
    read: watch::Sender<u64>,
}

impl ListChanges {
    /// Counts a notification.
    pub(super) fn notify_one(&self) {
        self.said.send_modify(|said| *said += 1);
    }

    /// Waits for a notification that came after the last reading. Returns the number of notifications by then.
    pub(super) async fn said_since(&self) -> u64 {
        let (read, mut hears) = (*self.read.borrow(), self.said.subscribe());
        // The sender is ours, so this never fails.
        hears.wait_for(|said| *said > read).await.map_or(read, |said| *said)
    }

    /// Notes that the list was read after this many notifications.
    pub(super) fn is_read(&self, upto: u64) {
        self.read.send_replace(upto);
    }

    /// Waits until the list was read after the last notification, but no longer than `limit`.
    pub(super) async fn settled(&self, limit: Duration) {
        let (said, mut hears) = (*self.said.borrow(), self.read.subscribe());
        let _ = tokio::time::timeout(limit, hears.wait_for(|read| *read >= said)).await;
    }
}
