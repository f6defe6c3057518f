//! The one thing a provider must do: turn a prompt into an answer, streaming it to whoever listens.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;
use updraft_run::{AgentRole, Ceiling, EffectKind, Message, ModelAnswer, Price, ThinkingEffort, TokenUsage, ToolSpec};

use crate::{Error, RequestDraft};

/// A future that is boxed, so that models of all kinds fit into one list.
pub type ModelFuture<'a> = Pin<Box<dyn Future<Output = Result<ModelAnswer, Error>> + Send + 'a>>;

/// Answers prompts. Dropping the future closes the connection.
pub trait Model: Send + Sync {
    /// The name, as `provider/name`.
    fn name(&self) -> &str;

    /// What it costs; `None` where that is not known.
    fn price(&self) -> Option<Price>;

    /// Whether it can be shown pictures; `None` where only the model knows.
    fn sees(&self) -> Option<bool> {
        None
    }

    /// The hosts beyond this machine that are told what it is asked; empty where nothing is sent.
    fn hosts(&self) -> Vec<String> {
        Vec::new()
    }

    /// Asks once. Parts of the answer reach `hear` as they arrive; the answer is those parts folded.
    /// A half-streamed answer is never returned as an answer.
    fn ask<'a>(
        &'a self,
        prompt: &'a Prompt<'a>,
        draft: &'a mut RequestDraft,
        hear: DeltaCallback<'a>,
    ) -> ModelFuture<'a>;

    /// The most this prompt can use: tokens in (estimated from above) and the cap on tokens out.
    fn ceiling(&self, prompt: &Prompt<'_>) -> Ceiling {
        let input = prompt.estimated_tokens();
        let usage = TokenUsage { input, output: prompt.max_output, ..TokenUsage::default() };
        Ceiling { tokens: usage.tokens(), cost: self.price().map(|price| price.ceiling(&usage)) }
    }
}

/// Where the parts of an answer go while it arrives.
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
    /// Cap on the tokens of the answer, thinking not counted.
    pub max_output: u64,
    /// How much it shall think, where somebody has chosen.
    pub think: ThinkingEffort,
    /// How much the task asks for, where nobody has.
    pub need: ThinkingEffort,
    /// Which attempt this is, from 1: those before broke off in the midst of an answer.
    pub attempt: u32,
    /// JSON Schema the answer shall fit, where one is known.
    pub schema: Option<&'a Value>,
    /// The same task as data, for models that are programs.
    pub brief: &'a TaskBrief,
}

impl<'a> Prompt<'a> {
    /// A prompt that says nothing yet.
    pub fn empty(brief: &'a TaskBrief) -> Self {
        Self {
            system: "",
            tools: &[],
            messages: &[],
            max_output: 1_024,
            think: ThinkingEffort::Auto,
            need: ThinkingEffort::Auto,
            attempt: 1,
            schema: None,
            brief,
        }
    }

    /// Tokens of the prompt, estimated from above: a token of ordinary text has about four bytes, of dense text two.
    pub fn estimated_tokens(&self) -> u64 {
        let tools: usize =
            self.tools.iter().map(|t| t.name.len() + t.description.len() + t.parameters.to_string().len()).sum();
        let messages: usize = self.messages.iter().map(size_of_message).sum();
        ((self.system.len() + tools + messages) / 2 + 16 * (self.messages.len() + self.tools.len() + 1)) as u64
    }
}

/// No provider counts more for one picture of the size that may be sent.
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
    /// The agent that is spoken to.
    pub agent: String,
    /// What that agent is for.
    pub role: AgentRole,
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
    /// How often the step was entered before.
    pub visit: u32,
    /// What is asked beside the conversation: a judgement, a summary. Absent for a turn of the conversation itself.
    pub aside: Option<EffectKind>,
}
