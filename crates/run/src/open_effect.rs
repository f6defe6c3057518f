//! An effect that was wanted and has not replied: what is known about it until then.

use std::sync::Arc;

use crate::effect::{Effect, EffectClass, EffectFacts, Inquiry, PreparedCall};
use crate::goal::Ceiling;
use crate::message::ToolCall;
use crate::origins::Origins;
use crate::reply::{FailureKind, Reply};

/// An effect that was wanted and has not replied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenEffect {
    /// What is wanted.
    pub effect: Effect,
    /// The number of the next or current attempt, from 1.
    pub attempt: u32,
    /// Whether money is reserved for it.
    pub funds: Funds,
    /// The epoch of the process that began it, and what was known then; absent if it has not begun.
    pub begun: Option<(u64, EffectFacts)>,
    /// The model that will bill it, if money was reserved.
    pub payee: Option<Arc<str>>,
    /// A handle by which it can be found again.
    pub handle: Option<String>,
    /// The origins in the context when a person allowed it. With others that could misuse it, it is not allowed.
    pub allowed_with: Origins,
    /// What the code that it runs has asked for so far.
    pub inner: Vec<InnerCall>,
}

/// A call that code asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InnerCall {
    /// The tool.
    pub name: String,
    /// Whether it may be repeated.
    pub class: EffectClass,
    /// The call and what is known about it, until it has ended.
    pub requested: Option<(ToolCall, PreparedCall)>,
    /// How it ended, in a word or two.
    pub ended: Option<&'static str>,
    /// The attempt at the outer call in which it was asked for.
    pub attempt: u32,
    /// How often this attempt had asked the same question before, if it is a question.
    pub earlier_asks: u32,
    /// Whether the same question was open at the same time: then their order means nothing.
    pub was_concurrent: bool,
    /// The question that it asks a person, if it does, and the reply.
    pub inquiry: Option<(Box<Inquiry>, Option<Reply>)>,
}

impl OpenEffect {
    /// How often the current attempt has asked this question.
    pub(crate) fn asked_already(&self, inquiry: &Inquiry) -> u32 {
        self.inner.iter().filter(|inner| inner.attempt == self.attempt && inner.asks(inquiry)).count() as u32
    }
}

impl InnerCall {
    /// Whether it asks a person this question. One recorded before names were kept never matches a named one.
    pub(crate) fn asks(&self, inquiry: &Inquiry) -> bool {
        let Some((asked, _)) = &self.inquiry else { return false };
        let Inquiry { from, text, form, url, key } = &**asked;
        let is_worded_so = (from, text, form, url) == (&inquiry.from, &inquiry.text, &inquiry.form, &inquiry.url);
        let is_named_so = *key == inquiry.key || (key.is_none() && inquiry.key.as_deref() == Some(""));
        is_worded_so && is_named_so
    }

    /// A person's reply to its question.
    pub(crate) fn heard(&self) -> Option<&Reply> {
        self.inquiry.as_ref()?.1.as_ref()
    }

    /// How a call ended, in a word or two.
    pub(crate) fn end_of(reply: &Reply) -> &'static str {
        match reply {
            Reply::Output(output) if output.is_error => "failed",
            Reply::Output(_) | Reply::Answer(_) | Reply::Said(_) => "done",
            Reply::Failed(why) if why.kind == FailureKind::InDoubt => "outcome unknown",
            Reply::Failed(_) | Reply::Verdict(_) => "failed",
            Reply::TimedOut { .. } => "stopped at its time limit",
            Reply::Cancelled => "stopped",
            Reply::InDoubt { .. } => "outcome unknown",
        }
    }
}

/// Whether money is reserved for an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Funds {
    /// Nothing was requested.
    None,
    /// It waits until other calls return some of what they reserved.
    Held(Ceiling),
    /// It may spend this much.
    Reserved(Ceiling),
}
