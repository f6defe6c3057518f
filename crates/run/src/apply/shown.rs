//! Applies what was decided about the context window: outputs that are shown in part, and windows that were learnt.

use std::collections::BTreeMap;

use crate::conversation_size::ConversationSize;
use crate::id::{EffectAddress, EffectKind, StepId};
use crate::message::ModelAnswer;
use crate::reply::{Failure, FailureKind};
use crate::shown::{Shortening, ShownPart};
use crate::state::Run;
use crate::step::Step;

impl Run {
    pub(super) fn shortened(&mut self, id: &StepId, because: Shortening, outputs: &BTreeMap<u32, ShownPart>) {
        self.with_step(id, |step| {
            step.shown.extend(outputs);
            // Outputs of a turn that has just ended were not shown before.
            step.rewrites += u32::from(because != Shortening::Turn);
        });
    }

    pub(super) fn window_learnt(&mut self, model: &str, tokens: u64) {
        self.windows.insert(model.to_owned(), tokens);
    }

    /// The calls of a turn have ended: they get the next numbers. Returns the first.
    pub(super) fn number_calls(&mut self, at: usize, turn: u32, calls: usize) -> u32 {
        let first = self.numbered_calls.len() as u32 + 1;
        let place = self.steps[at].address(turn, EffectKind::Call);
        self.numbered_calls.extend((0..calls).map(|n| place.sibling(EffectKind::Call, n as u32)));
        first
    }

    /// The call whose output has this number.
    pub fn numbered_call(&self, n: u32) -> Option<&EffectAddress> {
        self.numbered_calls.get((n as usize).checked_sub(1)?)
    }
}

impl Step {
    /// Takes in an answer, and how long the conversation now is. Without any text because the window was full, it is no
    /// answer.
    pub(super) fn take_answer(&mut self, answer: &std::sync::Arc<ModelAnswer>) {
        if answer.is_shut_out() {
            let why = "the model wrote nothing, because the conversation leaves no room in its context window";
            self.trouble = Some(Failure::new(FailureKind::TooLong, why));
            return;
        }
        self.hear(answer);
        let bytes = self.conversation_bytes();
        let counted = ConversationSize::counted(&answer.usage, self.asked_bytes, bytes);
        let tokens = if counted.tokens > 0 { counted.tokens } else { counted.in_tokens(self.asked_bytes) };
        self.size = Some(ConversationSize { tokens, ..counted });
    }
}
