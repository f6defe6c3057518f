//! Compares two runs: the first event that differs, and the differences step by step.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;
use updraft_journal::Journal;
use updraft_run::{Event, Millis, ModelAnswer, Record, Reply, RunId, StepId};

use crate::Error;
use crate::report::{RunReport, StepReport};

/// How two runs differ.
#[derive(Clone, Debug, Serialize)]
pub struct RunDiff {
    /// The number of the first event that differs, if there is one: in the first run or, if it has no such event, in the second.
    pub parts_at: Option<u64>,
    /// The number of that event in the first run; absent if the step, or the run, has no further event there.
    pub left_event: Option<u64>,
    /// Its number in the second run.
    pub right_event: Option<u64>,
    /// The first step that differs.
    pub first_step: Option<StepId>,
    /// Steps that differ, in the order of the first run.
    pub steps: Vec<StepDiff>,
    /// Whether both gave the same answer.
    pub same_answer: bool,
}

/// How one step differs.
#[derive(Clone, Debug, Serialize)]
pub struct StepDiff {
    /// The step.
    pub step: StepId,
    /// Its status in the first run; absent if the step does not exist there.
    pub left: Option<String>,
    /// Its status in the second run.
    pub right: Option<String>,
    /// Its output in the first run.
    pub left_output: Option<String>,
    /// Its output in the second run.
    pub right_output: Option<String>,
}

/// Compares two runs.
pub fn diff(journal: &Journal, left: &RunId, right: &RunId) -> Result<RunDiff, Error> {
    let (a, b) = (RunReport::of(journal, left)?, RunReport::of(journal, right)?);
    let parting = Parting::of(&journal.load(left)?, &journal.load(right)?);
    let mut first_step = parting.step;
    let others: BTreeMap<&StepId, &StepReport> = b.steps.iter().map(|step| (&step.step.spec.id, step)).collect();
    let mine: BTreeMap<&StepId, &StepReport> = a.steps.iter().map(|step| (&step.step.spec.id, step)).collect();
    let mut steps = Vec::new();
    let all = a.steps.iter().chain(b.steps.iter().filter(|step| !mine.contains_key(&step.step.spec.id)));
    for id in all.map(|step| &step.step.spec.id) {
        let (left, right) = (mine.get(id).copied(), others.get(id).copied());
        let told = |step: Option<&StepReport>| {
            step.map(|step| (step.step.status().to_owned(), step.step.output.as_deref().map(str::to_owned)))
        };
        let (left, right) = (told(left), told(right));
        if left != right {
            let (left, left_output) = left.unzip();
            let (right, right_output) = right.unzip();
            let (left_output, right_output) = (left_output.flatten(), right_output.flatten());
            steps.push(StepDiff { step: id.clone(), left, right, left_output, right_output });
        }
    }
    if first_step.is_none() {
        first_step = steps.first().map(|step| step.step.clone());
    }
    let Parting { left: left_event, right: right_event, .. } = parting;
    let parts_at = left_event.or(right_event);
    Ok(RunDiff { parts_at, left_event, right_event, first_step, same_answer: a.answer() == b.answer(), steps })
}

/// The first event in which two runs differ: its number in each of them, and the step it belongs to. Each step's events are compared
/// with those of the same step: in which order steps at the same time come along is chance.
#[derive(Default)]
struct Parting {
    left: Option<u64>,
    right: Option<u64>,
    step: Option<StepId>,
}

impl Parting {
    fn of(left: &[Record], right: &[Record]) -> Self {
        let (left, right) = (by_step(left), by_step(right));
        let steps: BTreeSet<&Option<StepId>> = left.keys().chain(right.keys()).collect();
        let none = Vec::new();
        let partings = steps.into_iter().filter_map(|step| {
            Self::in_step(step.as_ref(), left.get(step).unwrap_or(&none), right.get(step).unwrap_or(&none))
        });
        partings.min_by_key(|parting| parting.left.into_iter().chain(parting.right).min()).unwrap_or_default()
    }

    fn in_step(step: Option<&StepId>, left: &[(u64, Event)], right: &[(u64, Event)]) -> Option<Self> {
        let differs = |n: &usize| left.get(*n).map(|(_, event)| event) != right.get(*n).map(|(_, event)| event);
        let n = (0..left.len().max(right.len())).find(differs)?;
        let number = |side: &[(u64, Event)]| side.get(n).map(|(number, _)| *number);
        Some(Self { left: number(left), right: number(right), step: step.cloned() })
    }
}

/// The numbered events of each step; those of the whole run are under `None`.
type EventsByStep = BTreeMap<Option<StepId>, Vec<(u64, Event)>>;

fn by_step(records: &[Record]) -> EventsByStep {
    let mut found = EventsByStep::new();
    for (number, event) in telling(records) {
        found.entry(event.step().cloned()).or_default().push((number, event));
    }
    found
}

/// The events of a run with their numbers, without details that differ between any two runs or processes and mean
/// nothing.
fn telling(records: &[Record]) -> Vec<(u64, Event)> {
    let all = records.iter().flat_map(|record| record.events.iter().cloned());
    let numbered = (1..).zip(all).filter_map(|(number, event)| match event {
        Event::Forked { .. }
        | Event::Begun { .. }
        | Event::Interrupted { .. }
        | Event::Awaited { .. }
        | Event::Noted { .. }
        | Event::Named { .. }
        | Event::Paused
        | Event::Resumed { .. } => None,
        Event::Replied { id, reply, prepared, .. } => {
            Some((number, Event::Replied { id, attempt: 1, reply: at_once(reply), prepared }))
        }
        event => Some((number, event)),
    });
    numbered.collect()
}

/// The reply as if the model had not been waited for.
fn at_once(reply: Reply) -> Reply {
    match reply {
        Reply::Answer(answer) if answer.waited != Millis::default() => {
            Reply::Answer(Arc::new(ModelAnswer { waited: Millis::default(), ..(*answer).clone() }))
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use updraft_run::{Input, Timestamp};

    use super::*;

    fn record(steps: &[&str]) -> Record {
        let ended = |step: &&str| Event::StepCancelled { step: StepId::parse(step).unwrap() };
        Record { at: Timestamp::default(), input: Input::Pause, events: steps.iter().map(ended).collect() }
    }

    #[test]
    fn the_order_of_steps_at_the_same_time_is_no_difference() {
        let parting = Parting::of(&[record(&["a", "b", "c"])], &[record(&["c"]), record(&["a", "b"])]);
        assert_eq!((parting.left, parting.right, parting.step), (None, None, None));
    }

    #[test]
    fn the_first_difference_has_its_number_in_each_run() {
        let parting = Parting::of(&[record(&["a", "b", "b", "a"])], &[record(&["b", "a"])]);
        assert_eq!((parting.left, parting.right, parting.step), (Some(3), None, StepId::parse("b").ok()));
    }

    #[test]
    fn what_only_one_run_was_told_is_the_first_difference_in_either_order() {
        let told = Record { events: vec![Event::Told { message: "hurry".into() }], ..record(&[]) };
        let (short, long) = ([record(&["a", "b"])], [record(&["a"]), told, record(&["b", "b"])]);
        let parting = Parting::of(&short, &long);
        assert_eq!((parting.left, parting.right, parting.step), (None, Some(2), None));
        let parting = Parting::of(&long, &short);
        assert_eq!((parting.left, parting.right, parting.step), (Some(2), None, None));
    }
}
