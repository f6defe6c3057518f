//! The types of Anthropic's responses. Text is borrowed from the input unless it contains escapes.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::counts::{count, counts};
use crate::text::LenientText;

/// One event of a stream; a whole answer is parsed as one too.
#[derive(Deserialize)]
pub(super) struct AnthropicEvent<'a> {
    #[serde(rename = "type", default, borrow)]
    pub(super) kind: LenientText<'a>,
    #[serde(default)]
    pub(super) index: usize,
    #[serde(default)]
    pub(super) message: Option<MessageStart>,
    #[serde(default, borrow)]
    pub(super) content_block: Option<AnthropicBlock<'a>>,
    #[serde(default, borrow)]
    pub(super) delta: Option<AnthropicDelta<'a>>,
    #[serde(default, deserialize_with = "counts")]
    pub(super) usage: Option<AnthropicUsage>,
    #[serde(default, borrow)]
    pub(super) error: Option<&'a RawValue>,
    /// Part of a whole answer.
    #[serde(default, borrow)]
    pub(super) content: Vec<AnthropicBlock<'a>>,
    /// Part of a whole answer.
    #[serde(default, borrow)]
    pub(super) stop_reason: LenientText<'a>,
}

#[derive(Deserialize)]
pub(super) struct MessageStart {
    #[serde(default, deserialize_with = "counts")]
    pub(super) usage: Option<AnthropicUsage>,
}

/// The beginning of a block, or a whole block.
#[derive(Deserialize)]
pub(super) struct AnthropicBlock<'a> {
    #[serde(rename = "type", default, borrow)]
    pub(super) kind: LenientText<'a>,
    #[serde(default, borrow)]
    pub(super) text: LenientText<'a>,
    #[serde(default, borrow)]
    pub(super) thinking: LenientText<'a>,
    #[serde(default, borrow)]
    pub(super) signature: LenientText<'a>,
    #[serde(default, borrow)]
    pub(super) data: LenientText<'a>,
    #[serde(default, borrow)]
    pub(super) id: LenientText<'a>,
    #[serde(default, borrow)]
    pub(super) name: LenientText<'a>,
    #[serde(default)]
    pub(super) input: Option<Value>,
}

/// The continuation of a block, or the data at the end of the answer.
#[derive(Deserialize)]
pub(super) struct AnthropicDelta<'a> {
    #[serde(default, borrow)]
    pub(super) text: LenientText<'a>,
    #[serde(default, borrow)]
    pub(super) thinking: LenientText<'a>,
    #[serde(default, borrow)]
    pub(super) signature: LenientText<'a>,
    #[serde(default, borrow)]
    pub(super) partial_json: LenientText<'a>,
    #[serde(default, borrow)]
    pub(super) stop_reason: LenientText<'a>,
}

/// Token counts so far; later counts replace earlier ones.
#[derive(Default, Deserialize)]
pub(super) struct AnthropicUsage {
    #[serde(default, deserialize_with = "count")]
    pub(super) input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    pub(super) output_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    pub(super) cache_creation_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    pub(super) cache_read_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "counts")]
    pub(super) output_tokens_details: Option<ThinkingDetails>,
}

#[derive(Default, Deserialize)]
pub(super) struct ThinkingDetails {
    #[serde(default, deserialize_with = "count")]
    pub(super) thinking_tokens: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct AnthropicError<'a> {
    #[serde(rename = "type", default, borrow)]
    pub(super) kind: LenientText<'a>,
    #[serde(default, borrow)]
    pub(super) message: LenientText<'a>,
}
