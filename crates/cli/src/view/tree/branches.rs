//! The graph as a tree: each step below the first of the steps it waits for, and shown once.

use std::collections::{BTreeMap, BTreeSet};

use updraft_run::{Cost, StepId};

use super::Drawing;
use crate::time_format;

/// Deeper steps are drawn no further to the right.
const DEEPEST: usize = 8;

/// Where a step is in the tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TreePlace {
    pub(crate) depth: usize,
    /// Further steps that it waits for.
    pub(crate) also: Vec<StepId>,
    /// The steps below it.
    pub(super) below: Vec<StepId>,
}

/// The steps in the order of the tree, and the place of each; `after` names the steps that one waits for.
pub(crate) fn branches<'a>(
    all: &'a [StepId],
    after: impl Fn(&StepId) -> &'a [StepId],
) -> (Vec<StepId>, BTreeMap<StepId, TreePlace>) {
    let known: BTreeSet<&StepId> = all.iter().collect();
    let mut children: BTreeMap<Option<&StepId>, Vec<&StepId>> = BTreeMap::new();
    for step in all {
        let parent = after(step).iter().find(|id| known.contains(id));
        children.entry(parent).or_default().push(step);
    }
    let (mut order, mut places) = (Vec::new(), BTreeMap::new());
    let mut open: Vec<(&StepId, usize)> = Vec::new();
    open.extend(children.get(&None).into_iter().flatten().rev().map(|step| (*step, 0)));
    while let Some((step, depth)) = open.pop() {
        let below = children.get(&Some(step)).cloned().unwrap_or_default();
        let also = after(step).iter().filter(|id| known.contains(id)).skip(1).cloned().collect();
        let place =
            TreePlace { depth: depth.min(DEEPEST), also, below: below.iter().map(|id| (*id).clone()).collect() };
        places.insert(step.clone(), place);
        order.push(step.clone());
        open.extend(below.into_iter().rev().map(|step| (step, depth + 1)));
    }
    (order, places)
}

impl Drawing {
    /// The steps in the order of the tree, and the place of each.
    pub(super) fn branches(&self) -> (Vec<StepId>, BTreeMap<StepId, TreePlace>) {
        branches(&self.order, |step| self.rows.get(step).map_or(&[], |row| row.after.as_slice()))
    }

    /// The time and cost of a step together with all below it; nothing if there is none below, or none has begun.
    pub(super) fn with_below(&self, step: &StepId, places: &BTreeMap<StepId, TreePlace>) -> Option<String> {
        let (mut open, mut rows) = (vec![step], Vec::new());
        while let Some(step) = open.pop() {
            rows.extend(self.rows.get(step));
            open.extend(places.get(step).into_iter().flat_map(|place| &place.below));
        }
        let begun = rows.iter().filter(|row| row.began.is_some()).count();
        if begun < 2 {
            return None;
        }
        let began = rows.iter().filter_map(|row| row.began).min()?;
        let is_live = rows.iter().any(|row| row.began.is_some() && row.ended.is_none());
        let ended = if is_live { None } else { rows.iter().filter_map(|row| row.ended).max() };
        let time = time_format::length(ended.unwrap_or_else(time_format::now).since(began));
        let spent: u64 = rows.iter().map(|row| row.spent).sum();
        let cost = if spent > 0 { format!(", {}", Cost(spent)) } else { String::new() };
        Some(format!("{time}{cost} with what follows"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::row::StepRow;
    use super::*;
    use updraft_run::Timestamp;

    fn id(name: &str) -> StepId {
        StepId::parse(name).unwrap()
    }

    #[test]
    fn a_step_with_several_parents_is_shown_once_below_the_first() {
        let mut drawing = Drawing::default();
        for (name, after) in [("plan", ""), ("a", "plan"), ("b", "plan"), ("join", "a b"), ("end", "join")] {
            let after = after.split_whitespace().map(id).collect();
            let mut row = StepRow::default();
            (row.after, row.spent) = (after, 10_000_000);
            (row.began, row.ended) = (Some(Timestamp(0)), Some(Timestamp(2_000)));
            drawing.order.push(id(name));
            drawing.rows.insert(id(name), row);
        }
        let (order, places) = drawing.branches();
        let shown: Vec<(String, usize)> = order.iter().map(|step| (step.to_string(), places[step].depth)).collect();
        let expected = [("plan", 0), ("a", 1), ("join", 2), ("end", 3), ("b", 1)];
        assert_eq!(shown, expected.map(|(name, depth)| (name.to_owned(), depth)));
        assert_eq!(places[&id("join")].also, [id("b")]);
        assert_eq!(drawing.with_below(&id("a"), &places).as_deref(), Some("2.0 s, $0.03 with what follows"));
        assert_eq!(drawing.with_below(&id("b"), &places), None);
    }
}
