//! Which runs of this worker have changed, for other workers that keep a copy of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

/// The handler that is asked, of the service `Hands`.
pub(crate) const CHANGED: &str = "changed";

/// How many runs are remembered. Whoever asks too late has to look at all runs again.
const MOST_RUNS: usize = 10_000;

/// How many workers are remembered.
const MOST_ASKERS: usize = 1000;

/// How far somebody has heard of changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ChangePosition {
    /// The process that was asked. Another one begins to count anew.
    pub(crate) process: String,
    /// The number of the last change.
    pub(crate) number: u64,
}

/// The question what has changed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ChangeQuestion {
    /// The worker that asks; empty if it is none.
    pub(crate) by: String,
    pub(crate) position: ChangePosition,
}

/// The changes after a position.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ChangeReport {
    /// What has been heard of now.
    pub(crate) position: ChangePosition,
    /// Whether some changes are not among them, so that all runs have to be looked at.
    pub(crate) is_incomplete: bool,
    /// The runs, with how many records they have.
    pub(crate) runs: Vec<(String, u64)>,
}

/// The changes of a workspace's runs in this process.
#[derive(Debug, Default)]
pub(crate) struct ChangeLog {
    process: String,
    noted: Mutex<NotedChanges>,
}

#[derive(Debug, Default)]
struct NotedChanges {
    number: u64,
    /// The number of the last change that was forgotten.
    forgotten: u64,
    /// The runs by the number of their last change.
    by_number: BTreeMap<u64, (String, u64)>,
    numbers: BTreeMap<String, u64>,
    /// The workers that have asked.
    askers: BTreeSet<String>,
}

impl ChangeLog {
    /// Changes of a process with this name, which no other has.
    pub(crate) fn new(process: &str) -> Self {
        Self { process: process.to_owned(), noted: Mutex::default() }
    }

    /// Notes that a run has this many records now.
    pub(crate) fn note(&self, run: &str, records: u64) {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        noted.number += 1;
        let number = noted.number;
        if let Some(before) = noted.numbers.insert(run.to_owned(), number) {
            noted.by_number.remove(&before);
        }
        noted.by_number.insert(number, (run.to_owned(), records));
        while noted.by_number.len() > MOST_RUNS
            && let Some((oldest, (run, _))) = noted.by_number.pop_first()
        {
            noted.numbers.remove(&run);
            noted.forgotten = oldest;
        }
    }

    /// The workers that have asked. They are workers of the same workspace.
    pub(crate) fn askers(&self) -> BTreeSet<String> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner).askers.clone()
    }

    /// What has changed since.
    pub(crate) fn since(&self, question: &ChangeQuestion) -> ChangeReport {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let ChangeQuestion { by, position } = question;
        if !by.is_empty() && noted.askers.len() < MOST_ASKERS {
            noted.askers.insert(by.clone());
        }
        let is_other = position.process != self.process;
        let from = if is_other { 0 } else { position.number };
        let runs = noted.by_number.range(from + 1..).map(|(_, change)| change.clone()).collect();
        let position = ChangePosition { process: self.process.clone(), number: noted.number };
        ChangeReport { position, is_incomplete: is_other || from < noted.forgotten, runs }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_asks_hears_of_every_change_once_and_of_a_restart() {
        let changes = ChangeLog::new("p1");
        changes.note("a", 1);
        changes.note("b", 1);
        let asked = |position: &ChangePosition| ChangeQuestion { by: "w2".into(), position: position.clone() };
        let first = changes.since(&ChangeQuestion::default());
        assert!(changes.askers().is_empty());
        assert_eq!((first.is_incomplete, first.runs.len()), (true, 2), "nothing was known");
        assert_eq!(changes.since(&asked(&first.position)).runs, []);
        changes.note("a", 3);
        let second = changes.since(&asked(&first.position));
        assert_eq!(changes.askers(), BTreeSet::from(["w2".to_owned()]));
        assert_eq!((second.is_incomplete, second.runs.clone()), (false, vec![("a".to_owned(), 3)]));
        let restarted = ChangeLog::new("p2");
        assert!(restarted.since(&asked(&second.position)).is_incomplete);
    }
}
