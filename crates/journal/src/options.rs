//! How a journal is opened, and what it counts.

use std::time::Duration;

use updraft_run::Timestamp;

/// How a journal is opened.
#[derive(Clone, Debug)]
pub struct JournalOptions {
    /// Whether an append waits for the disk.
    pub sync: SyncMode,
    /// Our version, noted with each run made.
    pub version: String,
    /// What time it is, for the heartbeat of leases; records bring their own times.
    pub clock: fn() -> Timestamp,
    /// How often a process that holds leases says that it is there.
    #[doc(hidden)]
    pub beat: Duration,
    /// Another way to the disk, by the name SQLite knows it under: for tests of power cuts.
    #[doc(hidden)]
    pub vfs: Option<String>,
    /// After how many pages the write-ahead log is copied into the main file.
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
    /// It returns once the disk has said that everything is on it.
    #[default]
    Full,
    /// It returns at once. A power cut loses what was acknowledged: only for tests that show just that.
    Off,
}

/// What the writer has done since the journal was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriterStats {
    /// Transactions that reached the disk.
    pub commits: u64,
    /// Requests that they carried: above `commits` when requests waited together.
    pub requests: u64,
    /// Records that they carried.
    pub records: u64,
}

#[expect(clippy::disallowed_methods, reason = "the one clock of this crate; `Options::clock` takes its place in tests")]
fn system_clock() -> Timestamp {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    Timestamp(now.map_or(0, |since| since.as_millis() as i64))
}
