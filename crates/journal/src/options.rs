//! The options of a journal, and its statistics.

use std::time::Duration;

use updraft_run::Timestamp;

/// How a journal is opened.
#[derive(Clone, Debug)]
pub struct JournalOptions {
    /// Whether an append waits for the disk.
    pub sync: SyncMode,
    /// Our version, stored with each new run.
    pub version: String,
    /// The clock for the heartbeat of leases; records bring their own times.
    pub clock: fn() -> Timestamp,
    /// How often a process that holds leases writes its heartbeat.
    #[doc(hidden)]
    pub beat: Duration,
    /// The name of another SQLite VFS: for tests of power cuts.
    #[doc(hidden)]
    pub vfs: Option<String>,
    /// The number of pages after which the write-ahead log is copied into the main file.
    #[doc(hidden)]
    pub checkpoint: u32,
}

impl Default for JournalOptions {
    fn default() -> Self {
        Self {
            sync: SyncMode::Full,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            clock: system_clock,
            beat: Duration::from_secs(5),
            vfs: None,
            checkpoint: 1000,
        }
    }
}

/// Whether an append waits for the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncMode {
    /// It returns once the disk has confirmed that everything is stored.
    #[default]
    Full,
    /// It returns at once. A power cut loses acknowledged data: only for tests that show this.
    Off,
}

/// What the writer has done since the journal was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriterStats {
    /// Transactions that reached the disk.
    pub commits: u64,
    /// Requests in those transactions: more than `commits` if several requests shared one.
    pub requests: u64,
    /// Records in those transactions.
    pub records: u64,
}

#[expect(clippy::disallowed_methods, reason = "this crate's one clock; `JournalOptions::clock` replaces it in tests")]
fn system_clock() -> Timestamp {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    Timestamp(now.map_or(0, |since| since.as_millis() as i64))
}
