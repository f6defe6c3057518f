//! What changed in a workspace: the one account that file tools, overlays and surveys fill, and that diffs, undo and marks read.

use updraft_run::FileChange;

/// What changed, with what is needed to undo it and to show it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Each path, with what it was and what it is.
    pub list: Vec<FileChange>,
    /// Contents from before, to be kept.
    pub images: Vec<Vec<u8>>,
    /// What changed in text files, as unified diffs.
    pub diff: String,
    /// Why that may not be all.
    pub unlisted: Option<String>,
}
