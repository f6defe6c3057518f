//! What a successful response of a model's server contains, judged by its headers.

use reqwest::Response;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderValue};

use crate::refusal;

/// The content of a successful response, according to its headers.
pub(crate) enum ResponseContent {
    Parts,
    Whole,
    Page,
    /// Compressed in a way that was not requested.
    Packed(String),
}

/// What a response contains.
pub(crate) fn content_type(response: &Response) -> ResponseContent {
    let header = |name| response.headers().get(name).map(HeaderValue::as_bytes).unwrap_or_default();
    let (packed, value) = (header(CONTENT_ENCODING), header(CONTENT_TYPE));
    if !packed.is_empty() && !packed.eq_ignore_ascii_case(b"identity") {
        ResponseContent::Packed(refusal::shorten(&String::from_utf8_lossy(packed)))
    } else if value.starts_with(b"application/json") {
        ResponseContent::Whole
    } else if value.starts_with(b"text/html") {
        ResponseContent::Page
    } else {
        ResponseContent::Parts
    }
}
