//! What a pass tells while it runs, and at its end.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::walk::FileEntry;
use crate::entry::NewDocument;

/// How far a pass is. Unchanged files are not counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct IngestProgress {
    /// Files that were read.
    pub files: u64,
    /// Files to read.
    pub all_files: u64,
    /// Bytes of the files that were read.
    pub bytes: u64,
    /// Bytes of the files to read.
    pub all_bytes: u64,
    /// Bytes a second since the beginning.
    pub rate: f64,
    /// The file that was read last.
    pub path: String,
}

impl IngestProgress {
    pub(super) fn of(files: &[&FileEntry]) -> Self {
        let all_bytes = files.iter().map(|file| file.bytes).sum();
        Self { all_files: files.len() as u64, all_bytes, ..Self::default() }
    }

    pub(super) fn advance(&mut self, file: &FileEntry, since: Duration) {
        self.files += 1;
        self.bytes += file.bytes;
        self.rate = self.bytes as f64 / since.as_secs_f64().max(1e-3);
        self.path.clone_from(&file.name);
    }

    /// The time that is left at this rate.
    pub fn left(&self) -> Duration {
        let bytes = self.all_bytes.saturating_sub(self.bytes) as f64;
        Duration::try_from_secs_f64(bytes / self.rate.max(1.0)).unwrap_or(Duration::MAX)
    }
}

/// What a pass did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IngestReport {
    /// Files that are there.
    pub files: u64,
    /// Files whose size and time are as before.
    pub unchanged: u64,
    /// Files that were read and written to the index.
    pub written: u64,
    /// Files that were read and found to be as before.
    pub same: u64,
    /// Documents that were removed because their files are gone.
    pub removed: u64,
    /// Chunks that were written, at most.
    pub chunks: u64,
    /// Files that could not be opened, and why. Files that were opened and not understood are listed in the index.
    pub failed: Vec<(String, String)>,
}

impl IngestReport {
    pub(super) fn take(&mut self, batch: &[NewDocument], written: usize) {
        self.written += written as u64;
        self.same += (batch.len() - written) as u64;
        self.chunks += batch.iter().map(|document| document.chunk_count() as u64).sum::<u64>();
    }
}
