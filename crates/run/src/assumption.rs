//! What an agent assumes when nobody is asked (`--assume`): it is stated by the agent, recorded, and shown at the end.

use serde::Serialize;
use serde_json::Value;

use crate::id::StepId;
use crate::message::ToolCall;
use crate::reply::{Failure, FailureKind};
use crate::state::Run;

/// A question that was not asked, and what the agent took as given instead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Assumption {
    /// The step that assumed it.
    pub step: StepId,
    /// The question.
    pub question: String,
    /// What it assumed.
    pub assumption: String,
}

impl Assumption {
    /// The assumption that a question to the user carries.
    pub(crate) fn of(step: &StepId, call: &ToolCall) -> Option<Self> {
        let text = |key: &str| call.args.get(key).and_then(Value::as_str).unwrap_or_default().trim().to_owned();
        let (question, assumption) = (text("question"), text("assumption"));
        (!assumption.is_empty()).then(|| Self { step: step.clone(), question, assumption })
    }

    /// What an agent is told instead of an answer. It must say itself what it assumes: nobody answers for the user.
    pub(crate) fn instead_of_asking(call: &ToolCall) -> Failure {
        match Self::of(&StepId::known("ask"), call) {
            Some(own) => Failure::new(
                FailureKind::Assumed,
                format!(
                    "nobody is asked in this run. Go on with your assumption, and state it as one in your result: {}",
                    own.assumption
                ),
            ),
            None => Failure::new(
                FailureKind::Validation,
                "nobody is asked in this run. Call `ask_user` again with `assumption`: what you take as given instead",
            ),
        }
    }
}

impl Run {
    /// What agents assumed because nobody could be asked.
    pub fn assumptions(&self) -> &[Assumption] {
        &self.assumptions
    }
}
