//! What changed in a workspace: the common type that file tools, overlays and surveys produce, and that diffs, undo
//! and taint marks use.

use updraft_run::FileChange;

/// What changed, with what is needed to undo it and to show it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Each changed path, with its state before and after.
    pub list: Vec<FileChange>,
    /// Previous contents, to be stored.
    pub images: Vec<Vec<u8>>,
    /// The changes in text files, as unified diffs.
    pub diff: String,
    /// Why the list may be incomplete; `None` if it is complete.
    pub unlisted: Option<String>,
}
