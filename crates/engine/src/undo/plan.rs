//! What an undo would do, path by path. Reads, changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};
use updraft_run::{Address, FormKind, Hash};
use updraft_tools::{Standing, Workspace, index_entries, is_draft_of_any};

use super::made::{Changes, Made};
use super::moved::{Draft, Loss, Wish, is_loss, is_misnamed};
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
    /// The run changed more than is listed.
    #[serde(skip)]
    pub(crate) has_more: bool,
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
    /// The file that holds its content now, because the run moved it there: it is moved back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_from: Option<String>,
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
    /// It may be all that is left of this path, which is not brought back.
    Remains(String),
    /// It may be what is left of something that this call took away and that is not listed.
    Unlisted(String),
    /// Its name is not UTF-8, so it cannot be found again by what was recorded.
    Name,
    /// Another call was under way at the same time and may have changed it instead.
    Unsure,
    /// It is a folder that holds something else by now.
    NotEmpty,
    /// It is a folder that holds something, which may be what the run made and is not listed.
    HoldsMore,
    /// It could not be read or written.
    Failed(String),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Conflict => f.write_str("it was changed since"),
            Why::Repository(other) => write!(f, "`{other}` in the same repository was changed since"),
            Why::Lost => f.write_str("what was there before was not kept"),
            Why::Remains(lost) => {
                write!(f, "`{lost}` is not brought back, and this may be what is left of it; --force takes it back")
            }
            Why::Unlisted(call) => {
                write!(
                    f,
                    "{call} took away more than is listed, and this may be what is left of it; --force takes it back"
                )
            }
            Why::Name => f.write_str("its name is not UTF-8, so it cannot be put back"),
            Why::Unsure => f.write_str("another call at the same time may have changed it; --force takes it back"),
            Why::NotEmpty => f.write_str("it holds something else by now"),
            Why::HoldsMore => f.write_str("it holds something that is not listed, and may be the run's"),
            Why::Failed(why) => f.write_str(why),
        }
    }
}

pub(super) const TOO_LARGE: &str =
    "it is too large to keep (more than 256 MB), so nobody could bring it back: move it away, then undo";

pub(super) struct Planning<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) source: &'a Source<'a>,
    pub(super) force: bool,
}

impl Planning<'_> {
    pub(super) fn of(&self, changes: &Changes) -> Plan {
        let made = &changes.made;
        let mut paths: BTreeMap<&str, Vec<&Made>> = BTreeMap::new();
        for one in made {
            paths.entry(&one.change.path).or_default().push(one);
        }
        let mut draft = Draft::default();
        for (path, made) in paths {
            if made.iter().any(|one| is_misnamed(&one.change)) {
                draft.lose(path, &made, Why::Name);
                continue;
            }
            match self.look(path) {
                // A write of ours that was cut off had left it, and it was cleared away.
                Ok(None) if is_draft_of_any(path) => {}
                Ok(now) => self.path(path, &made, now.as_ref(), &mut draft),
                // The plan takes the link away that is in the way. A folder comes before what lies in it.
                Err(_) if draft.makes_way_for(path) => self.path(path, &made, None, &mut draft),
                Err(why) => draft.block(path, &made, why),
            }
        }
        draft.find_what_was_moved();
        draft.plan.has_more = !changes.more.is_empty();
        let takes = changes.more.iter().filter(|(_, more)| more.taken > 0);
        draft.losses.extend(takes.map(|(call, _)| Loss::unlisted(call)));
        if !self.force {
            keep_repositories_whole(&mut draft.plan);
            draft.keep_remains(made);
        }
        draft.finished()
    }

    /// The way back from an undo.
    pub(super) fn back(&self, record: &Record) -> Plan {
        let mut draft = Draft::default();
        draft.plan.takes_back = Some(record.number);
        let mut moves: Vec<&Move> = record.moves.iter().collect();
        moves.sort_by_key(|one| &one.path);
        let taken: BTreeSet<&str> = moves.iter().filter_map(|one| one.taken_from.as_deref()).collect();
        for done in moves {
            let mut back = Move { from: done.to, to: done.from, later: Vec::new(), taken_from: None, ..done.clone() };
            let now = match self.look(&back.path) {
                Ok(now) => now,
                Err(_) if draft.makes_way_for(&back.path) => None,
                Err(why) => {
                    draft.plan.left.push(Left { path: back.path, why: Why::Failed(why) });
                    continue;
                }
            };
            let side = now.as_ref().map(Side::now);
            if self.says_the_same(&back, side) {
                back.from = side;
            }
            if is_same(side.as_ref(), back.to.as_ref()) && mode(side) == mode(back.to) {
                continue;
            }
            if !is_same(side.as_ref(), back.from.as_ref()) {
                draft.plan.left.push(Left { path: back.path, why: Why::Conflict });
                continue;
            }
            let otherwise = Some(&back).filter(|back| self.can_be_had(back, now.as_ref())).cloned();
            match otherwise {
                // What was moved is moved again: it keeps its time, by which it may be known.
                Some(back) if !taken.contains(back.path.as_str()) => draft.add(back),
                otherwise => draft.wish(Wish { wanted: back, otherwise, loss: None }),
            }
        }
        draft.find_what_was_moved();
        keep_repositories_whole(&mut draft.plan);
        draft.finished()
    }

    /// Whether an index of git that an undo put back says what it said then.
    fn says_the_same(&self, back: &Move, now: Option<Side>) -> bool {
        let Some(says) = now.and_then(|side| side.entries) else { return false };
        let put = back.from.and_then(|side| self.source.content(&side, &[], None));
        put.is_some_and(|bytes| index_entries(&back.path, &bytes) == Some(says))
    }

    fn look(&self, path: &str) -> Result<Option<Standing>, String> {
        let inside = self.workspace.locate(path).map_err(|failure| failure.message)?;
        self.workspace.standing(&inside, LARGEST).map_err(|failure| failure.message)
    }

    /// Goes back from what is there now as far as it is known. Where that ends at something that was not kept, the rest
    /// of the way is a wish.
    fn path(&self, path: &str, made: &[&Made], now: Option<&Standing>, draft: &mut Draft) {
        let current = now.map(Side::now);
        let first = made.first().and_then(|one| Side::before(&one.change));
        // Where nothing was kept, nobody knows what was there.
        let is_known = made.first().is_some_and(|one| !one.change.lost);
        if is_known && is_same(current.as_ref(), first.as_ref()) && mode(current) == mode(first) {
            return;
        }
        let wanted = |walked: &Walked<'_>| Move {
            path: path.to_owned(),
            from: current,
            to: walked.state,
            calls: walked.calls.clone(),
            taken_from: None,
            later: walked.later.clone(),
        };
        let mut walked = walk(current, made, false);
        let whole = (walked.stops == Why::Lost).then(|| walk(current, made, true));
        if self.force
            && let Some(one) = walked.left.iter().find(|one| !one.change.lost)
        {
            walked.state = Side::before(&one.change);
            walked.calls.extend(walked.left.drain(..).map(|one| one.call.clone()));
        }
        let done = wanted(&walked);
        let is_change = !is_same(done.from.as_ref(), done.to.as_ref()) || mode(done.from) != mode(done.to);
        let otherwise = Some(done).filter(|done| is_change && self.can_be_had(done, now));
        let loss = || Some(Loss::of(path, made)).filter(|_| made.iter().any(|one| is_loss(&one.change)));
        if let Some(whole) = whole.filter(|whole| whole.left.is_empty() && !walked.left.is_empty()) {
            draft.wish(Wish { wanted: wanted(&whole), otherwise, loss: loss() });
            return;
        }
        if !walked.left.is_empty() {
            if walked.stops == Why::Lost {
                draft.losses.extend(loss());
            } else {
                draft.miss(path, first);
            }
            draft.plan.left.push(Left { path: path.to_owned(), why: walked.stops.clone() });
        }
        match otherwise {
            Some(done) => draft.add(done),
            None if is_change && walked.left.is_empty() => {
                draft.wish(Wish { wanted: wanted(&walked), otherwise: None, loss: loss() });
            }
            None => {}
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

/// How far a path was gone back.
struct Walked<'a> {
    state: Option<Side>,
    calls: Vec<Address>,
    later: Vec<Hash>,
    /// Changes that are still to be taken back.
    left: Vec<&'a Made>,
    /// Why there are any.
    stops: Why,
}

/// Goes back from what is there now, change by change, as far as each leads to the one before it. Calls that ran at the
/// same time may have replied in another order than they wrote.
fn walk<'a>(current: Option<Side>, made: &[&'a Made], through_lost: bool) -> Walked<'a> {
    let (calls, later, left, stops) = (Vec::new(), Vec::new(), made.to_vec(), Why::Conflict);
    let mut at = Walked { state: current, calls, later, left, stops };
    let leads_here = |one: &&Made, state: Option<Side>| is_same(Side::after(&one.change).as_ref(), state.as_ref());
    while let Some(last) = at.left.iter().rposition(|one| leads_here(one, at.state)) {
        let change = &at.left[last].change;
        if change.unsure || (change.lost && !through_lost) {
            at.stops = if change.lost { Why::Lost } else { Why::Unsure };
            break;
        }
        let one = at.left.remove(last);
        let before = Side::before(&one.change);
        at.state = before.map(|side| with_mode_of(side, at.state, Side::after(&one.change)));
        at.calls.push(one.call.clone());
        at.later.extend(before.and_then(|side| side.hash));
    }
    at
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
    let goes = repositories_that_go(plan);
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

/// Those that the run made.
pub(super) fn repositories_that_go(plan: &Plan) -> BTreeSet<String> {
    let is_whole = |one: &&Move| one.to.is_none() && repository(&one.path) == Some(&one.path);
    plan.moves.iter().filter(is_whole).map(|one| one.path.clone()).collect()
}

/// The part of a path up to git's folder.
pub(super) fn repository(path: &str) -> Option<&str> {
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
