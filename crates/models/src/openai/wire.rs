//! The types of Chat Completions responses. Text is borrowed from the input unless it contains escapes.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::counts::{count, counts};
pub(super) use crate::text::LenientText;

/// One event of a stream; a whole answer has the same shape, with `message` in place of `delta`.
#[derive(Deserialize)]
pub(super) struct ChatChunk<'a> {
    #[serde(default, borrow)]
    pub(super) choices: Option<Vec<ChatChoice<'a>>>,
    #[serde(default, deserialize_with = "counts")]
    pub(super) usage: Option<ChatUsage>,
    #[serde(default, borrow)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct ChatChoice<'a> {
    #[serde(default)]
    pub(super) index: Option<u32>,
    #[serde(default, borrow)]
    pub(super) delta: Option<ChatDelta<'a>>,
    #[serde(default, borrow)]
    pub(super) message: Option<ChatDelta<'a>>,
    #[serde(default, borrow)]
    pub(super) finish_reason: LenientText<'a>,
}

/// A part of the model's message.
#[derive(Deserialize)]
pub(super) struct ChatDelta<'a> {
    #[serde(default, borrow)]
    pub(super) content: LenientText<'a>,
    #[serde(default, borrow)]
    pub(super) refusal: LenientText<'a>,
    /// The name used by DeepSeek, llama.cpp and vLLM.
    #[serde(default, borrow)]
    pub(super) reasoning_content: LenientText<'a>,
    /// The name used by OpenRouter and Ollama.
    #[serde(default, borrow)]
    pub(super) reasoning: LenientText<'a>,
    #[serde(default, borrow)]
    pub(super) tool_calls: Option<Vec<CallPart<'a>>>,
}

#[derive(Deserialize)]
pub(super) struct CallPart<'a> {
    #[serde(default)]
    pub(super) index: Option<usize>,
    #[serde(default, borrow)]
    pub(super) id: LenientText<'a>,
    #[serde(default, borrow)]
    pub(super) function: Option<FunctionPart<'a>>,
}

#[derive(Deserialize)]
pub(super) struct FunctionPart<'a> {
    #[serde(default, borrow)]
    pub(super) name: LenientText<'a>,
    #[serde(default, borrow)]
    pub(super) arguments: LenientText<'a>,
}

#[derive(Deserialize)]
pub(super) struct ChatUsage {
    #[serde(default, deserialize_with = "count")]
    pub(super) prompt_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    pub(super) completion_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    pub(super) total_tokens: Option<u64>,
    #[serde(default, deserialize_with = "counts")]
    pub(super) prompt_tokens_details: Option<PromptDetails>,
    #[serde(default, deserialize_with = "counts")]
    pub(super) completion_tokens_details: Option<CompletionDetails>,
}

#[derive(Deserialize)]
pub(super) struct PromptDetails {
    #[serde(default, deserialize_with = "count")]
    pub(super) cached_tokens: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct CompletionDetails {
    #[serde(default, deserialize_with = "count")]
    pub(super) reasoning_tokens: Option<u64>,
}
