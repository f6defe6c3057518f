//! Reads from the journal what a run changed.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::Path;

use serde::Serialize;
use updraft_journal::Journal;
use updraft_run::{
    EffectAddress, Event, FileChange, Record, Reply, RunId, StepId, StepSpec, Timestamp, ToolOutput, Tries,
    UnlistedCount,
};

use crate::Error;

/// One change of a run, and the call that made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RecordedChange {
    /// When the call ended.
    pub at: Timestamp,
    /// The call.
    pub call: EffectAddress,
    /// What it changed.
    #[serde(flatten)]
    pub change: FileChange,
}

/// Selects changes.
#[derive(Clone, Debug, Default)]
pub struct ChangeFilter {
    /// Only those of this step.
    pub step: Option<StepId>,
    /// Only those of this call.
    pub call: Option<EffectAddress>,
    /// Only those of this path, and of what is in it.
    pub path: Option<String>,
}

impl ChangeFilter {
    /// Whether everything is selected.
    pub fn is_everything(&self) -> bool {
        self.step.is_none() && self.call.is_none() && self.path.is_none()
    }

    /// Whether a path is selected.
    pub(crate) fn has_path(&self, path: &str) -> bool {
        self.path.as_deref().is_none_or(|wanted| Path::new(path).starts_with(wanted.trim_start_matches("./")))
    }

    pub(crate) fn has(&self, call: &EffectAddress) -> bool {
        // A call made by code belongs to the call that ran the code.
        let is_meant = |one: &EffectAddress| one == call || call.is_within(one);
        self.step.as_ref().is_none_or(|step| *step == call.step) && self.call.as_ref().is_none_or(is_meant)
    }
}

/// What a run changed, as far as it is listed.
#[derive(Default)]
pub(crate) struct RunChanges {
    /// The changes in the order of the journal.
    pub(crate) made: Vec<RecordedChange>,
    /// How many more changes each call is known to have made.
    pub(crate) more: Vec<(EffectAddress, UnlistedCount)>,
    /// All calls that have begun.
    pub(crate) begun: BTreeSet<EffectAddress>,
}

/// All changes. Changes before a fork belong to the run it was copied from.
pub(crate) fn made(journal: &Journal, run: &RunId, which: &ChangeFilter) -> Result<RunChanges, Error> {
    let mut all = RunChanges::default();
    let mut told = ReportedChanges::default();
    let mut fault = None;
    // What candidates changed in their copies is no change of the workspace.
    let mut in_copies: BTreeSet<StepId> = BTreeSet::new();
    journal.read(run, 0, &mut |_, record: Record| {
        for event in &record.events {
            match event {
                Event::Planned { graph, .. } => {
                    let is_in_copy =
                        |step: &&StepSpec| matches!(step.tries.as_deref(), Some(Tries::One { in_copy: true }));
                    in_copies.extend(graph.steps.iter().filter(is_in_copy).map(|step| step.id.clone()));
                }
                Event::Begun { id, .. } | Event::Replied { id, .. } if in_copies.contains(&id.step) => {}
                // Earlier changes were made by another run, or on another machine.
                Event::Forked { .. } | Event::Imported => all = RunChanges::default(),
                Event::Begun { id, .. } if which.has(id) => drop(all.begun.insert(id.clone())),
                Event::Replied { id, reply: Reply::Output(output), .. } if which.has(id) => {
                    all.more.extend(output.more.map(|more| (id.clone(), more)));
                    match changes(journal, output) {
                        Ok(changes) => {
                            all.made.extend(told.once(id, changes).into_iter().map(|change| RecordedChange {
                                at: record.at,
                                call: id.clone(),
                                change,
                            }));
                        }
                        Err(error) => fault = Some(error),
                    }
                }
                _ => {}
            }
        }
        if fault.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    fault.map_or(Ok(all), Err)
}

/// Changes that calls from code have reported, until the call that ran the code reports them again.
#[derive(Default)]
pub(crate) struct ReportedChanges(BTreeMap<EffectAddress, Vec<FileChange>>);

impl ReportedChanges {
    /// The changes of a call, without those that the calls of its code have already reported.
    pub(crate) fn once(&mut self, call: &EffectAddress, changes: Vec<FileChange>) -> Vec<FileChange> {
        if let Some(outer) = call.outer() {
            self.0.entry(outer).or_default().extend(changes.iter().cloned());
            return changes;
        }
        let Some(inner) = self.0.remove(call) else { return changes };
        let own = |mut change: FileChange| {
            let last = inner.iter().rev().find(|one| one.path == change.path);
            let is_told = inner.contains(&change) || last.is_some_and(|last| last.after == change.after);
            if let Some(last) = last {
                // The code continued from what its last call had left.
                (change.before, change.was) = (last.after, last.now);
            }
            (!is_told).then_some(change)
        };
        changes.into_iter().filter_map(own).collect()
    }
}

/// All changes in one output.
pub(crate) fn changes(journal: &Journal, output: &ToolOutput) -> Result<Vec<FileChange>, Error> {
    let Some(all) = &output.all_changes else { return Ok(output.changes.clone()) };
    let stored = journal.blob(&all.hash)?;
    Ok(stored.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_else(|| output.changes.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(path: &str, before: Option<u8>, after: Option<u8>) -> FileChange {
        let hash = |n: Option<u8>| n.map(|n| updraft_journal::hash_of(&[n]));
        FileChange { path: path.into(), before: hash(before), after: hash(after), ..FileChange::default() }
    }

    #[test]
    fn what_code_changed_by_its_calls_is_told_once_and_what_it_changed_itself_goes_on_from_there() {
        let outer: EffectAddress = "a/0/0/call.0".parse().unwrap();
        let mut told = ReportedChanges::default();
        let first = change("x", None, Some(1));
        let second = change("x", Some(1), Some(2));
        let gone = change("y", Some(3), None);
        for (n, one) in [&first, &second, &gone].into_iter().enumerate() {
            assert_eq!(told.once(&outer.within(n as u32), vec![one.clone()]), std::slice::from_ref(one));
        }
        let own = change("z", None, Some(9));
        let all = vec![first, second, gone, change("x", None, Some(2)), change("y", Some(3), Some(4)), own.clone()];
        assert_eq!(told.once(&outer, all), [change("y", None, Some(4)), own.clone()]);
        assert_eq!(told.once(&outer, vec![own.clone()]), [own], "another call of that number stands for itself");
    }

    #[test]
    fn who_means_a_call_means_what_its_code_called() {
        let outer: EffectAddress = "a/0/0/call.0".parse().unwrap();
        let which = ChangeFilter { call: Some(outer.clone()), ..ChangeFilter::default() };
        assert!(which.has(&outer) && which.has(&outer.within(3)));
        assert!(!which.has(&"a/0/0/call.1".parse::<EffectAddress>().unwrap().within(3)));
    }
}
