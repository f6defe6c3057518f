//! Decides about incomplete answers: one that was cut off at the output limit is continued once, one that the provider
//! withheld fails the step.

use crate::event::{Event, Note};
use crate::message::{FinishReason, ModelAnswer};
use crate::reply::{Failure, FailureKind};
use crate::state::Run;
use crate::step::Step;

use super::failed_step::fail;

/// How many characters of a withheld answer are shown with the failure.
const SHOWN: usize = 200;

impl Run {
    /// What follows from an incomplete answer. Returns `None` if it is to be treated like any other answer.
    pub(super) fn after_part(&self, step: &Step, turn: u32, answer: &ModelAnswer) -> Option<Vec<Event>> {
        let failure = |why: &str| Failure::new(FailureKind::ModelBehavior, why);
        match answer.finish {
            FinishReason::Stop => None,
            FinishReason::Filtered => Some(fail(step, failure(&withheld(answer)))),
            // Each of its calls is marked as incomplete: it is refused, and the model is told.
            FinishReason::Length if !answer.calls.is_empty() => None,
            FinishReason::Length if step.is_continued() => {
                let why = "the answer was cut off at the limit on output, and so was its continuation; a larger \
                           `max_output` in the settings allows longer ones";
                Some(fail(step, failure(why)))
            }
            FinishReason::Length => {
                let why = "the answer was cut off at the limit on output";
                Some(self.correct(step, turn, Note::CutOff, &failure(why)))
            }
        }
    }
}

/// Why a withheld answer gives no result, in the provider's words if there are any.
fn withheld(answer: &ModelAnswer) -> String {
    let because = if answer.withheld.is_empty() { String::new() } else { format!(" ({})", answer.withheld) };
    let said: String = answer.text.trim().chars().take(SHOWN).collect();
    let colon = if said.is_empty() { "" } else { ", after: " };
    format!("the provider withheld the answer{because}{colon}{said}")
}
