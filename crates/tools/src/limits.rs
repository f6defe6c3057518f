//! The limits on what a tool may read, write and return, and on its time; in one place so that settings can change
//! them.

use std::path::PathBuf;
use std::time::Duration;

/// The limits on what a tool may read, write and return, and on its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolLimits {
    /// Most bytes of a file that `read_file` shows at once.
    pub read: usize,
    /// Files and folders outside the workspace that may be read, as whole real paths.
    pub readable: Vec<PathBuf>,
    /// Most bytes of a file that is held in memory: to be written, edited, or decoded from UTF-16.
    pub file: usize,
    /// Most bytes of output shown to the model, of a tool that does not limit its output itself as `read_file` does.
    pub output: usize,
    /// Most bytes of a result's data as JSON; larger data is left out, and only its text is kept.
    pub value: usize,
    /// Most files that `list_files` lists.
    pub listed: usize,
    /// Most files and folders that one listing or search looks at.
    pub walked: usize,
    /// Most lines that `search_files` returns.
    pub matches: usize,
    /// Most bytes that one search reads.
    pub searched: u64,
    /// How long a built-in tool may take.
    pub time: Duration,
    /// How often a repeatable call is retried after a transient failure.
    pub retries: u32,
    /// The wait before the first retry; it doubles with each further one.
    pub backoff: Duration,
    /// How long a stopped call that changes things may take to finish, so that its outcome is known.
    pub grace: Duration,
}

impl Default for ToolLimits {
    fn default() -> Self {
        Self {
            read: 48 << 10,
            readable: Vec::new(),
            file: 32 << 20,
            output: 16 << 10,
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
