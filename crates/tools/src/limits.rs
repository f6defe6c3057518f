//! How much a tool may read, write, give back and take, in one place so that settings can change it.

use std::time::Duration;

/// How much a tool may read, write, give back and take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolLimits {
    /// Bytes of text that `read_file` gives at most.
    pub read: usize,
    /// Bytes of a file that is held in memory: to be written, edited, or decoded from UTF-16.
    pub file: usize,
    /// Bytes of output shown to the model. Above `read`, so that a file is cut once, by the tool that knows its lines.
    pub output: usize,
    /// Bytes of a result's data as JSON; larger data is left out, and only its text is kept.
    pub value: usize,
    /// Files that `list_files` names.
    pub listed: usize,
    /// Files and folders looked at by one listing or search.
    pub walked: usize,
    /// Lines that `search_files` gives.
    pub matches: usize,
    /// Bytes read by one search.
    pub searched: u64,
    /// How long a built-in tool may take.
    pub time: Duration,
    /// How often a repeatable call is tried again after a failure that may pass.
    pub retries: u32,
    /// The wait before the first new try; it doubles from then on.
    pub backoff: Duration,
    /// How long a stopped call that changes things is given to come to an end, so that its outcome is known.
    pub grace: Duration,
}

impl Default for ToolLimits {
    fn default() -> Self {
        Self {
            read: 100_000,
            file: 32 << 20,
            output: 128 << 10,
            value: 512 << 10,
            listed: 2_000,
            walked: 200_000,
            matches: 200,
            searched: 512 << 20,
            time: Duration::from_secs(30),
            retries: 2,
            backoff: Duration::from_secs(1),
            grace: Duration::from_secs(2),
        }
    }
}
