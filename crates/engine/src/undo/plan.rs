//! What an undo would do, path by path. Reads, changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};
use updraft_run::{Address, FormKind, Hash};
use updraft_tools::{Standing, Workspace};

use super::made::Made;
use super::record::Record;
use super::side::{Side, is_same};
use super::{LARGEST, Source};

/// What an undo would do, and what it would leave.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// What would be put back.
    pub moves: Vec<Move>,
    /// What would stay as it is.
    pub left: Vec<Left>,
    /// The number of the undo that this takes back.
    #[serde(skip)]
    pub(crate) takes_back: Option<u64>,
}

/// One path, from what it is to what it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Move {
    /// Relative to the workspace.
    pub path: String,
    /// What it is; absent if there is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Side>,
    /// What it becomes; absent if it goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Side>,
    /// Whose changes are taken back, the last first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Address>,
    /// Contents that the wanted one may be the beginning of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) later: Vec<Hash>,
}

/// A path that an undo does not touch, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Left {
    /// Relative to the workspace.
    pub path: String,
    /// Why.
    #[serde(flatten)]
    pub why: Why,
}

/// Why a path is not put back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "why", content = "what", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Why {
    /// It is not what the run left: somebody else changed it since.
    Conflict,
    /// Something else in the same git repository is not what the run left.
    Repository(String),
    /// What was there before was not kept.
    Lost,
    /// Another call was under way at the same time and may have changed it instead.
    Unsure,
    /// It is a folder that holds something else by now.
    NotEmpty,
    /// It could not be read or written.
    Failed(String),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Conflict => f.write_str("it was changed since"),
            Why::Repository(other) => write!(f, "`{other}` in the same repository was changed since"),
            Why::Lost => f.write_str("what was there before was not kept"),
            Why::Unsure => f.write_str("another call at the same time may have changed it; --force takes it back"),
            Why::NotEmpty => f.write_str("it holds something else by now"),
            Why::Failed(why) => f.write_str(why),
        }
    }
}

const TOO_LARGE: &str = "it was changed since and is too large to keep: move it away, then undo";

pub(super) struct Planning<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) source: &'a Source<'a>,
    pub(super) force: bool,
}

impl Planning<'_> {
    pub(super) fn of(&self, made: &[Made]) -> Plan {
        let mut paths: BTreeMap<&str, Vec<&Made>> = BTreeMap::new();
        for one in made {
            paths.entry(&one.change.path).or_default().push(one);
        }
        let mut plan = Plan::default();
        for (path, made) in paths {
            match self.look(path) {
                Ok(now) => self.path(path, &made, now.as_ref(), &mut plan),
                Err(why) => plan.left.push(Left { path: path.to_owned(), why: Why::Failed(why) }),
            }
        }
        if !self.force {
            keep_repositories_whole(&mut plan);
        }
        plan
    }

    /// The way back from an undo.
    pub(super) fn back(&self, record: &Record) -> Plan {
        let mut plan = Plan { takes_back: Some(record.number), ..Plan::default() };
        for done in &record.moves {
            let back = Move { from: done.to, to: done.from, later: Vec::new(), ..done.clone() };
            let now = match self.look(&back.path) {
                Ok(now) => now,
                Err(why) => {
                    plan.left.push(Left { path: back.path, why: Why::Failed(why) });
                    continue;
                }
            };
            let side = now.as_ref().map(Side::now);
            if is_same(side.as_ref(), back.to.as_ref()) && mode(side) == mode(back.to) {
                continue;
            }
            if !is_same(side.as_ref(), back.from.as_ref()) {
                plan.left.push(Left { path: back.path, why: Why::Conflict });
            } else if self.can_be_had(&back, now.as_ref()) {
                plan.moves.push(back);
            } else {
                plan.left.push(Left { path: back.path, why: Why::Lost });
            }
        }
        plan
    }

    fn look(&self, path: &str) -> Result<Option<Standing>, String> {
        let inside = self.workspace.locate(path).map_err(|failure| failure.message)?;
        self.workspace.standing(&inside, LARGEST).map_err(|failure| failure.message)
    }

    /// Goes back from what is there now, change by change, as far as each leads to the one before it. Calls that ran at
    /// the same time may have replied in another order than they wrote.
    fn path(&self, path: &str, made: &[&Made], now: Option<&Standing>, plan: &mut Plan) {
        let current = now.map(Side::now);
        let first = made.first().and_then(|one| Side::before(&one.change));
        // Where nothing was kept, nobody knows what was there.
        let is_known = made.first().is_some_and(|one| !one.change.lost);
        if is_known && is_same(current.as_ref(), first.as_ref()) && mode(current) == mode(first) {
            return;
        }
        let mut left: Vec<&Made> = made.to_vec();
        let (mut state, mut calls, mut later) = (current, Vec::new(), Vec::new());
        let mut stops = Why::Conflict;
        while let Some(at) = left.iter().rposition(|one| is_same(Side::after(&one.change).as_ref(), state.as_ref())) {
            if left[at].change.lost || left[at].change.unsure {
                stops = if left[at].change.lost { Why::Lost } else { Why::Unsure };
                break;
            }
            let one = left.remove(at);
            let before = Side::before(&one.change);
            state = before.map(|side| with_mode_of(side, state, Side::after(&one.change)));
            calls.push(one.call.clone());
            later.extend(before.and_then(|side| side.hash));
        }
        if self.force
            && let Some(one) = left.iter().find(|one| !one.change.lost)
        {
            state = Side::before(&one.change);
            if is_too_large_to_keep(now) && !is_same(current.as_ref(), state.as_ref()) {
                plan.left.push(Left { path: path.to_owned(), why: Why::Failed(TOO_LARGE.to_owned()) });
                return;
            }
            calls.extend(left.iter().map(|one| one.call.clone()));
            left.clear();
        }
        if !left.is_empty() {
            plan.left.push(Left { path: path.to_owned(), why: stops });
        }
        let done = Move { path: path.to_owned(), from: current, to: state, calls, later };
        if is_same(done.from.as_ref(), done.to.as_ref()) && mode(done.from) == mode(done.to) {
            return;
        }
        if self.can_be_had(&done, now) {
            plan.moves.push(done);
        } else if left.is_empty() {
            plan.left.push(Left { path: done.path, why: Why::Lost });
        }
    }

    fn can_be_had(&self, wanted: &Move, now: Option<&Standing>) -> bool {
        match wanted.to {
            None => true,
            Some(side) => match side.form.kind {
                FormKind::Folder => true,
                FormKind::File | FormKind::Link => {
                    is_same(wanted.from.as_ref(), Some(&side))
                        || self.source.content(&side, &wanted.later, now.and_then(|now| now.bytes.as_deref())).is_some()
                }
                _ => false,
            },
        }
    }
}

/// What somebody else wrote is replaced only if it can be brought back.
fn is_too_large_to_keep(now: Option<&Standing>) -> bool {
    now.is_some_and(|now| now.form.kind == FormKind::File && now.bytes.is_none())
}

fn mode(side: Option<Side>) -> Option<u32> {
    side.filter(|side| side.form.kind != FormKind::Link).map(|side| side.form.mode)
}

/// A mode that somebody set after the run is theirs to keep.
fn with_mode_of(mut side: Side, state: Option<Side>, after: Option<Side>) -> Side {
    if let (Some(state), Some(after)) = (state, after)
        && state.form.mode != after.form.mode
        && state.form.kind == side.form.kind
    {
        side.form.mode = state.form.mode;
    }
    side
}

/// A repository is one thing: half of it put back would be a broken one. And objects that a run added harm nobody, while
/// later commits may need them: they stay, unless the repository itself goes.
fn keep_repositories_whole(plan: &mut Plan) {
    let is_whole = |one: &&Move| one.to.is_none() && repository(&one.path) == Some(&one.path);
    let goes: BTreeSet<String> = plan.moves.iter().filter(is_whole).map(|one| one.path.clone()).collect();
    let disturbed: BTreeMap<String, String> =
        plan.left.iter().filter_map(|left| Some((repository(&left.path)?.to_owned(), left.path.clone()))).collect();
    let (mut moves, mut left) = (Vec::new(), Vec::new());
    for one in plan.moves.drain(..) {
        match repository(&one.path) {
            Some(own) if disturbed.contains_key(own) => {
                let why = Why::Repository(disturbed[own].clone());
                left.push(Left { path: one.path, why });
            }
            Some(own) if one.to.is_none() && !goes.contains(own) && is_object(own, &one.path) => {}
            _ => moves.push(one),
        }
    }
    plan.moves = moves;
    plan.left.extend(left);
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

fn is_object(repository: &str, path: &str) -> bool {
    path.get(repository.len()..).is_some_and(|rest| rest.starts_with("/objects/"))
}
