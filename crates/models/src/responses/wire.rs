//! The types of OpenAI's Responses API. Text is borrowed from the input.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::counts::{count, counts};
use crate::text::LenientText;

/// One event of a stream.
#[derive(Deserialize)]
pub(super) struct ResponsesEvent<'a> {
    #[serde(rename = "type", default, borrow)]
    pub(super) kind: LenientText<'a>,
    #[serde(default)]
    pub(super) output_index: usize,
    #[serde(default, borrow)]
    pub(super) delta: LenientText<'a>,
    #[serde(default, borrow)]
    pub(super) arguments: LenientText<'a>,
    #[serde(default, borrow)]
    pub(super) item: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) response: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) error: Option<ResponsesError<'a>>,
    #[serde(default, borrow)]
    pub(super) code: LenientText<'a>,
    #[serde(default, borrow)]
    pub(super) message: LenientText<'a>,
    /// Part of a whole response.
    #[serde(default, borrow)]
    pub(super) object: LenientText<'a>,
}

/// A whole response; at the end of a stream only its new fields are used.
#[derive(Deserialize)]
pub(super) struct WholeResponse<'a> {
    #[serde(default, borrow)]
    pub(super) status: LenientText<'a>,
    #[serde(default, borrow)]
    pub(super) output: Vec<&'a RawValue>,
    #[serde(default, deserialize_with = "counts")]
    pub(super) usage: Option<ResponsesUsage>,
    #[serde(default, borrow)]
    pub(super) error: Option<ResponsesError<'a>>,
    #[serde(default, borrow)]
    pub(super) incomplete_details: Option<IncompleteDetails<'a>>,
}

#[derive(Deserialize)]
pub(super) struct IncompleteDetails<'a> {
    #[serde(default, borrow)]
    pub(super) reason: LenientText<'a>,
}

#[derive(Deserialize)]
pub(super) struct ResponsesError<'a> {
    #[serde(rename = "type", default, borrow)]
    pub(super) kind: LenientText<'a>,
    #[serde(default, borrow)]
    pub(super) code: LenientText<'a>,
    #[serde(default, borrow)]
    pub(super) message: LenientText<'a>,
}

/// An output item: a message, a call or reasoning.
#[derive(Deserialize)]
pub(super) struct OutputItem<'a> {
    #[serde(rename = "type", default, borrow)]
    pub(super) kind: LenientText<'a>,
    #[serde(default, borrow)]
    pub(super) call_id: LenientText<'a>,
    #[serde(default, borrow)]
    pub(super) name: LenientText<'a>,
    #[serde(default, borrow)]
    pub(super) arguments: LenientText<'a>,
    #[serde(default, borrow)]
    pub(super) phase: LenientText<'a>,
    #[serde(default, borrow)]
    pub(super) encrypted_content: LenientText<'a>,
    #[serde(default, borrow)]
    pub(super) content: Option<Vec<OutputContent<'a>>>,
    #[serde(default, borrow)]
    pub(super) summary: Option<Vec<OutputContent<'a>>>,
}

#[derive(Deserialize)]
pub(super) struct OutputContent<'a> {
    #[serde(default, borrow)]
    pub(super) text: LenientText<'a>,
    #[serde(default, borrow)]
    pub(super) refusal: LenientText<'a>,
}

#[derive(Deserialize)]
pub(super) struct ResponsesUsage {
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
