//! What is said between us and a model, in no provider's dialect.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::Cost;

/// A tool call as a model asked for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's name for the call, given back with the result.
    pub id: String,
    /// The tool's name, as the model wrote it.
    pub name: String,
    /// The arguments; an empty object where the model gave none.
    #[serde(default)]
    pub args: Value,
    /// What was wrong with the arguments' text, where they could not be read safely.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FinishReason {
    /// It had said what it wanted to say.
    #[default]
    Stop,
    /// It reached the limit on output: the end is missing.
    Length,
    /// The provider withheld the rest.
    Filtered,
}

impl FinishReason {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    fn is_stop(&self) -> bool {
        *self == FinishReason::Stop
    }
}

/// What a model call used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenUsage {
    /// Tokens read, cached ones included.
    pub input: u64,
    /// Tokens written, reasoning included.
    pub output: u64,
    /// Of the tokens read, those that came from the provider's cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached: u64,
    /// Of the tokens read, those that were put into the provider's cache, where that costs extra.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stored: u64,
    /// Of the tokens read, those of pictures.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pictures: u64,
    /// Of the tokens written, those spent on reasoning.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reasoning: u64,
    /// What it cost; absent where the price is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// The price that cost was reckoned with, so that it stays what it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// The provider reported no figures, and these were estimated.
    #[serde(default, skip_serializing_if = "is_false")]
    pub estimated: bool,
}

impl TokenUsage {
    /// Tokens in both directions.
    pub fn tokens(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
pub(crate) fn is_zero(n: &u64) -> bool {
    *n == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
pub(crate) fn is_false(b: &bool) -> bool {
    !b
}

/// Prices in billionths of a dollar per token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// Per token read.
    pub input: u64,
    /// Per token written.
    pub output: u64,
    /// Per token read from the provider's cache.
    pub cached: u64,
    /// Per token put into the provider's cache.
    pub stored: u64,
}

impl Price {
    /// A price in dollars per million tokens. What comes from a cache or goes there costs as much as any other token
    /// where nothing else is said.
    pub fn per_million(input: f64, output: f64, cached: Option<f64>, stored: Option<f64>) -> Self {
        let nano = |dollars: f64| (dollars * 1_000.0).round().max(0.0) as u64;
        let (cached, stored) = (cached.unwrap_or(input), stored.unwrap_or(input));
        Self { input: nano(input), output: nano(output), cached: nano(cached), stored: nano(stored) }
    }

    /// What a call cost.
    pub fn of(&self, usage: &TokenUsage) -> Cost {
        let cached = usage.cached.min(usage.input);
        let stored = usage.stored.min(usage.input - cached);
        let parts = [
            (usage.input - cached - stored, self.input),
            (cached, self.cached),
            (stored, self.stored),
            (usage.output, self.output),
        ];
        Cost(parts.into_iter().fold(0, |sum, (tokens, price)| sum.saturating_add(tokens.saturating_mul(price))))
    }

    /// The most a call can cost: whether something goes into a cache is not known beforehand.
    pub fn ceiling(&self, usage: &TokenUsage) -> Cost {
        Self { input: self.input.max(self.stored), ..*self }.of(usage)
    }
}

/// A model's whole answer to one question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelAnswer {
    /// What it said, reasoning and calls taken out.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// What it thought, where it shows that.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reasoning: String,
    /// The tools it wants called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
    /// Why it stopped.
    #[serde(default, skip_serializing_if = "FinishReason::is_stop")]
    pub finish: FinishReason,
    /// What the provider said when it withheld the rest.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub withheld: String,
    /// What it used.
    #[serde(default)]
    pub usage: TokenUsage,
    /// Parts only the model that wrote them understands (thought signatures), to be given back to it unread.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opaque: Vec<Value>,
    /// The model that answered, where another was asked first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The model was told of its tools in words, so it writes its calls as text. Otherwise calls are in `calls` and
    /// nowhere else, whatever the text says.
    #[serde(default, skip_serializing_if = "is_false")]
    pub writes_calls: bool,
    /// What was asked of it and could not be passed on, for the user: a picture, a wish that it think.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub omitted: Vec<String>,
}

/// The result of one call, as a model is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call's id.
    pub call: String,
    /// The tool's name.
    pub name: String,
    /// What it gave, cut to size.
    pub text: String,
    /// Whether this is an error the model should react to.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_error: bool,
}

/// One message of a conversation after the system prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// What the model is told.
    User(Arc<str>),
    /// What the model said.
    Assistant(Arc<ModelAnswer>),
    /// The results of all calls of the answer before.
    Results(Vec<ToolResult>),
    /// What the model is shown.
    Pictures(Arc<[Picture]>),
}

/// A picture as a model is shown it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// The file it came from.
    pub name: String,
    /// What it is, such as `image/png`.
    pub mime: String,
    /// Its bytes.
    pub bytes: Arc<[u8]>,
}

/// A tool as a model sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: Value,
}
