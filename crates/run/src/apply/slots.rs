//! The places of a turn's calls: each is filled when its call ends, and when all are, the turn is over.

use std::sync::Arc;

use crate::actions::Action;
use crate::citation::Reading;
use crate::effect::PreparedCall;
use crate::id::EffectAddress;
use crate::open_effect::InnerCall;
use crate::reply::{Failure, FailureKind, Reply};
use crate::state::Run;
use crate::step::{CallSlot, ConversationEntry, StepState, ToolCallOutcome, TurnResults};

impl Run {
    /// A call that code asked for has ended. The outcome is kept as long as the code runs.
    fn inner_ended(&mut self, id: &EffectAddress, outcome: &ToolCallOutcome) {
        let Some((outer, k)) = id.outer().zip(id.inner) else { return };
        if let Some(inner) = self.open.get_mut(&outer).and_then(|open| open.inner.get_mut(k as usize)) {
            inner.requested = None;
            if let (Some((_, answer)), ToolCallOutcome::Replied(reply @ (Reply::Said(_) | Reply::Verdict(_)))) =
                (&mut inner.inquiry, outcome)
            {
                *answer = Some(reply.clone());
            }
            inner.ended = Some(match outcome {
                ToolCallOutcome::Replied(reply) => InnerCall::end_of(reply),
                ToolCallOutcome::Rejected(_) => "refused",
            });
        }
    }

    /// Sets the state of a call. The first call of a turn ends the `Thinking` state.
    pub(super) fn fill_slot(&mut self, at: usize, id: &EffectAddress, slot: CallSlot) {
        if id.inner.is_some() {
            if let CallSlot::Closed(outcome) = &slot {
                self.inner_ended(id, outcome);
            }
            return;
        }
        let step = &mut self.steps[at];
        if let StepState::Thinking { turn } = step.state {
            let calls = step.prepared.len().max(id.n as usize + 1);
            step.state = StepState::Acting { turn, slots: vec![CallSlot::Undecided; calls] };
        }
        let StepState::Acting { slots, .. } = &mut step.state else { return };
        if let Some(place) = slots.get_mut(id.n as usize) {
            *place = slot;
        }
        self.settle_slots(at);
    }

    /// Calls that come later in the turn were looked at again, now that those before them have ended.
    pub(super) fn look_again(&mut self, at: usize, prepared: &[PreparedCall]) {
        let step = &mut self.steps[at];
        let StepState::Acting { slots, .. } = &step.state else { return };
        for ((slot, old), new) in slots.iter().zip(&mut step.prepared).zip(prepared) {
            match slot {
                CallSlot::Open | CallSlot::Closed(_) => {}
                CallSlot::Asked | CallSlot::Decided(_) if old.fault.is_none() && !old.does_the_same(new) => {
                    *old = PreparedCall { fault: Some(changed_since()), ..new.clone() };
                }
                CallSlot::Undecided | CallSlot::Asked | CallSlot::Decided(_) => old.clone_from(new),
            }
        }
    }

    /// Keeps one line per call for later steps, because the conversation itself is dropped when the step ends.
    fn note_actions(&mut self, at: usize, outcomes: &[ToolCallOutcome]) {
        let step = &self.steps[at];
        let Some(answer) = step.last_answer() else { return };
        let calls = self.calls_in(step, answer);
        let new: Vec<Action> = calls.iter().zip(outcomes).map(|(call, outcome)| Action::of(call, outcome)).collect();
        let readings: Vec<Reading> =
            calls.iter().zip(outcomes).filter_map(|(call, outcome)| Reading::of(call, outcome)).collect();
        self.readings.keep(readings);
        if !new.is_empty() {
            Arc::make_mut(self.steps[at].actions.get_or_insert_default()).extend(new);
        }
    }

    /// When the last call of a turn has ended, the results are added to the conversation and a decision is due.
    fn settle_slots(&mut self, at: usize) {
        let step = &mut self.steps[at];
        let StepState::Acting { turn, slots } = &mut step.state else { return };
        let turn = *turn;
        if slots.iter().all(|slot| matches!(slot, CallSlot::Closed(_))) {
            let outcomes = slots.drain(..).filter_map(|slot| match slot {
                CallSlot::Closed(outcome) => Some(outcome),
                CallSlot::Undecided | CallSlot::Asked | CallSlot::Decided(_) | CallSlot::Open => None,
            });
            let outcomes: Vec<ToolCallOutcome> = outcomes.collect();
            self.note_actions(at, &outcomes);
            let first = self.number_calls(at, turn, outcomes.len());
            let step = &mut self.steps[at];
            step.conversation.push(ConversationEntry::Results(TurnResults { first, outcomes }));
            step.prepared.clear();
            self.attention.insert(at);
        } else if self.steps[at].has_due_calls() {
            self.attention.insert(at);
        } else {
            self.attention.remove(&at);
        }
    }
}

/// Why an approval does not hold: it was given for something else.
fn changed_since() -> Failure {
    let why =
        "a call before it in this turn has changed what it would do, after a person was asked about it; call it again";
    Failure::new(FailureKind::Security, why)
}
