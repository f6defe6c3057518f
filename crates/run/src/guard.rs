//! Guardrails as the run sees them: at which points some stand, the call that checks a text, and its verdict.
//!
//! What they check is known to the tool. The run only makes sure that nothing behind a guardrail begins before it has
//! answered. Guardrails before calls are checked where calls are made.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::answer_calls::outcome_words;
use crate::effect::{EffectClass, PreparedCall};
use crate::id::{EffectAddress, EffectKind};
use crate::message::{ToolCall, is_false};
use crate::reply::Reply;
use crate::state::Run;
use crate::step::{Step, ToolCallOutcome};

/// The tool that checks a text by the guardrails.
pub const CHECK_GUARDRAILS: &str = "check_guardrails";

/// The points at which guardrails stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GuardedPoints {
    /// Before the first question to a model.
    #[serde(skip_serializing_if = "is_false")]
    pub input: bool,
    /// After each answer of a step.
    #[serde(skip_serializing_if = "is_false")]
    pub output: bool,
}

impl GuardedPoints {
    /// Whether there are none.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What the guardrails said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GuardVerdict {
    /// They let it pass.
    Passed,
    /// The agent is to try again, for this reason.
    Correct(String),
    /// A person decides, for this reason.
    Ask(String),
    /// It goes no further, for this reason.
    Stopped(String),
}

impl GuardVerdict {
    /// Reads a verdict. What is none lets nothing pass.
    pub(crate) fn of(reply: &Reply) -> Self {
        let words = || outcome_words(&ToolCallOutcome::Replied(reply.clone())).trim().to_owned();
        match reply {
            Reply::Output(output) if !output.is_error => Self::Passed,
            Reply::Output(output) => {
                let action = output.value.as_ref().and_then(|value| value.get("action")?.as_str());
                match action {
                    Some("correct") => Self::Correct(words()),
                    Some("ask") => Self::Ask(words()),
                    Some(_) | None => Self::Stopped(words()),
                }
            }
            Reply::Said(text) if matches!(text.trim().to_lowercase().as_str(), YES | "y") => Self::Passed,
            Reply::Said(_) | Reply::Verdict(_) => Self::Stopped("a person did not let it pass".to_owned()),
            Reply::Answer(_) | Reply::Failed(_) | Reply::TimedOut { .. } | Reply::Cancelled | Reply::InDoubt { .. } => {
                Self::Stopped(format!("the guardrails could not be checked: {}", words()))
            }
        }
    }
}

/// The answer that lets something pass.
pub(crate) const YES: &str = "yes";

/// What is known about a check: it changes nothing, and may be made again.
static PREPARED: LazyLock<PreparedCall> =
    LazyLock::new(|| PreparedCall { class: EffectClass::Idempotent, elsewhere: true, ..PreparedCall::default() });

impl Run {
    /// The call that checks a text, at the address of a check.
    pub(crate) fn guard_call(&self, id: &EffectAddress) -> Option<ToolCall> {
        let step = self.step(&id.step).filter(|step| id.kind == EffectKind::Guard && step.visit == id.visit)?;
        let args = if is_before_work(step) {
            json!({ "when": "input", "text": self.goal.text, "files": self.goal.files })
        } else {
            let text = self.best_words(step).unwrap_or_default();
            let faults = self.false_citations(&text);
            let mut args = json!({ "when": "output", "text": text });
            if !faults.is_empty() {
                args["false_citations"] = faults.into();
            }
            args
        };
        Some(ToolCall { id: id.to_string(), name: CHECK_GUARDRAILS.to_owned(), args, fault: None })
    }

    /// What is known about such a call.
    pub(crate) fn guard_prepared() -> &'static PreparedCall {
        &PREPARED
    }
}

/// Whether a step that is being checked has not asked anything yet: what is checked then is the goal.
pub(crate) fn is_before_work(step: &Step) -> bool {
    step.conversation.is_empty()
}
