//! The types of Gemini's responses. Text is borrowed from the input unless it contains escapes.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::counts::{count, counts};
use crate::text::LenientText;

/// One event of a stream; a whole answer has the same shape.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GeminiChunk<'a> {
    #[serde(default, borrow)]
    pub(super) candidates: Option<Vec<Candidate<'a>>>,
    #[serde(default, deserialize_with = "counts")]
    pub(super) usage_metadata: Option<GeminiUsage>,
    #[serde(default, borrow)]
    pub(super) prompt_feedback: Option<PromptFeedback<'a>>,
    #[serde(default, borrow)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PromptFeedback<'a> {
    #[serde(default, borrow)]
    pub(super) block_reason: LenientText<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Candidate<'a> {
    #[serde(default)]
    pub(super) index: Option<u32>,
    #[serde(default, borrow)]
    pub(super) content: Option<GeminiReplyContent<'a>>,
    #[serde(default, borrow)]
    pub(super) finish_reason: LenientText<'a>,
    #[serde(default, borrow)]
    pub(super) finish_message: LenientText<'a>,
}

#[derive(Deserialize)]
pub(super) struct GeminiReplyContent<'a> {
    #[serde(default, borrow)]
    pub(super) parts: Option<Vec<GeminiReplyPart<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GeminiReplyPart<'a> {
    #[serde(default, borrow)]
    pub(super) text: LenientText<'a>,
    /// Whether the text is a thought.
    #[serde(default)]
    pub(super) thought: Option<bool>,
    #[serde(default, borrow)]
    pub(super) thought_signature: LenientText<'a>,
    #[serde(default, borrow)]
    pub(super) function_call: Option<GeminiReplyCall<'a>>,
}

#[derive(Deserialize)]
pub(super) struct GeminiReplyCall<'a> {
    #[serde(default, borrow)]
    pub(super) id: LenientText<'a>,
    #[serde(default, borrow)]
    pub(super) name: LenientText<'a>,
    #[serde(default)]
    pub(super) args: Value,
}

/// Token counts; counts that an event leaves out keep their earlier value.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GeminiUsage {
    #[serde(default, deserialize_with = "count")]
    pub(super) prompt_token_count: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    pub(super) tool_use_prompt_token_count: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    pub(super) cached_content_token_count: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    pub(super) candidates_token_count: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    pub(super) thoughts_token_count: Option<u64>,
    #[serde(default, deserialize_with = "counts")]
    pub(super) prompt_tokens_details: Option<Vec<ModalityTokens>>,
}

/// Tokens of one kind of input.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ModalityTokens {
    #[serde(default)]
    pub(super) modality: Option<Modality>,
    #[serde(default, deserialize_with = "count")]
    pub(super) token_count: Option<u64>,
}

/// The kind of tokens, as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum Modality {
    Image,
    #[serde(other)]
    Other,
}
