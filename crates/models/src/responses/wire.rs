//! What OpenAI sends as responses, read where it lies.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::counts::{count, counts};
use crate::text::Text;

/// One event of a stream.
#[derive(Deserialize)]
pub(super) struct Event<'a> {
    #[serde(rename = "type", default, borrow)]
    pub(super) kind: Text<'a>,
    #[serde(default)]
    pub(super) output_index: usize,
    #[serde(default, borrow)]
    pub(super) delta: Text<'a>,
    #[serde(default, borrow)]
    pub(super) arguments: Text<'a>,
    #[serde(default, borrow)]
    pub(super) item: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) response: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) error: Option<Fault<'a>>,
    #[serde(default, borrow)]
    pub(super) code: Text<'a>,
    #[serde(default, borrow)]
    pub(super) message: Text<'a>,
    /// Of a whole response.
    #[serde(default, borrow)]
    pub(super) object: Text<'a>,
}

/// A whole response; at the end of a stream only what is new in it is looked at.
#[derive(Deserialize)]
pub(super) struct Response<'a> {
    #[serde(default, borrow)]
    pub(super) status: Text<'a>,
    #[serde(default, borrow)]
    pub(super) output: Vec<&'a RawValue>,
    #[serde(default, deserialize_with = "counts")]
    pub(super) usage: Option<Used>,
    #[serde(default, borrow)]
    pub(super) error: Option<Fault<'a>>,
    #[serde(default, borrow)]
    pub(super) incomplete_details: Option<Why<'a>>,
}

#[derive(Deserialize)]
pub(super) struct Why<'a> {
    #[serde(default, borrow)]
    pub(super) reason: Text<'a>,
}

#[derive(Deserialize)]
pub(super) struct Fault<'a> {
    #[serde(rename = "type", default, borrow)]
    pub(super) kind: Text<'a>,
    #[serde(default, borrow)]
    pub(super) code: Text<'a>,
    #[serde(default, borrow)]
    pub(super) message: Text<'a>,
}

/// A part of what the model gives: a message, a call, what it thought.
#[derive(Deserialize)]
pub(super) struct Item<'a> {
    #[serde(rename = "type", default, borrow)]
    pub(super) kind: Text<'a>,
    #[serde(default, borrow)]
    pub(super) call_id: Text<'a>,
    #[serde(default, borrow)]
    pub(super) name: Text<'a>,
    #[serde(default, borrow)]
    pub(super) arguments: Text<'a>,
    #[serde(default, borrow)]
    pub(super) phase: Text<'a>,
    #[serde(default, borrow)]
    pub(super) encrypted_content: Text<'a>,
    #[serde(default, borrow)]
    pub(super) content: Option<Vec<Content<'a>>>,
    #[serde(default, borrow)]
    pub(super) summary: Option<Vec<Content<'a>>>,
}

#[derive(Deserialize)]
pub(super) struct Content<'a> {
    #[serde(default, borrow)]
    pub(super) text: Text<'a>,
    #[serde(default, borrow)]
    pub(super) refusal: Text<'a>,
}

#[derive(Deserialize)]
pub(super) struct Used {
    #[serde(default, deserialize_with = "count")]
    pub(super) input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    pub(super) output_tokens: Option<u64>,
    #[serde(default, deserialize_with = "counts")]
    pub(super) input_tokens_details: Option<InputDetails>,
    #[serde(default, deserialize_with = "counts")]
    pub(super) output_tokens_details: Option<OutputDetails>,
}

#[derive(Default, Deserialize)]
pub(super) struct InputDetails {
    #[serde(default, deserialize_with = "count")]
    pub(super) cached_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    pub(super) cache_write_tokens: Option<u64>,
}

#[derive(Default, Deserialize)]
pub(super) struct OutputDetails {
    #[serde(default, deserialize_with = "count")]
    pub(super) reasoning_tokens: Option<u64>,
}
