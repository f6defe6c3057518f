//! The messages exchanged with a model, independent of any provider's format.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::{Cost, Millis};

/// A tool call as a model asked for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's id for the call, sent back with the result.
    pub id: String,
    /// The tool's name, as the model wrote it.
    pub name: String,
    /// The arguments; an empty object where the model gave none.
    #[serde(default)]
    pub args: Value,
    /// What was wrong with the arguments' text, if it could not be read safely.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FinishReason {
    /// It was finished.
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
    /// The cost; absent if the price is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// The price that the cost was computed with, so that the cost never changes later.
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
    /// A price in dollars per million tokens. Cached and stored tokens cost as much as other input tokens unless a
    /// price is given for them.
    pub fn per_million(input: f64, output: f64, cached: Option<f64>, stored: Option<f64>) -> Self {
        let nano = |dollars: f64| (dollars * 1_000.0).round().max(0.0) as u64;
        let (cached, stored) = (cached.unwrap_or(input), stored.unwrap_or(input));
        Self { input: nano(input), output: nano(output), cached: nano(cached), stored: nano(stored) }
    }

    /// The cost of a call.
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

    /// The most a call can cost. Whether tokens will be stored in a cache is not known beforehand, so the higher price
    /// counts.
    pub fn ceiling(&self, usage: &TokenUsage) -> Cost {
        Self { input: self.input.max(self.stored), ..*self }.of(usage)
    }
}

/// A model's whole answer to one question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelAnswer {
    /// Its text, without reasoning and calls.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Its reasoning, if the model shows it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reasoning: String,
    /// The tools it wants called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
    /// Why it stopped.
    #[serde(default, skip_serializing_if = "FinishReason::is_stop")]
    pub finish: FinishReason,
    /// The provider's explanation, if it withheld the rest.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub withheld: String,
    /// What it used.
    #[serde(default)]
    pub usage: TokenUsage,
    /// Parts that only the model that wrote them understands (thought signatures). They are sent back to it unread.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opaque: Vec<Value>,
    /// The model that answered, if another one was asked first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The model was told about its tools in plain text, so it writes its calls as text. Otherwise calls are only in
    /// `calls`, whatever the text says.
    #[serde(default, skip_serializing_if = "is_false")]
    pub writes_calls: bool,
    /// What could not be passed on to the model, for the user to know: a picture, a thinking setting.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub omitted: Vec<String>,
    /// How long the question waited before the request that was answered: for a rate limit, or for a server that was
    /// not available. Less than five seconds are not recorded.
    #[serde(default, skip_serializing_if = "is_no_time")]
    pub waited: Millis,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_no_time(time: &Millis) -> bool {
    time.0 == 0
}

/// The result of one call, as the model sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call's id.
    pub call: String,
    /// The tool's name.
    pub name: String,
    /// Its output, cut to size.
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
    /// Pictures the model is shown.
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
