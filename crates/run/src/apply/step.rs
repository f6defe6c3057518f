//! Applies the events of a step: entered again, ended, halted, compacted.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::event::{Judgement, Note};
use crate::id::{EffectAddress, StepId};
use crate::open_effect::{Funds, OpenEffect};
use crate::reply::{Failure, FailureKind, Reply};
use crate::state::Run;
use crate::step::{ConversationEntry, PriorVisit, Step, StepState};

impl Run {
    pub(super) fn with_step(&mut self, id: &StepId, change: impl FnOnce(&mut Step)) {
        if let Some(step) = self.step_index.get(id).and_then(|at| self.steps.get_mut(*at)) {
            change(step);
        }
    }

    pub(super) fn was_told(&mut self, message: &str) {
        self.told.push(message.to_owned());
        self.users_words.push(message.to_owned());
        // A step at work has something open, or waits for a decision.
        let open = self.open.keys().filter_map(|id| self.step_index.get(&id.step)).copied();
        let halted = (0..self.steps.len()).filter(|at| self.halted > 0 && self.steps[*at].halted.is_some());
        let at_work: BTreeSet<usize> = open.chain(self.attention.iter().copied()).chain(halted).collect();
        for at in at_work {
            if self.steps[at].is_at_work() {
                self.steps[at].pending.push(Note::Told { message: message.to_owned() });
            }
        }
    }

    /// Starts a new visit: the conversation starts again, with the result of the last visit.
    pub(super) fn re_enter(&mut self, id: &StepId, judgement: &Judgement) {
        let Some(at) = self.step_index.get(id).copied() else { return };
        self.forget_effects(id);
        let was_done = self.steps[at].state == StepState::Done;
        self.begin_anew(at, judgement);
        // A step whose input is being made again waits for that input.
        if self.steps[at].waits == 0 {
            self.steps[at].state = StepState::Ready;
            self.ready.insert(at);
        }
        if was_done {
            self.reopen_dependants(at);
        }
    }

    /// Resets a step so that it waits for its next visit.
    fn begin_anew(&mut self, at: usize, judgement: &Judgement) {
        let step = &mut self.steps[at];
        if step.is_at_work() {
            self.running = self.running.saturating_sub(1);
        } else if step.has_ended() {
            self.unfinished += 1;
        }
        self.halted -= u32::from(step.halted.take().is_some());
        let previous = previous_words(step);
        step.carried = Some(PriorVisit { judgement: judgement.clone(), previous });
        step.visit += 1;
        step.context = None;
        step.opening = None;
        step.output = None;
        step.citations.clear();
        step.outdated_by = None;
        step.conversation.clear();
        step.compacted = crate::step::CompactedFacts::default();
        step.background.clear();
        step.shown.clear();
        step.size = None;
        step.summary_asks = 0;
        step.pending.clear();
        step.prepared.clear();
        step.trouble = None;
        step.side_answer = None;
        step.guard = None;
        step.state = StepState::Waiting;
        self.attention.remove(&at);
        self.failed_unhandled.remove(&at);
        self.ready.remove(&at);
    }

    /// A step that was done is made again: the steps that depend on it wait for the new result. Steps at work finish
    /// first; `decide` then enters them again.
    fn reopen_dependants(&mut self, at: usize) {
        let by = self.steps[at].spec.id.clone();
        let renewed = Judgement::Renewed { by: by.clone() };
        let mut todo = vec![at];
        while let Some(at) = todo.pop() {
            for later in self.steps[at].next.clone() {
                self.steps[later].waits += 1;
                match self.steps[later].state {
                    StepState::Ready => {
                        self.steps[later].state = StepState::Waiting;
                        self.ready.remove(&later);
                    }
                    StepState::Done => {
                        self.begin_anew(later, &renewed);
                        todo.push(later);
                    }
                    StepState::Thinking { .. }
                    | StepState::Acting { .. }
                    | StepState::Judging { .. }
                    | StepState::Compacting { .. } => self.steps[later].outdated_by = Some(by.clone()),
                    StepState::Waiting
                    | StepState::Failed(_)
                    | StepState::Skipped { .. }
                    | StepState::Cancelled
                    | StepState::Dropped => {}
                }
            }
        }
    }

    /// A review rejected a result for good.
    pub(super) fn reject(&mut self, id: &StepId, by: &StepId, why: &str) {
        let Some(at) = self.step_index.get(id).copied() else { return };
        let why = format!("the review `{by}` rejected its result: {why}");
        self.leave(at, StepState::Failed(Failure::new(crate::FailureKind::ModelBehavior, why)));
        self.steps[at].rejected_by = Some(by.clone());
    }

    pub(super) fn step_done(&mut self, id: &StepId, output: Option<&str>) {
        let Some(at) = self.step_index.get(id).copied() else { return };
        let output = output.map_or_else(|| self.written_by(&self.steps[at]), Arc::from);
        self.leave(at, StepState::Done);
        self.steps[at].output = Some(output);
        self.release_dependants(at);
        // The conversation is in the journal; the run keeps only its result.
        self.steps[at].conversation = Vec::new();
        self.steps[at].carried = None;
        self.steps[at].opening = None;
    }

    /// Notes which background commands of a step run now.
    pub(super) fn note_background(&mut self, id: &EffectAddress, reply: &Reply) {
        if let Reply::Output(output) = reply
            && let Some(running) = &output.background
        {
            self.with_step(&id.step, |step| step.background.clone_from(running));
        }
    }

    /// The step's model will be told this before its next turn.
    pub(super) fn advised(&mut self, id: &StepId, note: &Note) {
        self.with_step(id, |step| {
            if let Note::BackgroundEnded { .. } = note {
                step.background.clear();
            }
            step.pending.push(note.clone());
        });
    }

    /// The steps that waited for this one only may begin.
    fn release_dependants(&mut self, at: usize) {
        let next = std::mem::take(&mut self.steps[at].next);
        for place in &next {
            let later = &mut self.steps[*place];
            later.waits = later.waits.saturating_sub(1);
            if later.waits == 0 && later.state == StepState::Waiting {
                later.state = StepState::Ready;
                self.ready.insert(*place);
            }
        }
        self.steps[at].next = next;
    }

    pub(super) fn step_ended(&mut self, id: &StepId, state: StepState) {
        let Some(at) = self.step_index.get(id).copied() else { return };
        self.forget_effects(id);
        // The consequences for dependants are decided once, for the step that failed first.
        let fell = !matches!(state, StepState::Skipped { .. });
        self.leave(at, state);
        if fell {
            self.failed_unhandled.insert(at);
        }
        if matches!(self.steps[at].spec.tries.as_deref(), Some(crate::graph::Tries::One { .. })) {
            // Whoever chooses among the tries does so without this one.
            self.release_dependants(at);
        }
        if self.steps[at].role == crate::StepRole::Plan {
            // There will be no new plan.
            self.failed_unhandled.extend(self.replanning.take());
        }
        self.steps[at].conversation = Vec::new();
    }

    /// Stops a step where it is. Its question is open again, as one that has not begun.
    pub(super) fn step_halted(&mut self, id: &StepId, ask: Option<&EffectAddress>, why: &Failure) {
        let Some(at) = self.step_index.get(id).copied().filter(|at| self.steps[*at].is_at_work()) else { return };
        let is_made_again = ask.is_some_and(|ask| self.interrupted_asks.contains(ask));
        if let Some((ask, open)) = ask.and_then(|ask| Some((ask, self.close(ask, false)?))) {
            let effect = open.effect.clone();
            if is_made_again {
                self.interrupted_asks.insert(ask.clone());
            }
            self.open.insert(ask.clone(), OpenEffect { funds: Funds::None, begun: None, payee: None, ..open });
            self.busy += u32::from(self.is_busy(ask, &effect));
        }
        self.halted += u32::from(self.steps[at].halted.replace(why.clone()).is_none());
        self.steps[at].trouble = None;
        self.attention.remove(&at);
    }

    /// Lets halted steps continue where they stopped. For those without an open question, a decision is due.
    pub(super) fn let_go_on(&mut self) {
        for (at, step) in self.steps.iter_mut().enumerate().filter(|_| self.halted > 0) {
            let why = step.halted.take();
            if why.is_some_and(|why| {
                matches!(why.kind, FailureKind::Budget | FailureKind::TooLong | FailureKind::ModelBehavior)
            }) {
                self.attention.insert(at);
            }
        }
        self.halted = 0;
    }

    /// Raising the turns of the run raises those of each of its steps.
    pub(super) fn raise_turns(&mut self, turns: Option<u64>) {
        let Some(turns) = turns.map(|turns| u32::try_from(turns).unwrap_or(u32::MAX)) else { return };
        let settings = Arc::make_mut(&mut self.settings);
        settings.least_turns = settings.least_turns.max(Some(turns));
    }

    fn leave(&mut self, at: usize, state: StepState) {
        let step = &mut self.steps[at];
        if step.is_at_work() {
            self.running = self.running.saturating_sub(1);
        }
        if !step.has_ended() {
            self.unfinished = self.unfinished.saturating_sub(1);
        }
        self.halted -= u32::from(step.halted.take().is_some());
        step.state = state;
        step.background = Vec::new();
        step.pending = Vec::new();
        step.prepared = Vec::new();
        step.side_answer = None;
        self.ready.remove(&at);
        self.attention.remove(&at);
    }

    /// Closes the open effects of a step. Replies that arrive later have no effect.
    fn forget_effects(&mut self, id: &StepId) {
        let from = EffectAddress::of(id, 0, 0, crate::EffectKind::Ask);
        let mine = self.open.range(from..).take_while(|(address, _)| address.step == *id);
        let mine: Vec<EffectAddress> = mine.map(|(address, _)| address.clone()).collect();
        for address in mine {
            self.close(&address, true);
        }
    }

    pub(super) fn compacted(&mut self, id: &StepId, upto: u32, summary: &str) {
        self.with_step(id, |step| {
            let rest = step.conversation.split_off((upto as usize).min(step.conversation.len()));
            step.compacted.add(&step.conversation);
            // Notes to the model are kept word for word; its answers and results are summarised.
            step.conversation.retain(|entry| matches!(entry, ConversationEntry::Note(_)));
            step.conversation.push(ConversationEntry::Summary(summary.into()));
            step.conversation.extend(rest);
            step.side_answer = None;
            step.trouble = None;
            step.summary_asks = 0;
            step.rewrites += 1;
        });
        if let Some(at) = self.step_index.get(id).copied() {
            self.attention.insert(at);
            let turn = self.steps[at].turn();
            self.steps[at].state = StepState::Thinking { turn };
        }
    }

    /// The planner is asked again; the failed step's dependants wait for the new plan.
    pub(super) fn replan(&mut self, failed: &StepId, judgement: &Judgement) {
        let Some(at) = self.step_index.get(failed).copied() else { return };
        self.replans += 1;
        self.replanning = self.planner.map(|_| at);
        self.failed_unhandled.remove(&at);
        if !self.steps[at].has_ended() {
            let why = match judgement {
                Judgement::Replan { why } => why.clone(),
                Judgement::Accept
                | Judgement::GiveUp
                | Judgement::Retry { .. }
                | Judgement::Pivot { .. }
                | Judgement::Reject { .. }
                | Judgement::Renewed { .. }
                | Judgement::Again { .. } => String::new(),
            };
            let failure = Failure::new(FailureKind::ModelBehavior, why);
            self.step_ended(failed, StepState::Failed(failure));
            self.failed_unhandled.remove(&at);
        }
        if let Some(planner) = self.planner {
            // The planner will read what the step said.
            let said = self.steps[at].origins.clone();
            self.steps[planner].origins.merge(&said);
            let planner = self.steps[planner].spec.id.clone();
            self.re_enter(&planner, judgement);
        }
    }
}

/// What a step said last, for its next visit: its text, or otherwise the results of its tools.
fn previous_words(step: &Step) -> Arc<str> {
    if let Some(output) = &step.output {
        return output.clone();
    }
    let mut words = String::new();
    for entry in step.conversation.iter().rev().take(2).rev() {
        match entry {
            ConversationEntry::Answer(answer) => words.push_str(&answer.text),
            ConversationEntry::Results(results) => {
                for outcome in &results.outcomes {
                    words.push('\n');
                    words.push_str(&crate::answer_calls::outcome_words(outcome));
                }
            }
            ConversationEntry::Note(_) | ConversationEntry::Summary(_) => {}
        }
    }
    words.into()
}
