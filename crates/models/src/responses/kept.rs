//! What is kept of an answer beside its words and calls, each with its place, to be given back unread.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use updraft_run::Answer;

/// Something that is kept.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kept<'a> {
    /// An item of reasoning as it came.
    Item(&'a Value),
    /// What the words from here on are: comments on the way, or the answer.
    Phase(&'a str),
}

/// How much of the answer stood before.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Place {
    /// Bytes of text.
    pub(super) text: usize,
    pub(super) calls: usize,
}

/// The form in which it is kept.
pub(super) fn keep(own: &str, place: Place, kept: Kept<'_>) -> Option<Value> {
    serde_json::to_value(Whole { of: own, place, kept }).ok()
}

#[derive(Serialize)]
struct Whole<'a> {
    of: &'a str,
    #[serde(flatten)]
    place: Place,
    #[serde(flatten)]
    kept: Kept<'a>,
}

/// What was kept of this model's own answers, in order.
pub(super) fn kept_in<'a>(answer: &'a Answer, own: &str) -> impl Iterator<Item = (Place, Kept<'a>)> {
    answer.opaque.iter().filter(move |part| part["of"] == own).filter_map(|part| {
        let place = Place::deserialize(part).ok()?;
        let item = part.get("item").filter(|item| item.is_object()).map(Kept::Item);
        let kept = item.or_else(|| part.get("phase").and_then(Value::as_str).map(Kept::Phase))?;
        Some((place, kept))
    })
}
