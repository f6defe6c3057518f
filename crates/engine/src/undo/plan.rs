//! Plans an undo, path by path. Reads, but changes nothing.
//!
//! There is one rule: a path is restored if it still is as the run left it and its earlier content was kept. Every
//! other path is reported and left alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};
use updraft_run::{ContentHash, EffectAddress, FileChange, FileKind};
use updraft_tools::{PathContent, Workspace, is_draft_of_any};

use super::path_snapshot::{PathSnapshot, is_same};
use super::record::UndoRecord;
use super::recorded_changes::{RecordedChange, RunChanges};
use super::{ContentSource, LARGEST};

/// What an undo would do, and what it would leave alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct UndoPlan {
    /// What would be restored.
    pub moves: Vec<UndoMove>,
    /// What would stay as it is.
    pub left: Vec<SkippedPath>,
    /// The number of the undo that this one reverts.
    #[serde(skip)]
    pub(crate) takes_back: Option<u64>,
}

/// One path: what it is now, and what it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoMove {
    /// Relative to the workspace.
    pub path: String,
    /// What it is now; absent if nothing is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<PathSnapshot>,
    /// What it becomes; absent if it is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<PathSnapshot>,
    /// The calls whose changes are undone, the last first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<EffectAddress>,
    /// Contents that the wanted content may be the beginning of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) later: Vec<ContentHash>,
    /// The path an undo by an earlier version moved it from. Only read from old records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) taken_from: Option<String>,
}

/// A path that an undo does not touch, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkippedPath {
    /// Relative to the workspace.
    pub path: String,
    /// Why.
    #[serde(flatten)]
    pub why: UndoSkipReason,
}

/// Why a path is not restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "why", content = "what", rename_all = "snake_case")]
#[non_exhaustive]
pub enum UndoSkipReason {
    /// It is not as the run left it: someone else has changed it since.
    Conflict,
    /// Something else in the same git repository is not as the run left it.
    Repository(String),
    /// The earlier content was not kept.
    Lost,
    /// It may be a file that was moved here and cannot be moved back.
    MaybeMoved,
    /// Its name is not UTF-8, so it cannot be found by its recorded name.
    Name,
    /// Another call was running at the same time and may have changed it instead.
    Unsure,
    /// It is a folder that is not empty.
    NotEmpty,
    /// It could not be read or written.
    Failed(String),
}

impl fmt::Display for UndoSkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UndoSkipReason::Conflict => f.write_str("it was changed since"),
            UndoSkipReason::Repository(other) => write!(f, "`{other}` in the same repository was changed since"),
            UndoSkipReason::Lost => f.write_str("what was there before was not kept"),
            UndoSkipReason::MaybeMoved => {
                f.write_str("it may be a moved file whose old path cannot be restored; --force removes it")
            }
            UndoSkipReason::Name => f.write_str("its name is not UTF-8, so it cannot be restored"),
            UndoSkipReason::Unsure => {
                f.write_str("another call at the same time may have changed it; --force undoes it")
            }
            UndoSkipReason::NotEmpty => f.write_str("the folder is not empty"),
            UndoSkipReason::Failed(why) => f.write_str(why),
        }
    }
}

pub(super) const TOO_LARGE: &str =
    "it is too large to keep (more than 256 MB), so it could not be restored later: move it away, then undo";

pub(super) const MOVED: &str = "an undo by an earlier version moved it, so it stays where it is: move it yourself";

/// How many times smaller a file can become by compression; `gzip` reaches 1,032.
const PACKED: u64 = 1_100;

pub(super) struct UndoPlanner<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) source: &'a ContentSource<'a>,
    pub(super) force: bool,
}

impl UndoPlanner<'_> {
    pub(super) fn of(&self, changes: &RunChanges) -> UndoPlan {
        let mut paths: BTreeMap<&str, Vec<&RecordedChange>> = BTreeMap::new();
        for one in &changes.made {
            paths.entry(&one.change.path).or_default().push(one);
        }
        let mut plan = UndoPlan::default();
        for (path, made) in paths {
            let is_misnamed = |one: &&RecordedChange| one.change.lost && path.contains(char::REPLACEMENT_CHARACTER);
            if made.iter().any(is_misnamed) {
                plan.leave(path, UndoSkipReason::Name);
                continue;
            }
            match self.look(path, &plan) {
                // An interrupted write of ours had left it, and it has been cleaned up.
                Ok(None) if is_draft_of_any(path) => {}
                Ok(now) => match self.path(path, &made, now.as_ref()) {
                    Ok(wanted) => plan.moves.extend(wanted),
                    Err(why) => plan.leave(path, why),
                },
                Err(why) => plan.leave(path, UndoSkipReason::Failed(why)),
            }
        }
        if !self.force {
            keep_what_may_be_moved(&mut plan, changes);
            keep_repositories_whole(&mut plan);
        }
        plan
    }

    /// Plans how to revert an undo.
    pub(super) fn back(&self, record: &UndoRecord) -> UndoPlan {
        let mut plan = UndoPlan { takes_back: Some(record.number), ..UndoPlan::default() };
        let mut moves: Vec<&UndoMove> = record.moves.iter().collect();
        let moved = record.moved();
        moves.sort_by_key(|one| &one.path);
        for done in moves {
            let (path, from) = (done.path.as_str(), done.to);
            if moved.contains(path) {
                plan.leave(path, UndoSkipReason::Failed(MOVED.to_owned()));
                continue;
            }
            let now = match self.look(path, &plan) {
                Ok(now) => now,
                Err(why) => {
                    plan.leave(path, UndoSkipReason::Failed(why));
                    continue;
                }
            };
            let current = now.as_ref().map(PathSnapshot::now);
            if !is_as_left(path, current, from) && !is_same(current.as_ref(), done.from.as_ref()) {
                plan.leave(path, UndoSkipReason::Conflict);
                continue;
            }
            let back = UndoMove { from: current, to: done.from, later: Vec::new(), ..done.clone() };
            match self.checked(back, now.as_ref()) {
                Ok(back) => plan.moves.extend(back),
                Err(why) => plan.leave(path, why),
            }
        }
        keep_repositories_whole(&mut plan);
        plan
    }

    /// What is at a path. Returns `None` if it is behind a link that the plan removes. A folder is planned before its
    /// contents.
    fn look(&self, path: &str, plan: &UndoPlan) -> Result<Option<PathContent>, String> {
        let inside = self.workspace.locate(path).map_err(|failure| failure.message)?;
        self.workspace.standing(&inside, LARGEST).or_else(|failure| {
            let is_link = |side: Option<PathSnapshot>| side.is_some_and(|side| side.form.kind == FileKind::Link);
            let goes = |one: &UndoMove| is_link(one.from) && !is_link(one.to) && is_below(path, &one.path);
            if plan.moves.iter().any(goes) { Ok(None) } else { Err(failure.message) }
        })
    }

    /// The move from what is there now to what was there before the run. Returns `None` if they are the same.
    fn path(
        &self,
        path: &str,
        made: &[&RecordedChange],
        now: Option<&PathContent>,
    ) -> Result<Option<UndoMove>, UndoSkipReason> {
        let Some(first) = made.first() else { return Ok(None) };
        let (current, before) = (now.map(PathSnapshot::now), PathSnapshot::before(&first.change));
        if !first.change.lost && is_same(current.as_ref(), before.as_ref()) && mode(current) == mode(before) {
            return Ok(None);
        }
        let mut walked = walk(path, current, made);
        if let Some(why) = walked.stops.take() {
            if first.change.lost {
                return Err(UndoSkipReason::Lost);
            }
            if !self.force {
                return Err(why);
            }
            walked.state = before;
            walked.calls = made.iter().rev().map(|one| one.call.clone()).collect();
        }
        let (path, calls, later) = (path.to_owned(), walked.calls, walked.later);
        self.checked(UndoMove { path, from: current, to: walked.state, calls, later, taken_from: None }, now)
    }

    /// Returns the move if it changes something and can be carried out and reverted.
    fn checked(&self, wanted: UndoMove, now: Option<&PathContent>) -> Result<Option<UndoMove>, UndoSkipReason> {
        let is_same = is_same(wanted.from.as_ref(), wanted.to.as_ref());
        if is_same && mode(wanted.from) == mode(wanted.to) {
            return Ok(None);
        }
        let is_kept = |side: PathSnapshot| match side.form.kind {
            FileKind::Folder => true,
            FileKind::File | FileKind::Link => {
                let bytes = now.and_then(|now| now.bytes.as_deref());
                self.source.content(&side, &wanted.later, bytes).is_some()
            }
            _ => false,
        };
        if !is_same && !wanted.to.is_none_or(is_kept) {
            return Err(UndoSkipReason::Lost);
        }
        let is_large =
            wanted.from.is_some_and(|side| side.form.kind == FileKind::File && side.form.len > LARGEST as u64);
        if !is_same && is_large {
            return Err(UndoSkipReason::Failed(TOO_LARGE.to_owned()));
        }
        Ok(Some(wanted))
    }
}

/// How far a path could be traced back.
struct PathRewind {
    state: Option<PathSnapshot>,
    calls: Vec<EffectAddress>,
    later: Vec<ContentHash>,
    /// Why it could not be traced back to the beginning.
    stops: Option<UndoSkipReason>,
}

/// Traces a path back from what is there now, change by change, as long as each change connects to the one before it.
/// Calls that ran at the same time may have replied in another order than they wrote.
fn walk(path: &str, current: Option<PathSnapshot>, made: &[&RecordedChange]) -> PathRewind {
    let mut at = PathRewind { state: current, calls: Vec::new(), later: Vec::new(), stops: None };
    let mut left = made.to_vec();
    while !left.is_empty() {
        let leads_here = |one: &&RecordedChange| is_as_left(path, at.state, PathSnapshot::after(&one.change));
        let Some(last) = left.iter().rposition(leads_here) else {
            at.stops = Some(UndoSkipReason::Conflict);
            break;
        };
        let RecordedChange { call, change, .. } = left.remove(last);
        // For the first change, the earlier content must be known, not only the metadata.
        if change.unsure || (change.lost && left.is_empty()) {
            at.stops = Some(if change.lost { UndoSkipReason::Lost } else { UndoSkipReason::Unsure });
            break;
        }
        let before = PathSnapshot::before(change);
        at.state = before.map(|side| with_mode_of(side, at.state, PathSnapshot::after(change)));
        at.calls.push(call.clone());
        at.later.extend(before.and_then(|side| side.hash));
    }
    at
}

/// Whether a path is as it was left. A git index counts as unchanged while its length is the same: `git status` writes
/// the times of files into it, and staging changes its length.
pub(super) fn is_as_left(path: &str, now: Option<PathSnapshot>, left: Option<PathSnapshot>) -> bool {
    let is_index = repository(path).is_some() && path.ends_with("/index");
    let len =
        |side: Option<PathSnapshot>| side.filter(|side| side.form.kind == FileKind::File).map(|side| side.form.len);
    is_same(now.as_ref(), left.as_ref()) || (is_index && len(now).is_some() && len(now) == len(left))
}

fn mode(side: Option<PathSnapshot>) -> Option<u32> {
    side.filter(|side| side.form.kind != FileKind::Link).map(|side| side.form.mode)
}

/// Keeps a mode that someone set after the run.
fn with_mode_of(mut side: PathSnapshot, state: Option<PathSnapshot>, after: Option<PathSnapshot>) -> PathSnapshot {
    if let (Some(state), Some(after)) = (state, after)
        && state.form.mode != after.form.mode
        && state.form.kind == side.form.kind
    {
        side.form.mode = state.form.mode;
    }
    side
}

impl UndoPlan {
    fn leave(&mut self, path: &str, why: UndoSkipReason) {
        self.left.push(SkippedPath { path: path.to_owned(), why });
    }

    /// Removes from the plan the moves for which `why` gives a reason.
    fn leave_those(&mut self, why: impl Fn(&UndoMove) -> Option<UndoSkipReason>) {
        for one in std::mem::take(&mut self.moves) {
            match why(&one) {
                Some(why) => self.leave(&one.path, why),
                None => self.moves.push(one),
            }
        }
    }
}

/// A file whose content was not kept may have been moved or compressed. So these files are not removed: a file of the
/// same length that the run made, a file by the same call that is large enough to contain it, and a file by a call that
/// removed more than is listed.
fn keep_what_may_be_moved(plan: &mut UndoPlan, changes: &RunChanges) {
    let lost = |change: &FileChange| change.was.filter(|was| change.lost && Some(*was) != change.now && was.len > 0);
    let lengths: BTreeSet<u64> = changes.made.iter().filter_map(|one| Some(lost(&one.change)?.len)).collect();
    let takers: BTreeSet<&EffectAddress> =
        changes.more.iter().filter(|(_, more)| more.taken > 0).map(|(call, _)| call).collect();
    // The smallest file that each call removed.
    let mut removed: BTreeMap<&EffectAddress, u64> = BTreeMap::new();
    for one in changes.made.iter().filter(|one| one.change.now.is_none()) {
        if let Some(was) = lost(&one.change).filter(|was| was.kind == FileKind::File) {
            let smallest = removed.entry(&one.call).or_insert(was.len);
            *smallest = was.len.min(*smallest);
        }
    }
    plan.leave_those(|one| {
        let len = one.from.filter(|side| side.form.kind == FileKind::File && one.to.is_none())?.form.len;
        let may_hold =
            |call: &EffectAddress| takers.contains(call) || removed.get(call).is_some_and(|lost| len >= lost / PACKED);
        let may_be = lengths.contains(&len) || (len > 0 && one.calls.iter().any(may_hold));
        may_be.then_some(UndoSkipReason::MaybeMoved)
    });
}

/// A repository is restored completely or not at all, because half of it would be broken. Objects that a run added do
/// no harm, and later commits may need them: they stay, unless the repository itself is removed.
fn keep_repositories_whole(plan: &mut UndoPlan) {
    let is_whole = |one: &&UndoMove| one.to.is_none() && repository(&one.path) == Some(&one.path);
    let goes: BTreeSet<String> = plan.moves.iter().filter(is_whole).map(|one| one.path.clone()).collect();
    let is_object =
        |one: &UndoMove, own: &str| one.path.get(own.len()..).is_some_and(|rest| rest.starts_with("/objects/"));
    plan.moves.retain(|one| {
        repository(&one.path).is_none_or(|own| one.to.is_some() || goes.contains(own) || !is_object(one, own))
    });
    let disturbed: BTreeMap<String, String> =
        plan.left.iter().filter_map(|left| Some((repository(&left.path)?.to_owned(), left.path.clone()))).collect();
    plan.leave_those(|one| disturbed.get(repository(&one.path)?).cloned().map(UndoSkipReason::Repository));
}

/// The part of a path up to the `.git` folder.
fn repository(path: &str) -> Option<&str> {
    let mut end = 0;
    for part in path.split('/') {
        end += part.len();
        if part.eq_ignore_ascii_case(".git") {
            return path.get(..end);
        }
        end += 1;
    }
    None
}

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}
