//! Collects the diffs of all files that one call changed, up to a limit.

use std::fmt::Write as _;

use updraft_run::{FileChange, FileKind, FileMetadata};

use crate::builtin::unified;

/// Most bytes of all diffs together.
const ALL: usize = 64 << 10;
/// Most files that diffs are made of.
const FILES: usize = 200;

/// Diffs, one after the other.
#[derive(Default)]
pub(crate) struct Diffs {
    pub(crate) text: String,
    made: usize,
}

impl Diffs {
    /// Adds the diff of a change, if both versions are text. Git's internal files are left out, as their diffs are of
    /// no use to a reader.
    pub(crate) fn add(&mut self, change: &FileChange, old: &[u8], new: &[u8]) {
        let is_text = |form: Option<FileMetadata>| form.is_none_or(|form| form.kind == FileKind::File);
        let is_wanted =
            is_text(change.was) && is_text(change.now) && !change.path.split('/').any(|part| part == ".git");
        if !is_wanted || self.made >= FILES || self.text.len() > ALL {
            return;
        }
        self.made += 1;
        if let Some(diff) = unified(&change.path, old, new) {
            if diff.len() > ALL.saturating_sub(self.text.len()) {
                let _ = writeln!(self.text, "[the diff of {} and those after it are left out]", change.path);
                self.made = FILES;
            } else {
                self.text.push_str(&diff);
            }
        }
    }
}
