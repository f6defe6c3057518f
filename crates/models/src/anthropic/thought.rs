//! Thoughts of a model, kept between requests so that they can be sent back unchanged and in their place.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use updraft_run::ModelAnswer;

/// A thought in the form that the provider accepts.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ThoughtBlock<'a> {
    Thinking { thinking: &'a str, signature: &'a str },
    RedactedThinking { data: &'a str },
}

/// How much of the answer came before a thought.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ThoughtPlace {
    /// Bytes of text.
    pub(super) text: usize,
    pub(super) calls: usize,
}

/// The stored form of a thought.
pub(super) fn kept(own: &str, place: ThoughtPlace, thought: &ThoughtBlock<'_>) -> Value {
    json!({ "of": own, "text": place.text, "calls": place.calls, "block": thought })
}

/// The thoughts of an answer that belong to this model, in order.
pub(super) fn thoughts_of<'a>(
    answer: &'a ModelAnswer,
    own: &str,
) -> impl Iterator<Item = (ThoughtPlace, ThoughtBlock<'a>)> {
    let kept = answer.opaque.iter().filter_map(|part| SavedThought::deserialize(part).ok());
    kept.filter(move |kept| kept.of == own).filter_map(|kept| {
        let thought = match kept.block {
            SavedBlock { thinking: Some(thinking), signature: Some(signature), .. } => {
                ThoughtBlock::Thinking { thinking, signature }
            }
            SavedBlock { data: Some(data), .. } => ThoughtBlock::RedactedThinking { data },
            SavedBlock { .. } => return None,
        };
        Some((ThoughtPlace { text: kept.text, calls: kept.calls }, thought))
    })
}

#[derive(Deserialize)]
struct SavedThought<'a> {
    of: &'a str,
    text: usize,
    calls: usize,
    #[serde(borrow)]
    block: SavedBlock<'a>,
}

#[derive(Deserialize)]
struct SavedBlock<'a> {
    thinking: Option<&'a str>,
    signature: Option<&'a str>,
    data: Option<&'a str>,
}
