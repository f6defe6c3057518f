//! What a command changed in the workspace, as plain data.

use serde::{Deserialize, Serialize};
use updraft_workspace::FileMetadata;

/// Something that a command created, changed or removed in the workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StagedChange {
    /// Relative to the workspace.
    pub path: String,
    /// Whether `path` is the exact name: not every name is UTF-8.
    pub is_exact: bool,
    /// The state before; `None` if it is new.
    pub was: Option<FileMetadata>,
    /// The state now; `None` if it was removed.
    pub now: Option<FileMetadata>,
    /// The number with which [`StagedChanges::kept`](crate::StagedChanges::kept) finds the previous content.
    pub kept: Option<u64>,
    /// Whether only its mode changed.
    pub has_same_content: bool,
    /// Whether another program changed it while the command ran; the previous content is then what that program
    /// wrote.
    pub contested: bool,
}

/// Changes that were made but are not in the list, because there were too many or the disk had no room for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnlistedChanges {
    /// The number of such changes.
    pub changes: u64,
    /// How many of them replaced or removed a file or link.
    pub taken: u64,
}
