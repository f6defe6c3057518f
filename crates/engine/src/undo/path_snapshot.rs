//! A snapshot of a path, before or after a change.

use serde::{Deserialize, Serialize};
use updraft_run::{ContentHash, FileChange, FileKind, FileMetadata};
use updraft_tools::PathContent;

/// What was or is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathSnapshot {
    /// Its metadata.
    pub form: FileMetadata,
    /// Hash of its content, if that was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<ContentHash>,
}

impl PathSnapshot {
    /// The state before a change.
    pub(crate) fn before(change: &FileChange) -> Option<PathSnapshot> {
        Self::of(change.was, change.before)
    }

    /// The state after a change.
    pub(crate) fn after(change: &FileChange) -> Option<PathSnapshot> {
        Self::of(change.now, change.after)
    }

    /// Older journals record only the hash of a file.
    fn of(form: Option<FileMetadata>, hash: Option<ContentHash>) -> Option<PathSnapshot> {
        let usual = FileMetadata { kind: FileKind::File, mode: 0o644, len: 0, modified: None };
        form.or_else(|| hash.map(|_| usual)).map(|form| PathSnapshot { form, hash })
    }

    /// The current state.
    pub(crate) fn now(standing: &PathContent) -> PathSnapshot {
        PathSnapshot { form: standing.form(), hash: standing.hash }
    }
}

/// Whether two snapshots have the same kind and content. Modes are compared separately.
pub(crate) fn is_same(one: Option<&PathSnapshot>, other: Option<&PathSnapshot>) -> bool {
    let (Some(one), Some(other)) = (one, other) else { return one.is_none() && other.is_none() };
    if one.form.kind != other.form.kind {
        return false;
    }
    match (one.form.kind, one.hash, other.hash) {
        (FileKind::File | FileKind::Link, Some(one), Some(other)) => one == other,
        (FileKind::File | FileKind::Link, _, _) => {
            one.form.modified.is_some() && (one.form.len, one.form.modified) == (other.form.len, other.form.modified)
        }
        (_, _, _) => true,
    }
}
