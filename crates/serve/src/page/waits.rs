//! What a step waited for: its turn, a person, its model.

use std::collections::HashMap;

use updraft_drawing::SpanKind;
use updraft_run::{Step, StepId, Timestamp};
use updraft_workbench::history::{EntryKind, RunHistory};

use super::run_page::RunScene;

/// Shorter waits are not shown: they are what the program itself takes.
const SHORTEST: u64 = 100;

/// What a step can wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitKind {
    /// It could have begun, or a question to its model could have: too many were at work, or nothing could be spent.
    Turn,
    /// A question or an approval was open.
    Person,
    /// A rate limit, or a server that was not available.
    Model,
}

impl WaitKind {
    pub(super) const ALL: [WaitKind; 3] = [WaitKind::Turn, WaitKind::Person, WaitKind::Model];

    /// Its name on its own.
    pub(super) fn name(self) -> &'static str {
        match self {
            WaitKind::Turn => "Waited for its turn",
            WaitKind::Person => "Waited for a person",
            WaitKind::Model => "Waited for its model",
        }
    }

    /// Its name where the column says that it is about waiting.
    pub(super) fn short(self) -> &'static str {
        match self {
            WaitKind::Turn => "for its turn",
            WaitKind::Person => "for a person",
            WaitKind::Model => "for its model",
        }
    }

    /// Its word in attributes, which is the class of its bars.
    pub(super) fn word(self) -> &'static str {
        match self {
            WaitKind::Turn => "waiting",
            WaitKind::Person => "asking",
            WaitKind::Model => "held-up",
        }
    }

    /// Its bars.
    pub(super) fn span(self) -> SpanKind {
        match self {
            WaitKind::Turn => SpanKind::Waiting,
            WaitKind::Person => SpanKind::Asking,
            WaitKind::Model => SpanKind::HeldUp,
        }
    }
}

/// The waits of a step.
#[derive(Clone, Debug, Default)]
pub(super) struct StepWaits {
    /// What it waited for, from when to when.
    pub(super) spans: Vec<(WaitKind, Timestamp, Timestamp)>,
    /// How often a question or a call was tried again.
    pub(super) retries: u32,
}

impl StepWaits {
    /// The whole time for each kind, in milliseconds; kinds that did not occur are left out.
    pub(super) fn totals(&self) -> Vec<(WaitKind, u64)> {
        let total = |kind: WaitKind| {
            let own = self.spans.iter().filter(|(other, ..)| *other == kind);
            own.map(|(_, from, to)| to.since(*from).0).sum::<u64>()
        };
        WaitKind::ALL.into_iter().map(|kind| (kind, total(kind))).filter(|(_, millis)| *millis > 0).collect()
    }
}

/// The waits of all steps, by one pass over the history.
#[derive(Default)]
pub(super) struct WaitTable(HashMap<StepId, StepWaits>);

impl WaitTable {
    pub(super) fn of(history: &RunHistory) -> Self {
        let (mut table, now) = (Self::default(), history.last());
        for entry in history.entries() {
            let Some(step) = &entry.step else { continue };
            let waits = table.0.entry(step.clone()).or_default();
            match &entry.kind {
                EntryKind::Question(question) => {
                    waits.push(WaitKind::Person, question.asked, question.ended.unwrap_or(now));
                }
                EntryKind::Answer(answer) => {
                    waits.retries += answer.attempts.saturating_sub(1);
                    let ended = answer.ended.unwrap_or(now);
                    if let Some((from, until)) = answer.held {
                        waits.push(WaitKind::Turn, from, until.unwrap_or(ended));
                    }
                    if let Some(said) = &answer.answer {
                        let asked = answer.held.and_then(|(_, until)| until).unwrap_or(answer.wanted);
                        let until = Timestamp(asked.0.saturating_add_unsigned(said.waited.0));
                        waits.push(WaitKind::Model, asked, until.min(ended));
                    }
                }
                EntryKind::Call(call) => waits.retries += call.attempts.saturating_sub(1),
                EntryKind::Goal { .. }
                | EntryKind::Told { .. }
                | EntryKind::Forked { .. }
                | EntryKind::Planned(_)
                | EntryKind::StepEnded { .. }
                | EntryKind::Note { .. }
                | EntryKind::Finished { .. } => {}
            }
        }
        table
    }
}

impl StepWaits {
    fn push(&mut self, kind: WaitKind, from: Timestamp, to: Timestamp) {
        if to.since(from).0 >= SHORTEST {
            self.spans.push((kind, from, to));
        }
    }
}

/// The waits of a step.
pub(super) fn of(scene: &RunScene<'_>, step: &Step) -> StepWaits {
    let mut waits = scene.waits().0.get(&step.spec.id).cloned().unwrap_or_default();
    if let Some((ready, began)) = ready(scene, step) {
        waits.push(WaitKind::Turn, ready, began);
    }
    waits
}

/// When the last step before it had ended, and when it began. The first steps of a plan are ready when it is there.
fn ready(scene: &RunScene<'_>, step: &Step) -> Option<(Timestamp, Timestamp)> {
    let history = scene.history;
    let began = history.times(&step.spec.id)?.began()?;
    let ends = scene.relations().before(&step.spec.id).filter_map(|before| history.times(before)?.ended);
    Some((ends.filter(|end| *end <= began).max()?, began))
}
