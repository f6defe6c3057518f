//! What a command changed in the workspace, as plain data.

use serde::{Deserialize, Serialize};
use updraft_workspace::FileMetadata;

/// Something that a command made, changed or removed in the workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StagedChange {
    /// Relative to the workspace.
    pub path: String,
    /// Whether `path` is the name itself: not every name is UTF-8.
    pub is_exact: bool,
    /// What was there; nothing if it is new.
    pub was: Option<FileMetadata>,
    /// What is there now; nothing if it is gone.
    pub now: Option<FileMetadata>,
    /// By which [`StagedChanges::kept`](crate::StagedChanges::kept) finds what was there.
    pub kept: Option<u64>,
    /// Only its mode changed.
    pub has_same_content: bool,
    /// Somebody else changed it while the command ran; what they wrote is what was there.
    pub contested: bool,
}

/// Changes that were made and are not in the list, because there were too many or there was no room for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnlistedChanges {
    /// How many.
    pub changes: u64,
    /// How many of them replaced or removed a file or link.
    pub taken: u64,
}
