//! What a run changed, file by file, for people who review it: the text before the run, and whether the file still is as
//! the run left it.

use std::collections::BTreeMap;

use serde::Serialize;
use updraft_run::{ContentHash, FileKind};
use updraft_tools::PathContent;

use super::path_snapshot::{PathSnapshot, is_same};
use super::plan::is_as_left;
use super::recorded_changes::{ChangeFilter, RecordedChange};
use super::{LARGEST, Undo};
use crate::Error;

/// The longest text that is shown: nobody reviews more of one file.
const SHOWN: u64 = 1 << 20;
/// The most bytes of text that are shown of one run.
const SHOWN_IN_ALL: usize = 16 << 20;

/// A file that a run changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileReview {
    /// Relative to the workspace.
    pub path: String,
    /// What the run did with it.
    pub change: ReviewedChange,
    /// What it is now.
    pub state: ReviewedState,
    /// The text before the run. `None` if there was no file, or if `hidden` says why it cannot be shown.
    pub before: Option<String>,
    /// Why the text before the run cannot be shown.
    pub hidden: Option<&'static str>,
}

/// What a run did with a file, from its first change to its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewedChange {
    /// It was not there before.
    Created,
    /// It has other content, or became something else.
    Changed,
    /// It is not there any more.
    Removed,
}

/// What a file that a run changed is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewedState {
    /// It is as the run left it.
    AsLeft,
    /// It is as it was before the run.
    AsBefore,
    /// It is neither: somebody has changed it since.
    ChangedSince,
}

impl Undo {
    /// The files that the run changed, by path. Folders are not listed, nor what is in `.git`.
    pub fn review(&self) -> Result<Vec<FileReview>, Error> {
        let made = self.recorded_changes(&ChangeFilter::default())?;
        let mut paths: BTreeMap<&str, Vec<&RecordedChange>> = BTreeMap::new();
        for one in &made {
            paths.entry(&one.change.path).or_default().push(one);
        }
        let mut shown = 0;
        let mut files = Vec::new();
        for (path, made) in paths {
            if path.split('/').any(|part| part == ".git") {
                continue;
            }
            let Some(mut file) = self.review_path(path, &made) else { continue };
            shown += file.before.as_ref().map_or(0, String::len);
            if shown > SHOWN_IN_ALL && file.before.take().is_some() {
                file.hidden = Some("the run changed too much to show all of it");
            }
            files.push(file);
        }
        Ok(files)
    }

    /// The review of one path; `None` if the run left it as it was, or if it is a folder.
    fn review_path(&self, path: &str, made: &[&RecordedChange]) -> Option<FileReview> {
        let (Some(first), Some(last)) = (made.first(), made.last()) else { return None };
        let (before, after) = (PathSnapshot::before(&first.change), PathSnapshot::after(&last.change));
        let is_folder = |side: Option<PathSnapshot>| side.is_none_or(|side| side.form.kind == FileKind::Folder);
        if (is_folder(before) && is_folder(after)) || (!first.change.lost && is_same(before.as_ref(), after.as_ref())) {
            return None;
        }
        let now = self.workspace.locate(path).and_then(|inside| self.workspace.standing(&inside, LARGEST));
        // What cannot be read now (behind a link, without rights) is not as the run left it.
        let (now, is_readable) = now.map_or((None, false), |now| (now, true));
        let current = now.as_ref().map(PathSnapshot::now);
        let state = if is_readable && is_as_left(path, current, after) {
            ReviewedState::AsLeft
        } else if is_readable && !first.change.lost && is_same(current.as_ref(), before.as_ref()) {
            ReviewedState::AsBefore
        } else {
            ReviewedState::ChangedSince
        };
        let change = match (before, after) {
            (None, _) => ReviewedChange::Created,
            (Some(_), None) => ReviewedChange::Removed,
            (Some(_), Some(_)) => ReviewedChange::Changed,
        };
        let (before, hidden) = match before.map(|side| self.text(&side, made, now.as_ref())) {
            None => (None, None),
            Some(Ok(text)) => (Some(text), None),
            Some(Err(why)) => (None, Some(why)),
        };
        Some(FileReview { path: path.to_owned(), change, state, before, hidden })
    }

    /// The text of a file before the run, or why it cannot be shown.
    fn text(
        &self,
        side: &PathSnapshot,
        made: &[&RecordedChange],
        now: Option<&PathContent>,
    ) -> Result<String, &'static str> {
        if side.form.kind != FileKind::File {
            return Err("it was not a file");
        }
        if side.form.len > SHOWN {
            return Err("it was too large to show");
        }
        let later: Vec<ContentHash> =
            made.iter().flat_map(|one| [one.change.before, one.change.after]).flatten().collect();
        let bytes = self.source().content(side, &later, now.and_then(|now| now.bytes.as_deref()));
        let bytes = bytes.ok_or("what was there before was not kept")?;
        let text = String::from_utf8(bytes).map_err(|_| "it was not text")?;
        if text.contains('\0') { Err("it was not text") } else { Ok(text) }
    }
}
