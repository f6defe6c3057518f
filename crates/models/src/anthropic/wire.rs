//! What Anthropic sends, read where it lies: text is borrowed unless it holds escapes.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::counts::{count, counts};
use crate::text::Text;

/// One event of a stream; a whole answer is read as one too.
#[derive(Deserialize)]
pub(super) struct Event<'a> {
    #[serde(rename = "type", default, borrow)]
    pub(super) kind: Text<'a>,
    #[serde(default)]
    pub(super) index: usize,
    #[serde(default)]
    pub(super) message: Option<Start>,
    #[serde(default, borrow)]
    pub(super) content_block: Option<Block<'a>>,
    #[serde(default, borrow)]
    pub(super) delta: Option<Delta<'a>>,
    #[serde(default, deserialize_with = "counts")]
    pub(super) usage: Option<Used>,
    #[serde(default, borrow)]
    pub(super) error: Option<&'a RawValue>,
    /// Of a whole answer.
    #[serde(default, borrow)]
    pub(super) content: Vec<Block<'a>>,
    /// Of a whole answer.
    #[serde(default, borrow)]
    pub(super) stop_reason: Text<'a>,
}

#[derive(Deserialize)]
pub(super) struct Start {
    #[serde(default, deserialize_with = "counts")]
    pub(super) usage: Option<Used>,
}

/// A block as it begins, or the whole of it.
#[derive(Deserialize)]
pub(super) struct Block<'a> {
    #[serde(rename = "type", default, borrow)]
    pub(super) kind: Text<'a>,
    #[serde(default, borrow)]
    pub(super) text: Text<'a>,
    #[serde(default, borrow)]
    pub(super) thinking: Text<'a>,
    #[serde(default, borrow)]
    pub(super) signature: Text<'a>,
    #[serde(default, borrow)]
    pub(super) data: Text<'a>,
    #[serde(default, borrow)]
    pub(super) id: Text<'a>,
    #[serde(default, borrow)]
    pub(super) name: Text<'a>,
    #[serde(default)]
    pub(super) input: Option<Value>,
}

/// More of a block, or what is known at the end.
#[derive(Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(default, borrow)]
    pub(super) text: Text<'a>,
    #[serde(default, borrow)]
    pub(super) thinking: Text<'a>,
    #[serde(default, borrow)]
    pub(super) signature: Text<'a>,
    #[serde(default, borrow)]
    pub(super) partial_json: Text<'a>,
    #[serde(default, borrow)]
    pub(super) stop_reason: Text<'a>,
}

/// Figures so far; later ones take the place of earlier ones.
#[derive(Default, Deserialize)]
pub(super) struct Used {
    #[serde(default, deserialize_with = "count")]
    pub(super) input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    pub(super) output_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    pub(super) cache_creation_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    pub(super) cache_read_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "counts")]
    pub(super) output_tokens_details: Option<Details>,
}

#[derive(Default, Deserialize)]
pub(super) struct Details {
    #[serde(default, deserialize_with = "count")]
    pub(super) thinking_tokens: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct Fault<'a> {
    #[serde(rename = "type", default, borrow)]
    pub(super) kind: Text<'a>,
    #[serde(default, borrow)]
    pub(super) message: Text<'a>,
}
