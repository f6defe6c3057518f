//! The trait that every provider implements: turns a prompt into an answer, and streams it to a callback.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;
use updraft_run::{
    AgentRole, Ceiling, EffectKind, Message, ModelAnswer, Price, ThinkingEffort, TokenUsage, ToolSpec, TraceParent,
};

use crate::{Error, RequestDraft, ToolCallStyle};

/// A boxed future, so that models of all kinds fit into one list.
pub type ModelFuture<'a> = Pin<Box<dyn Future<Output = Result<ModelAnswer, Error>> + Send + 'a>>;

/// Answers prompts. Dropping the future closes the connection.
pub trait Model: Send + Sync {
    /// The name, as `provider/name`.
    fn name(&self) -> &str;

    /// Its price; `None` if that is unknown.
    fn price(&self) -> Option<Price>;

    /// Whether it accepts pictures; `None` if that is unknown.
    fn sees(&self) -> Option<bool> {
        None
    }

    /// Size of its context window in tokens; `None` if that is unknown. Its server may be asked.
    fn window(&self) -> Pin<Box<dyn Future<Output = Option<u64>> + Send + '_>> {
        Box::pin(std::future::ready(None))
    }

    /// How it calls tools, if that was set or learnt from its answers.
    fn tool_style(&self) -> Option<ToolCallStyle> {
        None
    }

    /// Remembers how it calls tools.
    fn learn_tool_style(&self, _: ToolCallStyle) {}

    /// The remote hosts that receive the prompt; empty if nothing is sent.
    fn hosts(&self) -> Vec<String> {
        Vec::new()
    }

    /// Asks, and repeats a request that was refused or did not arrive. Parts of the answer are passed to `hear` as they
    /// arrive; the answer consists of these parts. A partial answer is never returned as an answer.
    fn ask<'a>(
        &'a self,
        prompt: &'a Prompt<'a>,
        draft: &'a mut RequestDraft,
        hear: DeltaCallback<'a>,
    ) -> ModelFuture<'a>;

    /// The most that this prompt can use: input tokens (estimated from above) and the limit on output tokens.
    fn ceiling(&self, prompt: &Prompt<'_>) -> Ceiling {
        let input = prompt.estimated_tokens();
        let usage = TokenUsage { input, output: prompt.max_output, ..TokenUsage::default() };
        Ceiling { tokens: usage.tokens(), cost: self.price().map(|price| price.ceiling(&usage)) }
    }
}

/// Receives the parts of an answer while it arrives.
pub type DeltaCallback<'a> = &'a mut (dyn FnMut(Delta<'_>) + Send);

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
    /// All parts so far are void: the request is repeated, for this reason.
    Again(&'a str),
    /// The request waits, for this reason (a rate limit).
    Waiting(&'a str),
}

/// Everything that a model is told.
#[derive(Clone, Debug)]
pub struct Prompt<'a> {
    /// The system prompt.
    pub system: &'a str,
    /// The tools it may call, in a fixed order.
    pub tools: &'a [ToolSpec],
    /// The conversation so far. It only grows between two requests of one conversation.
    pub messages: &'a [Message],
    /// Limit on the tokens of the answer, without thinking.
    pub max_output: u64,
    /// Whether somebody chose that limit, or a budget counts on it. Otherwise a server that nothing is known of is sent
    /// none: it knows its model better.
    pub is_limited: bool,
    /// The thinking effort, if it was configured.
    pub think: ThinkingEffort,
    /// The effort that the task needs, if none was configured.
    pub need: ThinkingEffort,
    /// The number of the attempt, from 1: earlier attempts broke off in the middle of an answer.
    pub attempt: u32,
    /// The place of the question in a trace, for the provider to continue.
    pub trace: Option<TraceParent>,
    /// JSON Schema of the answer, if there is one.
    pub schema: Option<&'a Value>,
    /// The same task as data, for models that are programs.
    pub brief: &'a TaskBrief,
}

impl Prompt<'_> {
    /// The messages of the task, without those of an earlier part of the conversation.
    pub(crate) fn own_messages(&self) -> &[Message] {
        self.messages.get(self.brief.earlier..).unwrap_or_default()
    }
}

impl<'a> Prompt<'a> {
    /// An empty prompt.
    pub fn empty(brief: &'a TaskBrief) -> Self {
        Self {
            system: "",
            tools: &[],
            messages: &[],
            max_output: 1_024,
            is_limited: true,
            think: ThinkingEffort::Auto,
            need: ThinkingEffort::Auto,
            attempt: 1,
            trace: None,
            schema: None,
            brief,
        }
    }

    /// Tokens of the prompt, estimated from above: a token has about four bytes in ordinary text, two in dense text.
    pub fn estimated_tokens(&self) -> u64 {
        let tools: usize =
            self.tools.iter().map(|t| t.name.len() + t.description.len() + t.parameters.to_string().len()).sum();
        let messages: usize = self.messages.iter().map(size_of_message).sum();
        ((self.system.len() + tools + messages) / 2 + 16 * (self.messages.len() + self.tools.len() + 1)) as u64
    }
}

/// No provider counts more for one picture of the largest size.
const TOKENS_OF_A_PICTURE: usize = 6_000;

fn size_of_message(message: &Message) -> usize {
    match message {
        Message::User(text) => text.len(),
        Message::Assistant(answer) => {
            let calls: usize = answer.calls.iter().map(|c| c.name.len() + c.args.to_string().len()).sum();
            let opaque: usize = answer.opaque.iter().map(|part| part.to_string().len()).sum();
            answer.text.len() + calls + opaque
        }
        Message::Results(results) => results.iter().map(|r| r.text.len() + r.name.len()).sum(),
        Message::Pictures(pictures) => pictures.len() * TOKENS_OF_A_PICTURE * 2,
    }
}

/// The task as data: what a prompt says in words, for the built-in model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskBrief {
    /// The agent that is asked.
    pub agent: String,
    /// The role of that agent.
    pub role: AgentRole,
    /// The goal of the run.
    pub goal: String,
    /// The step's id.
    pub step: String,
    /// The task of the step.
    pub task: String,
    /// The variables it reads.
    pub inputs: BTreeMap<String, Arc<Value>>,
    /// The variables it should write.
    pub writes: Vec<String>,
    /// Files attached to the goal.
    pub files: Vec<String>,
    /// How many times the step was entered before.
    pub visit: u32,
    /// Set if the request is not a turn of the conversation, but a judgement or a summary.
    pub side_question: Option<EffectKind>,
    /// How many messages come before the task, from an earlier part of the conversation.
    pub earlier: usize,
    /// The names of the candidates that it chooses among.
    pub candidates: Vec<String>,
    /// The command that tells whether a candidate is good.
    pub tests: Option<String>,
}
