//! Builds an answer from its parts as they arrive, for all dialects.

use serde_json::{Map, Value};
use updraft_lenient::{JsonFault, RepairedJson, repair};
use updraft_run::{FinishReason, Message, ModelAnswer, Price, TokenUsage, ToolCall};

use crate::json_repair::legible;
use crate::refusal::shorten;
use crate::retry::AttemptError;
use crate::{Delta, DeltaCallback, Prompt, tokens};

/// Maximum bytes of a whole answer: no model writes more.
const LARGEST_ANSWER: usize = 64 << 20;

/// Maximum number of calls in one answer: no model makes more, and each takes more memory than on the wire.
const MOST_CALLS: usize = 1_024;

/// What has arrived so far.
#[derive(Debug, Default)]
pub(crate) struct AnswerBuilder {
    pub(crate) text: String,
    pub(crate) reasoning: String,
    pub(crate) calls: Vec<PartialCall>,
    /// `None` until the provider has said why the model stopped.
    pub(crate) finish: Option<FinishReason>,
    /// The provider's message when it withheld the rest.
    pub(crate) withheld: String,
    pub(crate) usage: Option<TokenUsage>,
    /// Provider-specific parts that are sent back unchanged.
    pub(crate) opaque: Vec<Value>,
    /// Whether the provider has said that nothing more follows.
    pub(crate) done: bool,
    size: usize,
}

/// A call that is being received.
#[derive(Debug, Default)]
pub(crate) struct PartialCall {
    /// The provider's index for it, by which later pieces are matched.
    pub(crate) index: usize,
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: PartialArguments,
}

/// Arguments, as text that grows or as a complete value.
#[derive(Debug)]
pub(crate) enum PartialArguments {
    Text(String),
    Whole(Value),
    /// The provider could not parse them, for this reason.
    Unreadable(String),
}

impl Default for PartialArguments {
    fn default() -> Self {
        PartialArguments::Text(String::new())
    }
}

impl AnswerBuilder {
    pub(crate) fn say(&mut self, text: &str, hear: DeltaCallback<'_>) {
        if !text.is_empty() {
            self.text.push_str(text);
            hear(Delta::Text(text));
        }
    }

    pub(crate) fn think(&mut self, text: &str, hear: DeltaCallback<'_>) {
        if !text.is_empty() {
            self.reasoning.push_str(text);
            hear(Delta::Reasoning(text));
        }
    }

    /// Starts a call.
    pub(crate) fn call(&mut self, index: usize, id: &str, name: &str, hear: DeltaCallback<'_>) -> &mut PartialCall {
        if !name.is_empty() {
            hear(Delta::Call(name));
        }
        self.calls.push(PartialCall {
            index,
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: PartialArguments::default(),
        });
        let last = self.calls.len() - 1;
        &mut self.calls[last]
    }

    /// The newest call with this index.
    pub(crate) fn call_at(&mut self, index: usize) -> Option<&mut PartialCall> {
        self.calls.iter_mut().rev().find(|call| call.index == index)
    }

    /// Notes that the provider withholds the rest, for this reason.
    pub(crate) fn withhold(&mut self, reason: &str, message: &str) {
        self.finish = Some(FinishReason::Filtered);
        self.withheld = shorten(format!("{reason} {message}").trim());
    }

    /// Whether anything of the answer itself has arrived.
    pub(crate) fn has_begun(&self) -> bool {
        !self.text.is_empty() || !self.reasoning.is_empty() || !self.calls.is_empty()
    }

    /// A measure of the content so far: it grows with each part that has content.
    pub(crate) fn amount(&self) -> usize {
        let written = |call: &PartialCall| match &call.arguments {
            PartialArguments::Text(text) => text.len() + 1,
            PartialArguments::Whole(_) | PartialArguments::Unreadable(_) => 1,
        };
        let calls: usize = self.calls.iter().map(written).sum();
        let ends = [self.finish.is_some(), self.usage.is_some(), self.done];
        let ends = ends.into_iter().filter(|is_there| *is_there).count();
        calls + self.text.len() + self.reasoning.len() + self.opaque.len() + ends
    }

    /// Counts the bytes that arrived; fails if the answer is too large.
    pub(crate) fn weigh(&mut self, bytes: usize) -> Result<(), AttemptError> {
        self.size += bytes;
        if self.size > LARGEST_ANSWER {
            return Err(AttemptError::Useless(format!(
                "the answer is too large: more than {} MiB",
                LARGEST_ANSWER >> 20
            )));
        }
        self.count_calls()
    }

    fn count_calls(&self) -> Result<(), AttemptError> {
        let calls = self.calls.len();
        if calls > MOST_CALLS { Err(AttemptError::Useless(format!("an answer with {calls} calls"))) } else { Ok(()) }
    }

    /// The complete answer; an error if the stream ended before the answer did.
    pub(crate) fn into_answer(
        self,
        prompt: &Prompt<'_>,
        sent: usize,
        price: impl FnOnce(&TokenUsage) -> Option<Price>,
    ) -> Result<ModelAnswer, AttemptError> {
        if self.finish.is_none() && !self.done {
            return Err(AttemptError::Cut("the stream ended before the answer did".to_owned()));
        }
        self.count_calls()?;
        let finish = self.finish.unwrap_or_default();
        let mut answer = ModelAnswer {
            text: self.text,
            reasoning: self.reasoning,
            finish,
            withheld: self.withheld,
            opaque: self.opaque,
            ..ModelAnswer::default()
        };
        for (at, written) in self.calls.into_iter().enumerate() {
            let mut call = written.into_call(finish);
            // Results are matched by id, so each call needs a unique one, also among earlier turns: some servers count
            // from the start each time, and others refuse such a history. The new id is the same when the request is
            // repeated.
            if call.id.is_empty() || answer.calls.iter().any(|other| other.id == call.id) || was_used(prompt, &call.id)
            {
                call.id = format!("c{}.{at}", prompt.messages.len());
            }
            answer.calls.push(call);
        }
        answer.usage = self.usage.unwrap_or_else(|| tokens::estimate(sent, &answer));
        answer.usage.price = price(&answer.usage);
        answer.usage.cost = answer.usage.price.map(|price| price.of(&answer.usage));
        Ok(answer)
    }
}

/// Whether a call of an earlier turn has this id.
fn was_used(prompt: &Prompt<'_>, id: &str) -> bool {
    prompt.messages.iter().any(|message| match message {
        Message::Assistant(answer) => answer.calls.iter().any(|call| call.id == id),
        Message::User(_) | Message::Results(_) | Message::Pictures(_) => false,
    })
}

impl PartialCall {
    /// Adds to the text of the arguments.
    pub(crate) fn add(&mut self, text: &str) {
        match &mut self.arguments {
            PartialArguments::Text(all) => all.push_str(text),
            PartialArguments::Whole(_) | PartialArguments::Unreadable(_) => {
                self.arguments = PartialArguments::Text(text.to_owned());
            }
        }
    }

    fn into_call(self, finish: FinishReason) -> ToolCall {
        let (args, fault) = match finish {
            FinishReason::Length => (empty(), Some("the answer was cut off at the limit on output".to_owned())),
            FinishReason::Filtered => (empty(), Some("the provider withheld the rest of the answer".to_owned())),
            _ => match read_arguments(self.arguments) {
                Ok(args) => (args, None),
                Err(fault) => (empty(), Some(fault)),
            },
        };
        ToolCall { id: self.id, name: self.name, args, fault }
    }
}

fn empty() -> Value {
    Value::Object(Map::new())
}

fn read_arguments(arguments: PartialArguments) -> Result<Value, String> {
    match arguments {
        PartialArguments::Text(text) => read_text(&text),
        PartialArguments::Whole(Value::Null) => Ok(empty()),
        PartialArguments::Whole(value @ Value::Object(_)) => Ok(value),
        PartialArguments::Whole(Value::String(text)) => read_text(&text),
        PartialArguments::Whole(other) => Err(no_object(&other.to_string())),
        PartialArguments::Unreadable(why) => Err(why),
    }
}

/// Parses the arguments, and repairs them if that is safe. If a repair had to guess, the model is told what was wrong
/// instead: a call that was never meant is worse than one more turn.
fn read_text(text: &str) -> Result<Value, String> {
    if text.trim().is_empty() {
        return Ok(empty());
    }
    let value = match serde_json::from_slice(&legible(text.as_bytes())) {
        Ok(value) => value,
        Err(why) => match repair(text) {
            Some(repaired) if is_safe(&repaired) => repaired.value,
            _ => return Err(format!("the arguments are not JSON: {why}")),
        },
    };
    match value {
        Value::Object(_) => Ok(value),
        Value::Null => Ok(empty()),
        // Some models write the object as a string inside the string.
        Value::String(inner) if inner.trim_start().starts_with('{') => read_text(&inner),
        _ => Err(no_object(text)),
    }
}

/// Whether a repair kept the meaning. If there are several values, it is unknown which one was meant.
fn is_safe(repaired: &RepairedJson) -> bool {
    !repaired.is_risky() && !repaired.repairs.iter().any(|repair| matches!(repair.what, JsonFault::SeveralValues))
}

fn no_object(text: &str) -> String {
    format!("the arguments are not an object: `{}`", shorten(text))
}
