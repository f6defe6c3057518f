//! Parts of an answer besides its text and calls, stored with their position to be sent back unchanged.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use updraft_run::ModelAnswer;

/// A stored part.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SavedItem<'a> {
    /// A reasoning item as received.
    Item(&'a Value),
    /// The phase of the text from here on: commentary, or the answer.
    Phase(&'a str),
}

/// How much of the answer came before.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct SavedItemPlace {
    /// Bytes of text.
    pub(super) text: usize,
    pub(super) calls: usize,
}

/// The stored form.
pub(super) fn keep(own: &str, place: SavedItemPlace, kept: SavedItem<'_>) -> Option<Value> {
    serde_json::to_value(SavedItemRecord { of: own, place, kept }).ok()
}

#[derive(Serialize)]
struct SavedItemRecord<'a> {
    of: &'a str,
    #[serde(flatten)]
    place: SavedItemPlace,
    #[serde(flatten)]
    kept: SavedItem<'a>,
}

/// The stored parts of an answer that belong to this model, in order.
pub(super) fn kept_in<'a>(answer: &'a ModelAnswer, own: &str) -> impl Iterator<Item = (SavedItemPlace, SavedItem<'a>)> {
    answer.opaque.iter().filter(move |part| part["of"] == own).filter_map(|part| {
        let place = SavedItemPlace::deserialize(part).ok()?;
        let item = part.get("item").filter(|item| item.is_object()).map(SavedItem::Item);
        let kept = item.or_else(|| part.get("phase").and_then(Value::as_str).map(SavedItem::Phase))?;
        Some((place, kept))
    })
}
