//! Decides what the guardrails let pass: the goal before anything begins, and each answer before anything uses it.

use crate::effect::Effect;
use crate::event::{Event, Note};
use crate::guard::{GuardVerdict, YES};
use crate::id::EffectKind;
use crate::reply::{Failure, FailureKind, Reply};
use crate::state::Run;
use crate::step::{Step, ToolCallOutcome};

use super::failed_step::fail;

/// How often an answer is sent back in one visit.
const MOST_CORRECTIONS: u32 = 2;

impl Run {
    /// What follows from the guardrails before the work: the goal is checked, or the step fails. Returns `None` if the
    /// step may begin.
    pub(super) fn before_work(&self, step: &Step) -> Option<Vec<Event>> {
        if !self.settings.guards.input {
            return None;
        }
        match &self.input_guard {
            Some(GuardVerdict::Passed) => None,
            Some(GuardVerdict::Correct(why) | GuardVerdict::Stopped(why)) => Some(fail(step, stopped(why))),
            Some(GuardVerdict::Ask(why)) => Some(ask(step, 0, &format!("{why}. Start with this goal all the same?"))),
            None => Some(check(step, 0)),
        }
    }

    /// Whether the goal is being checked, so that nothing else may begin.
    pub(super) fn is_goal_checked(&self) -> bool {
        self.settings.guards.input && self.input_guard != Some(GuardVerdict::Passed) && self.running > 0
    }

    /// What follows from the guardrails behind an answer. Returns `None` if it may be used.
    pub(super) fn after_guard(&self, step: &Step, turn: u32) -> Option<Vec<Event>> {
        if !self.settings.guards.output {
            return None;
        }
        match &step.guard {
            Some(GuardVerdict::Passed) => None,
            None => Some(check(step, turn)),
            Some(GuardVerdict::Ask(why)) => Some(ask(step, turn, &format!("{why}. Use this answer all the same?"))),
            Some(GuardVerdict::Correct(why)) if step.corrections() < MOST_CORRECTIONS => {
                Some(self.correct(step, turn, Note::Unfit { what: why.clone() }, &stopped(why)))
            }
            Some(GuardVerdict::Correct(why) | GuardVerdict::Stopped(why)) => Some(fail(step, stopped(why))),
        }
    }
}

/// The end of a step of which a guardrail stopped a call.
pub(super) fn after_stopped_call<'a>(
    step: &Step,
    mut outcomes: impl Iterator<Item = &'a ToolCallOutcome>,
) -> Option<Vec<Event>> {
    outcomes.find_map(|outcome| match outcome {
        ToolCallOutcome::Replied(Reply::Failed(why)) if why.kind == FailureKind::Guardrail => {
            Some(fail(step, why.clone()))
        }
        ToolCallOutcome::Replied(_) | ToolCallOutcome::Rejected(_) => None,
    })
}

fn check(step: &Step, turn: u32) -> Vec<Event> {
    vec![Event::Wanted { id: step.address(turn, EffectKind::Guard), effect: Effect::Call }]
}

/// Asks a person. The question has the next address after the check.
fn ask(step: &Step, turn: u32, text: &str) -> Vec<Event> {
    let id = step.address(turn, EffectKind::Guard).sibling(EffectKind::Guard, 1);
    let options = vec![YES.to_owned(), "no".to_owned()];
    vec![Event::Wanted { id, effect: Effect::Question { text: text.to_owned(), options, inquiry: None } }]
}

fn stopped(why: &str) -> Failure {
    Failure::new(FailureKind::Guardrail, why)
}
