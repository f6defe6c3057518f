//! Compares the files a run changed with what they were at its start, and counts the changed lines.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use updraft_journal::{Journal, hash_of};
use updraft_run::{ContentHash, FileChange, FileKind, RunId, is_made_again};

use crate::Error;
use crate::undo::{ChangeFilter, RecordedChange, made_by};

/// The largest file whose lines are counted, in bytes.
const LARGEST: u64 = 1 << 20;
/// How many files have their lines counted. Longer lists show only the number of files.
const COUNTED: usize = 100;

/// A file that differs from what it was when the run began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangedFile {
    /// Relative to the workspace.
    pub path: String,
    /// Whether it existed before.
    pub was_there: bool,
    /// Whether it exists now.
    pub is_there: bool,
    /// Lines added and removed; absent if it is not text, is too large, or its content was not kept.
    pub lines: Option<(usize, usize)>,
}

/// The files that a run changed, by path. Files that were changed back are left out, and so are folders and what builds
/// make again.
pub fn changed_files(journal: &Journal, id: &RunId, workspace: &Path) -> Result<Vec<ChangedFile>, Error> {
    let mut spans: BTreeMap<String, (FileChange, FileChange)> = BTreeMap::new();
    let made = made_by(journal, id, &ChangeFilter::default())?.made;
    for RecordedChange { change, .. } in made.into_iter().filter(|made| !is_made_again(&made.change.path)) {
        spans
            .entry(change.path.clone())
            .and_modify(|(_, last)| *last = change.clone())
            .or_insert_with(|| (change.clone(), change));
    }
    let changed = spans.into_iter().filter(|(_, (first, last))| !is_folder(first, last) && !is_back(first, last));
    let file = |(n, (path, (first, last))): (usize, (String, (FileChange, FileChange)))| {
        let lines = (n < COUNTED).then(|| lines(journal, workspace, &first, &last)).flatten();
        ChangedFile { path, was_there: existed(&first), is_there: exists(&last), lines }
    };
    Ok(changed.enumerate().map(file).collect())
}

fn existed(change: &FileChange) -> bool {
    change.was.is_some() || change.before.is_some()
}

fn exists(change: &FileChange) -> bool {
    change.now.is_some() || change.after.is_some()
}

fn is_folder(first: &FileChange, last: &FileChange) -> bool {
    first.was.or(last.now).or(first.now).is_some_and(|form| form.kind == FileKind::Folder)
}

fn is_back(first: &FileChange, last: &FileChange) -> bool {
    match (existed(first), exists(last)) {
        (true, true) => first.before.is_some() && first.before == last.after,
        (false, false) => true,
        _ => false,
    }
}

fn lines(journal: &Journal, workspace: &Path, first: &FileChange, last: &FileChange) -> Option<(usize, usize)> {
    let is_large = |form: Option<updraft_run::FileMetadata>| form.is_some_and(|form| form.len > LARGEST);
    if is_large(first.was) || is_large(last.now) {
        return None;
    }
    let stored = |hash: ContentHash| journal.blob(&hash).ok().flatten();
    let after = match (exists(last), last.after) {
        (false, _) => Vec::new(),
        (true, None) => return None,
        (true, Some(hash)) => {
            let standing = std::fs::read(workspace.join(&last.path)).ok().filter(|bytes| hash_of(bytes) == hash);
            standing.or_else(|| stored(hash))?
        }
    };
    let before = match (existed(first), first.before) {
        (false, _) => Vec::new(),
        (true, None) => return None,
        // If lines were only appended, the old content is the beginning of the new one.
        (true, Some(hash)) => stored(hash).or_else(|| {
            let start = after.get(..usize::try_from(first.was?.len).ok()?)?;
            (hash_of(start) == hash).then(|| start.to_vec())
        })?,
    };
    updraft_tools::changed_lines(std::str::from_utf8(&before).ok()?, std::str::from_utf8(&after).ok()?)
}
