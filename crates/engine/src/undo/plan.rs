//! What an undo would do, path by path. Reads, changes nothing.
//!
//! One rule: what still is as the run left it, and whose earlier content was kept, is put back. Everything else is named
//! and left alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};
use updraft_run::{ContentHash, EffectAddress, FileChange, FileKind};
use updraft_tools::{PathContent, Workspace, is_draft_of_any};

use super::made::{RecordedChange, RunChanges};
use super::record::UndoRecord;
use super::side::{PathSnapshot, is_same};
use super::{ContentSource, LARGEST};

/// What an undo would do, and what it would leave.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct UndoPlan {
    /// What would be put back.
    pub moves: Vec<UndoMove>,
    /// What would stay as it is.
    pub left: Vec<SkippedPath>,
    /// The number of the undo that this takes back.
    #[serde(skip)]
    pub(crate) takes_back: Option<u64>,
}

/// One path, from what it is to what it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoMove {
    /// Relative to the workspace.
    pub path: String,
    /// What it is; absent if there is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<PathSnapshot>,
    /// What it becomes; absent if it goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<PathSnapshot>,
    /// Whose changes are taken back, the last first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<EffectAddress>,
    /// Contents that the wanted one may be the beginning of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) later: Vec<ContentHash>,
    /// Where an undo of an earlier version moved it back from. Only read.
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

/// Why a path is not put back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "why", content = "what", rename_all = "snake_case")]
#[non_exhaustive]
pub enum UndoSkipReason {
    /// It is not what the run left: somebody else changed it since.
    Conflict,
    /// Something else in the same git repository is not what the run left.
    Repository(String),
    /// What was there before was not kept.
    Lost,
    /// It may be a file that was moved here and cannot be brought back.
    MaybeMoved,
    /// Its name is not UTF-8, so it cannot be found again by what was recorded.
    Name,
    /// Another call was under way at the same time and may have changed it instead.
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
                f.write_str("it may be a moved file whose earlier place cannot be restored; --force removes it")
            }
            UndoSkipReason::Name => f.write_str("its name is not UTF-8, so it cannot be put back"),
            UndoSkipReason::Unsure => {
                f.write_str("another call at the same time may have changed it; --force takes it back")
            }
            UndoSkipReason::NotEmpty => f.write_str("the folder is not empty"),
            UndoSkipReason::Failed(why) => f.write_str(why),
        }
    }
}

pub(super) const TOO_LARGE: &str =
    "it is too large to keep (more than 256 MB), so nobody could bring it back: move it away, then undo";

pub(super) const MOVED: &str = "an undo by an earlier version moved it, so it stays where it is: move it yourself";

/// How many times smaller a file can get by packing it; `gzip` reaches 1,032.
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
                // A write of ours that was cut off had left it, and it was cleared away.
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

    /// The way back from an undo.
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

    /// What is at a path. Nothing, where it lies behind a link that the plan takes away; a folder comes before what lies in
    /// it.
    fn look(&self, path: &str, plan: &UndoPlan) -> Result<Option<PathContent>, String> {
        let inside = self.workspace.locate(path).map_err(|failure| failure.message)?;
        self.workspace.standing(&inside, LARGEST).or_else(|failure| {
            let is_link = |side: Option<PathSnapshot>| side.is_some_and(|side| side.form.kind == FileKind::Link);
            let goes = |one: &UndoMove| is_link(one.from) && !is_link(one.to) && is_below(path, &one.path);
            if plan.moves.iter().any(goes) { Ok(None) } else { Err(failure.message) }
        })
    }

    /// What leads from what is there now to what was there before the run; nothing, if that is the same.
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

    /// A move, if it changes something and can be carried out and taken back.
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

/// How far a path was gone back.
struct PathRewind {
    state: Option<PathSnapshot>,
    calls: Vec<EffectAddress>,
    later: Vec<ContentHash>,
    /// Why that is not to the beginning.
    stops: Option<UndoSkipReason>,
}

/// Goes back from what is there now, change by change, as far as each leads to the one before it. Calls that ran at the
/// same time may have replied in another order than they wrote.
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
        // Of what was there before the first change, more must be known than the form.
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

/// Whether what is at a path is what was left there. An index of git counts as such while it has the same length: `git
/// status` writes the times of files into it, and what is staged changes its length.
fn is_as_left(path: &str, now: Option<PathSnapshot>, left: Option<PathSnapshot>) -> bool {
    let is_index = repository(path).is_some() && path.ends_with("/index");
    let len =
        |side: Option<PathSnapshot>| side.filter(|side| side.form.kind == FileKind::File).map(|side| side.form.len);
    is_same(now.as_ref(), left.as_ref()) || (is_index && len(now).is_some() && len(now) == len(left))
}

fn mode(side: Option<PathSnapshot>) -> Option<u32> {
    side.filter(|side| side.form.kind != FileKind::Link).map(|side| side.form.mode)
}

/// A mode that somebody set after the run is theirs to keep.
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

    /// Takes moves out of the plan: those that this gives a reason for.
    fn leave_those(&mut self, why: impl Fn(&UndoMove) -> Option<UndoSkipReason>) {
        for one in std::mem::take(&mut self.moves) {
            match why(&one) {
                Some(why) => self.leave(&one.path, why),
                None => self.moves.push(one),
            }
        }
    }
}

/// A file that was not kept may have been moved or packed: one of its length that the run made is not removed, nor is one of
/// a call that took it away and that may hold it, nor one of a call that took away more than is listed.
fn keep_what_may_be_moved(plan: &mut UndoPlan, changes: &RunChanges) {
    let lost = |change: &FileChange| change.was.filter(|was| change.lost && Some(*was) != change.now && was.len > 0);
    let lengths: BTreeSet<u64> = changes.made.iter().filter_map(|one| Some(lost(&one.change)?.len)).collect();
    let takers: BTreeSet<&EffectAddress> =
        changes.more.iter().filter(|(_, more)| more.taken > 0).map(|(call, _)| call).collect();
    // The smallest that each call took away.
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

/// A repository is one thing: half of it put back would be a broken one. And objects that a run added harm nobody, while
/// later commits may need them: they stay, unless the repository itself goes.
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

/// The part of a path up to git's folder.
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
