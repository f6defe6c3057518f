//! What was not kept and may still be there: under another name, or in a file that the run made of it.
//!
//! A file that was moved is found by its content, or by its length and time if that was never read, and moved back. Where
//! an original is lost, nothing is removed that could be what is left of it.

use std::collections::{BTreeMap, BTreeSet};

use updraft_run::{Address, Change, FormKind, Hash};

use super::LARGEST;
use super::alike::Alike;
use super::made::Made;
use super::plan::{Left, Move, Plan, TOO_LARGE, Why, repositories_that_go, repository};
use super::side::{Side, is_same};

/// A plan while it is made.
#[derive(Default)]
pub(super) struct Draft {
    pub(super) plan: Plan,
    wishes: Vec<Wish>,
    pub(super) losses: Vec<Loss>,
    /// Contents that are known and not put back where they were, and where that is.
    missing: BTreeMap<Hash, String>,
    /// Links that go, so that what lay in a folder of that name can be put back.
    links: BTreeSet<String>,
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
    is_listed: bool,
}

impl Loss {
    pub(super) fn of(path: &str, made: &[&Made]) -> Self {
        let lost: Vec<&&Made> = made.iter().filter(|one| is_loss(&one.change)).collect();
        let calls = lost.iter().map(|one| one.call.clone()).collect();
        Loss { path: path.to_owned(), calls, is_gone: lost.iter().any(|one| one.change.now.is_none()), is_listed: true }
    }

    /// What cannot be put back, whether it was kept or not.
    fn blocked(path: &str, made: &[&Made]) -> Option<Self> {
        let calls: BTreeSet<Address> =
            made.iter().filter(|one| had_content(&one.change)).map(|one| one.call.clone()).collect();
        (!calls.is_empty()).then(|| Loss { path: path.to_owned(), calls, is_gone: true, is_listed: true })
    }

    /// What a call took away beyond what is listed.
    pub(super) fn unlisted(call: &Address) -> Self {
        Loss { path: String::new(), calls: BTreeSet::from([call.clone()]), is_gone: true, is_listed: false }
    }

    /// Why something stays that may be what is left of it.
    fn remains(&self) -> Why {
        let call = self.calls.first().filter(|_| !self.is_listed);
        call.map_or_else(|| Why::Remains(self.path.clone()), |call| Why::Unlisted(call.to_string()))
    }
}

/// Whether a change took a content away that was not kept. What is only known to have changed took nothing away that is
/// known, nor did a line that was added.
pub(super) fn is_loss(change: &Change) -> bool {
    change.lost && change.was != change.now && change.was.is_some() && had_content(change)
}

/// Whether there was a file with something in it.
fn had_content(change: &Change) -> bool {
    // Older journals tell the hash of a file and nothing else.
    change.was.map_or(change.before.is_some(), |form| form.kind == FormKind::File && form.len > 0)
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

    /// A path that cannot be reached: what was there is not put back.
    pub(super) fn block(&mut self, path: &str, made: &[&Made], why: String) {
        self.losses.extend(Loss::blocked(path, made));
        self.plan.left.push(Left { path: path.to_owned(), why: Why::Failed(why) });
    }

    /// A path that is not put back because it is no longer what the run left.
    pub(super) fn miss(&mut self, path: &str, was: Option<Side>) {
        let was = was.filter(|side| side.form.kind == FormKind::File);
        self.missing.extend(was.and_then(|side| side.hash).map(|hash| (hash, path.to_owned())));
    }

    pub(super) fn add(&mut self, one: Move) {
        self.note_link(&one);
        self.plan.moves.push(one);
    }

    pub(super) fn wish(&mut self, wish: Wish) {
        self.note_link(&wish.wanted);
        self.wishes.push(wish);
    }

    fn note_link(&mut self, one: &Move) {
        if is_link(one.from) && !is_link(one.to) {
            self.links.insert(one.path.clone());
        }
    }

    /// Whether a path leads through a link that goes.
    pub(super) fn makes_way_for(&self, path: &str) -> bool {
        above(path).any(|folder| self.links.contains(folder))
    }

    /// Fulfils wishes by files that are about to be removed or replaced and hold what is wished for.
    pub(super) fn find_what_was_moved(&mut self) {
        let mut sources = Alike::of(self.plan.moves.iter());
        let mut open = Vec::new();
        for mut wish in std::mem::take(&mut self.wishes) {
            let content = wish.content().filter(|_| wish.wanted.from.is_none());
            match content.and_then(|side| sources.take(&side, &wish.wanted.path)) {
                Some(path) => {
                    wish.wanted.taken_from = Some(path);
                    self.plan.moves.push(wish.wanted);
                }
                None => open.push(wish),
            }
        }
        // What the plan replaces is stored before anything is touched. Two files may have changed places, so each wish
        // counts on the others until some cannot be fulfilled; then less is stored, and those that counted on it go too.
        let mut stored: BTreeMap<Hash, usize> = BTreeMap::new();
        let moves = self.plan.moves.iter().chain(open.iter().map(|wish| &wish.wanted));
        for hash in moves.filter_map(stores) {
            *stored.entry(hash).or_default() += 1;
        }
        let mut waiting: BTreeMap<Hash, Vec<usize>> = BTreeMap::new();
        let mut hopeless = Vec::new();
        for (at, wish) in open.iter().enumerate() {
            match wish.content().and_then(|side| side.hash).filter(|hash| stored.contains_key(hash)) {
                Some(hash) => waiting.entry(hash).or_default().push(at),
                None => hopeless.push(at),
            }
        }
        let mut open: Vec<Option<Wish>> = open.into_iter().map(Some).collect();
        let mut next = 0;
        while let Some(at) = hopeless.get(next).copied() {
            next += 1;
            let Some(wish) = open[at].take() else { continue };
            if let Some(hash) = stores(&wish.wanted).filter(|_| wish.otherwise.is_none())
                && let Some(count) = stored.get_mut(&hash)
            {
                *count -= 1;
                if *count == 0 {
                    hopeless.extend(waiting.remove(&hash).unwrap_or_default());
                }
            }
            self.losses.extend(wish.loss);
            self.plan.left.push(Left { path: wish.wanted.path, why: Why::Lost });
            self.plan.moves.extend(wish.otherwise);
        }
        self.plan.moves.extend(open.into_iter().flatten().map(|wish| wish.wanted));
    }

    /// Leaves what may be all that is left of something: files that commands made, and those that they replaced while
    /// they took the original away.
    pub(super) fn keep_remains(&mut self, made: &[Made]) {
        if self.losses.is_empty() && self.missing.is_empty() {
            return;
        }
        let goes = repositories_that_go(&self.plan);
        let taken = taken(&self.plan);
        let mut by_path: BTreeMap<&str, Vec<&Made>> = BTreeMap::new();
        for one in made.iter().filter(|one| !one.is_written) {
            by_path.entry(&one.change.path).or_default().push(one);
        }
        let mut gone: BTreeMap<&Address, usize> = BTreeMap::new();
        for (at, loss) in self.losses.iter().enumerate().filter(|(_, loss)| loss.is_gone) {
            for call in &loss.calls {
                gone.entry(call).or_insert(at);
            }
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
            if by.is_empty() {
                return None;
            }
            let is_it = from.hash.and_then(|hash| self.missing.get(&hash));
            let loss = match one.to {
                None => self.losses.first(),
                Some(_) => by.iter().filter_map(|call| gone.get(call)).min().map(|at| &self.losses[*at]),
            };
            is_it.cloned().map(Why::Remains).or_else(|| loss.map(Loss::remains))
        };
        self.plan.leave(may_be_of);
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
        let is_folder = |one: &Move| one.from.is_some_and(|side| side.form.kind == FormKind::Folder);
        moves.retain(|one| one.to.is_some() || !is_folder(one) || !stay.contains(one.path.as_str()));
        self.moves = moves;
        self.left.extend(left);
    }
}

/// The content that is kept when a move is carried out.
fn stores(one: &Move) -> Option<Hash> {
    one.from.filter(can_be_kept).and_then(|side| side.hash)
}

fn is_link(side: Option<Side>) -> bool {
    side.is_some_and(|side| side.form.kind == FormKind::Link)
}

pub(super) fn taken(plan: &Plan) -> BTreeSet<String> {
    plan.moves.iter().filter_map(|one| one.taken_from.clone()).collect()
}

fn can_be_kept(side: &Side) -> bool {
    side.form.len <= LARGEST as u64
}

/// The folders that a path lies in.
pub(super) fn above(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

#[cfg(test)]
mod tests {
    use updraft_run::Form;

    use super::*;

    fn side(content: usize) -> Side {
        let form = Form { kind: FormKind::File, mode: 0o644, len: 1, modified: Some(1) };
        Side { form, hash: Some(updraft_journal::hash_of(&content.to_le_bytes())), entries: None }
    }

    /// Each file wants what the next one holds now.
    fn chain(length: usize, last: usize) -> Plan {
        let mut draft = Draft::default();
        for at in 0..length {
            let to = Some(side(if at + 1 == length { last } else { at + 1 }));
            let (path, from) = (format!("{at}"), Some(side(at)));
            let wanted = Move { path, from, to, calls: Vec::new(), taken_from: None, later: Vec::new() };
            draft.wish(Wish { wanted, otherwise: None, loss: None });
        }
        draft.find_what_was_moved();
        draft.finished()
    }

    #[test]
    fn files_that_changed_places_are_all_put_back_or_if_one_is_lost_none_that_counted_on_it() {
        let length = 20_000;
        let round = chain(length, 0);
        assert_eq!((round.moves.len(), round.left.len()), (length, 0));
        let open = chain(length, length);
        assert_eq!((open.moves.len(), open.left.len()), (0, length));
        assert!(open.left.iter().all(|left| left.why == Why::Lost));
    }
}
