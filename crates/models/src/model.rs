//! The one thing a provider must do: turn a prompt into an answer, streaming it to whoever listens.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;
use updraft_run::{Answer, Ceiling, Cost, Message, ToolSpec, Usage};

use crate::Error;

/// A future that is boxed, so that models of all kinds fit into one list.
pub type Asking<'a> = Pin<Box<dyn Future<Output = Result<Answer, Error>> + Send + 'a>>;

/// Answers prompts. Dropping the future closes the connection.
pub trait Model: Send + Sync {
    /// The name, as `provider/name`.
    fn name(&self) -> &str;

    /// What it costs; `None` where that is not known.
    fn price(&self) -> Option<Price>;

    /// Asks once. Parts of the answer reach `hear` as they arrive; the answer is those parts folded.
    /// A half-streamed answer is never returned as an answer.
    fn ask<'a>(&'a self, prompt: &'a Prompt<'a>, draft: &'a mut Draft, hear: Hear<'a>) -> Asking<'a>;

    /// The most this prompt can use: tokens in (estimated from above) and the cap on tokens out.
    fn ceiling(&self, prompt: &Prompt<'_>) -> Ceiling {
        let input = prompt.estimated_tokens();
        let usage = Usage { input, output: prompt.max_output, ..Usage::default() };
        Ceiling { tokens: usage.tokens(), cost: self.price().map(|price| price.of(&usage)) }
    }
}

/// Where the parts of an answer go while it arrives.
pub type Hear<'a> = &'a mut (dyn FnMut(Delta<'_>) + Send);

/// A part of an answer that has just arrived. Shown to watchers, never journalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delta<'a> {
    /// A piece of text.
    Text(&'a str),
    /// A piece of reasoning.
    Reasoning(&'a str),
    /// The model has begun to write a call of this tool.
    Call(&'a str),
    /// What was heard so far is void: the request is made again, for this reason.
    Again(&'a str),
    /// The request waits, for this reason (a rate limit).
    Waiting(&'a str),
}

/// Everything a model is told.
#[derive(Clone, Debug)]
pub struct Prompt<'a> {
    /// Who it is and how it behaves.
    pub system: &'a str,
    /// The tools it may call, in a fixed order.
    pub tools: &'a [ToolSpec],
    /// The conversation so far. Only ever grows between two asks of one conversation.
    pub messages: &'a [Message],
    /// Cap on the tokens of the answer.
    pub max_output: u64,
    /// JSON Schema the answer shall fit, where one is known.
    pub schema: Option<&'a Value>,
    /// The same task as data, for models that are programs.
    pub brief: &'a Brief,
}

impl Prompt<'_> {
    /// Tokens of the prompt, estimated from above: a token of ordinary text has about four bytes, of dense text two.
    pub fn estimated_tokens(&self) -> u64 {
        let tools: usize =
            self.tools.iter().map(|t| t.name.len() + t.description.len() + t.parameters.to_string().len()).sum();
        let messages: usize = self.messages.iter().map(size_of_message).sum();
        ((self.system.len() + tools + messages) / 2 + 16 * (self.messages.len() + self.tools.len() + 1)) as u64
    }
}

fn size_of_message(message: &Message) -> usize {
    match message {
        Message::User(text) => text.len(),
        Message::Assistant(answer) => {
            let calls: usize = answer.calls.iter().map(|c| c.name.len() + c.args.to_string().len()).sum();
            let opaque: usize = answer.opaque.iter().map(|part| part.to_string().len()).sum();
            answer.text.len() + calls + opaque
        }
        Message::Results(results) => results.iter().map(|r| r.text.len() + r.name.len()).sum(),
    }
}

/// The task as data: what a prompt says in words, for the built-in model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Brief {
    /// The agent that is spoken to.
    pub agent: String,
    /// The goal of the run.
    pub goal: String,
    /// The step's id.
    pub step: String,
    /// What the step is told to do.
    pub task: String,
    /// The variables it reads.
    pub inputs: BTreeMap<String, Arc<Value>>,
    /// The variables it shall write.
    pub writes: Vec<String>,
    /// Files handed over with the goal.
    pub files: Vec<String>,
}

/// A dialect's serialised request body: a cache of the neutral messages that is only appended to,
/// and can be made again byte for byte.
#[derive(Debug, Default)]
pub struct Draft {
    /// The bytes so far; what they mean is the dialect's business.
    pub bytes: Vec<u8>,
    /// How many messages they hold.
    pub messages: usize,
}

/// Prices in billionths of a dollar per token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Price {
    /// Per token read.
    pub input: u64,
    /// Per token written.
    pub output: u64,
    /// Per token read from the provider's cache.
    pub cached: u64,
}

impl Price {
    /// A price in dollars per million tokens.
    pub fn per_million(input: f64, output: f64, cached: Option<f64>) -> Self {
        let nano = |dollars: f64| (dollars * 1_000.0).round().max(0.0) as u64;
        Self { input: nano(input), output: nano(output), cached: nano(cached.unwrap_or(input)) }
    }

    /// What a call cost.
    pub fn of(&self, usage: &Usage) -> Cost {
        let cached = usage.cached.min(usage.input);
        let fresh = usage.input - cached;
        Cost(
            fresh
                .saturating_mul(self.input)
                .saturating_add(cached.saturating_mul(self.cached))
                .saturating_add(usage.output.saturating_mul(self.output)),
        )
    }
}
