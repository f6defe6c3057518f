//! How the steps of a run depend on each other: what each waits for, and what it costs with everything that follows it.

use std::collections::{BTreeSet, HashMap};

use updraft_run::{Cost, Run, Step, StepId, Timestamp};
use updraft_workbench::history::RunHistory;

use super::words;

/// Sums over everything that follows are made for at most this many steps: they take memory for each pair.
const SUMMED: usize = 2_000;

/// The steps before each step, and the sums over those after it.
#[derive(Default)]
pub(super) struct StepRelations {
    before: HashMap<StepId, BTreeSet<StepId>>,
    sums: HashMap<StepId, SubtreeSum>,
}

/// A step with everything that depends on it.
#[derive(Clone, Debug)]
pub(super) struct SubtreeSum {
    /// How many steps that is, itself included.
    pub(super) steps: usize,
    began: Option<Timestamp>,
    ended: Option<Timestamp>,
    cost: Cost,
    is_priced: bool,
}

impl SubtreeSum {
    /// "40 s, $0.05": from the beginning of the step to the last end after it, and what all of it cost if that is known.
    pub(super) fn in_words(&self) -> String {
        let time = self.began.zip(self.ended).map(|(began, ended)| words::took(began, ended.max(began)));
        let cost = (self.is_priced && self.cost.0 > 0).then(|| self.cost.to_string());
        time.into_iter().chain(cost).collect::<Vec<_>>().join(", ")
    }
}

impl StepRelations {
    pub(super) fn of(history: &RunHistory) -> Self {
        let run = history.run();
        let mut made = Self::default();
        for step in run.steps() {
            for later in run.dependants(step) {
                made.note(later, step);
            }
            // Those that wrote what it reads need not be those that it waits for.
            for before in run.before(step) {
                made.note(step, before);
            }
        }
        if run.steps().count() <= SUMMED {
            made.add_up(history, run);
        }
        made
    }

    fn note(&mut self, step: &Step, before: &Step) {
        self.before.entry(step.spec.id.clone()).or_default().insert(before.spec.id.clone());
    }

    /// The steps that a step follows, whether they have begun or not.
    pub(super) fn before(&self, step: &StepId) -> impl Iterator<Item = &StepId> {
        self.before.get(step).into_iter().flatten()
    }

    /// The sum over a step and everything after it; absent if nothing depends on it.
    pub(super) fn subtree(&self, step: &StepId) -> Option<&SubtreeSum> {
        self.sums.get(step).filter(|sum| sum.steps > 1)
    }

    fn add_up(&mut self, history: &RunHistory, run: &Run) {
        let steps: Vec<&Step> = run.steps().collect();
        let number: HashMap<&StepId, usize> = steps.iter().enumerate().map(|(n, step)| (&step.spec.id, n)).collect();
        let mut after: Vec<Vec<usize>> = vec![Vec::new(); steps.len()];
        for (n, step) in steps.iter().enumerate() {
            for before in self.before(&step.spec.id).filter_map(|id| number.get(id)) {
                after[*before].push(n);
            }
        }
        let mut reached = vec![None; steps.len()];
        for n in 0..steps.len() {
            reach(n, &after, &mut reached);
        }
        for (n, step) in steps.iter().enumerate() {
            let below = reached[n].as_deref().map(members).into_iter().flatten();
            let times = |other: usize| history.times(&steps[other].spec.id);
            let mut sum = SubtreeSum {
                steps: 0,
                began: times(n).and_then(updraft_workbench::history::StepTimes::began),
                ended: None,
                cost: Cost::default(),
                is_priced: true,
            };
            for other in below {
                let ledger = &steps[other].ledger;
                sum.steps += 1;
                sum.cost.0 += ledger.at_most().0;
                sum.is_priced &= ledger.unpriced == 0;
                let end = times(other).filter(|times| times.began().is_some());
                sum.ended = sum.ended.max(end.map(|times| times.ended.unwrap_or_else(|| history.last())));
            }
            self.sums.insert(step.spec.id.clone(), sum);
        }
    }
}

/// A set of small numbers.
type BitSet = Vec<u64>;

fn members(set: &[u64]) -> impl Iterator<Item = usize> {
    set.iter().enumerate().flat_map(|(word, bits)| {
        let mut bits = *bits;
        std::iter::from_fn(move || {
            let next = (bits != 0).then(|| 64 * word + bits.trailing_zeros() as usize)?;
            bits &= bits - 1;
            Some(next)
        })
    })
}

/// Everything that can be reached from a step, itself included. No recursion: a chain may be as long as the graph.
fn reach(from: usize, after: &[Vec<usize>], reached: &mut [Option<BitSet>]) {
    let mut path = vec![from];
    while let Some(&n) = path.last() {
        if reached[n].is_some() {
            path.pop();
            continue;
        }
        let open: Vec<usize> =
            after[n].iter().copied().filter(|next| reached[*next].is_none() && !path.contains(next)).collect();
        if !open.is_empty() {
            path.extend(open);
            continue;
        }
        let mut set: BitSet = vec![0; after.len().div_ceil(64)];
        set[n / 64] |= 1 << (n % 64);
        for next in &after[n] {
            for (word, more) in set.iter_mut().zip(reached[*next].as_deref().unwrap_or_default()) {
                *word |= more;
            }
        }
        reached[n] = Some(set);
        path.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_converges_is_reached_once_and_circles_end() {
        // 0 → 1, 2 → 3; 4 ↔ 5.
        let after = vec![vec![1, 2], vec![3], vec![3], vec![], vec![5], vec![4]];
        let mut reached = vec![None; after.len()];
        (0..after.len()).for_each(|n| reach(n, &after, &mut reached));
        let count = |n: usize| members(reached[n].as_ref().unwrap()).count();
        assert_eq!(members(reached[1].as_ref().unwrap()).collect::<Vec<_>>(), [1, 3]);
        assert_eq!([count(0), count(1), count(2), count(3)], [4, 2, 2, 1]);
        assert!(count(4) + count(5) >= 3);
    }
}
