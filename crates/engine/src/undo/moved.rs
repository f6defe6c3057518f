//! What was not kept and may still be there: under another name, or in a file that the run made of it.
//!
//! A file that was moved is found by its content, or by its length and time if that was never read, and moved back. Where
//! an original is lost, nothing is removed that could be what is left of it.

use std::collections::{BTreeMap, BTreeSet};

use updraft_run::{Address, Change, FormKind, Hash};

use super::LARGEST;
use super::made::Made;
use super::plan::{Left, Move, Plan, TOO_LARGE, Why, repositories_that_go, repository};
use super::side::{Side, is_same};

/// A plan while it is made.
#[derive(Default)]
pub(super) struct Draft {
    pub(super) plan: Plan,
    pub(super) wishes: Vec<Wish>,
    pub(super) losses: Vec<Loss>,
}

/// Something whose content was not kept.
pub(super) struct Wish {
    /// What would be done with it.
    pub(super) wanted: Move,
    /// What is done without.
    pub(super) otherwise: Option<Move>,
    /// What is lost then.
    pub(super) loss: Option<Loss>,
}

impl Wish {
    /// What is wished for, if it is a file with something in it.
    fn content(&self) -> Option<Side> {
        self.wanted.to.filter(|side| side.form.kind == FormKind::File && side.form.len > 0)
    }
}

/// An original that nobody can bring back.
pub(super) struct Loss {
    path: String,
    calls: BTreeSet<Address>,
    is_gone: bool,
}

impl Loss {
    pub(super) fn of(path: &str, made: &[&Made]) -> Self {
        let lost: Vec<&&Made> = made.iter().filter(|one| is_loss(&one.change)).collect();
        let calls = lost.iter().map(|one| one.call.clone()).collect();
        Loss { path: path.to_owned(), calls, is_gone: lost.iter().any(|one| one.change.now.is_none()) }
    }
}

/// Whether a change took a content away that was not kept. What is only known to have changed took nothing away that is
/// known, nor did a line that was added.
pub(super) fn is_loss(change: &Change) -> bool {
    let has_content = |form: &updraft_run::Form| form.kind == FormKind::File && form.len > 0;
    change.lost && change.was != change.now && change.was.as_ref().is_some_and(has_content)
}

/// Whether the path of a change is only a likeness of the name.
pub(super) fn is_misnamed(change: &Change) -> bool {
    change.lost && change.path.contains(char::REPLACEMENT_CHARACTER)
}

impl Draft {
    /// A path that cannot be put back, whatever is there.
    pub(super) fn lose(&mut self, path: &str, made: &[&Made], why: Why) {
        self.losses.extend(Some(Loss::of(path, made)).filter(|loss| !loss.calls.is_empty()));
        self.plan.left.push(Left { path: path.to_owned(), why });
    }

    /// Fulfils wishes by files that are about to be removed or replaced and hold what is wished for.
    pub(super) fn find_what_was_moved(&mut self) {
        // By length: what is the same has the same.
        let mut sources: BTreeMap<u64, BTreeMap<String, Side>> = BTreeMap::new();
        for (path, side) in self.plan.moves.iter().filter_map(source) {
            sources.entry(side.form.len).or_default().insert(path, side);
        }
        let mut open = Vec::new();
        for mut wish in std::mem::take(&mut self.wishes) {
            let alike = |there: &Side| wish.content().is_some_and(|side| is_same(Some(there), Some(&side)));
            let mut none = BTreeMap::new();
            let length = wish.content().map(|side| side.form.len);
            let sources = length.and_then(|length| sources.get_mut(&length)).unwrap_or(&mut none);
            let mut paths: Vec<&String> = sources.iter().filter(|one| alike(one.1)).map(|one| one.0).collect();
            // Of several, the one that kept its name.
            paths.sort_by_key(|path| name(path) != name(&wish.wanted.path));
            match paths.first().filter(|_| wish.wanted.from.is_none()).map(|path| (*path).clone()) {
                Some(path) => {
                    sources.remove(&path);
                    wish.wanted.taken_from = Some(path);
                    self.plan.moves.push(wish.wanted);
                }
                None => open.push(wish),
            }
        }
        // What the plan replaces is stored before anything is touched. Two files may have changed places, so each wish
        // counts on the others until some cannot be fulfilled; then less is stored, and the rest is looked at again.
        loop {
            let moves = self.plan.moves.iter().chain(open.iter().map(|wish| &wish.wanted));
            let stored: BTreeSet<Hash> =
                moves.filter_map(|one| one.from.filter(can_be_kept)).filter_map(|side| side.hash).collect();
            let is_stored =
                |wish: &Wish| wish.content().and_then(|side| side.hash).is_some_and(|hash| stored.contains(&hash));
            let stays: Vec<bool> = open.iter().map(is_stored).collect();
            if stays.iter().all(|stays| *stays) {
                break;
            }
            for (wish, stays) in std::mem::take(&mut open).into_iter().zip(stays) {
                if stays {
                    open.push(wish);
                    continue;
                }
                self.losses.extend(wish.loss);
                self.plan.left.push(Left { path: wish.wanted.path, why: Why::Lost });
                self.plan.moves.extend(wish.otherwise);
            }
        }
        self.plan.moves.extend(open.into_iter().map(|wish| wish.wanted));
    }

    /// Leaves what may be all that is left of something: files that commands made, and those that they replaced while
    /// they took the original away.
    pub(super) fn keep_remains(&mut self, made: &[Made]) {
        if self.losses.is_empty() {
            return;
        }
        let goes = repositories_that_go(&self.plan);
        let taken = taken(&self.plan);
        let mut by_path: BTreeMap<&str, Vec<&Made>> = BTreeMap::new();
        for one in made.iter().filter(|one| !one.is_written) {
            by_path.entry(&one.change.path).or_default().push(one);
        }
        let may_be_of = |one: &Move| {
            let from = one.from.filter(|side| side.form.kind == FormKind::File && side.form.len > 0)?;
            // What git writes in a repository of yours is not what is left of a file.
            let is_gits = repository(&one.path).is_some_and(|own| !goes.contains(own));
            if is_gits || taken.contains(&one.path) || is_same(Some(&from), one.to.as_ref()) {
                return None;
            }
            let made = by_path.get(one.path.as_str()).into_iter().flatten();
            let by: BTreeSet<&Address> =
                made.map(|other| &other.call).filter(|call| one.calls.contains(*call)).collect();
            let is_by = |loss: &&Loss| loss.is_gone && loss.calls.iter().any(|call| by.contains(call));
            let loss = match one.to {
                None if by.is_empty() => None,
                None => self.losses.first(),
                Some(_) => self.losses.iter().find(is_by),
            };
            loss.map(|loss| loss.path.clone())
        };
        self.plan.leave(|one| may_be_of(one).map(Why::Remains));
    }

    /// The plan, without what could not be brought back once it is done.
    pub(super) fn finished(self) -> Plan {
        let mut plan = self.plan;
        let taken = taken(&plan);
        let is_too_large = |one: &Move| {
            let is_large = one.from.is_some_and(|side| side.form.kind == FormKind::File && !can_be_kept(&side));
            is_large && !taken.contains(&one.path) && !is_same(one.from.as_ref(), one.to.as_ref())
        };
        plan.leave(|one| is_too_large(one).then(|| Why::Failed(TOO_LARGE.to_owned())));
        // What is left where it is cannot be moved back either.
        let left: BTreeSet<String> = plan.left.iter().map(|one| one.path.clone()).collect();
        plan.leave(|one| one.taken_from.as_ref().is_some_and(|from| left.contains(from)).then_some(Why::Lost));
        plan
    }
}

impl Plan {
    /// Takes moves out of the plan, and with them the removal of folders that are not empty then.
    fn leave(&mut self, why: impl Fn(&Move) -> Option<Why>) {
        let (mut moves, mut left) = (Vec::new(), Vec::new());
        for one in self.moves.drain(..) {
            match why(&one) {
                Some(why) => left.push(Left { path: one.path, why }),
                None => moves.push(one),
            }
        }
        let stay: BTreeSet<&str> = left.iter().flat_map(|left| above(&left.path)).collect();
        moves.retain(|one| one.to.is_some() || !stay.contains(one.path.as_str()));
        self.moves = moves;
        self.left.extend(left);
    }
}

/// A file that would only be removed.
fn source(one: &Move) -> Option<(String, Side)> {
    let from = one.from.filter(|side| side.form.kind == FormKind::File)?;
    one.to.is_none().then(|| (one.path.clone(), from))
}

fn taken(plan: &Plan) -> BTreeSet<String> {
    plan.moves.iter().filter_map(|one| one.taken_from.clone()).collect()
}

fn can_be_kept(side: &Side) -> bool {
    side.form.len <= LARGEST as u64
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The folders that a path lies in.
fn above(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}
