//! Reads a text that is one JSON object and nothing else.

use serde_json::{Map, Value, json};

use crate::repair::{JsonFault, Repair, repair_with};

/// Reads a text that is one JSON object as a whole. One code fence around it is allowed, prose is not. Broken JSON is
/// repaired, unless the repair would drop words. Returns `None` for any other text.
pub fn whole_object(text: &str) -> Option<Map<String, Value>> {
    let text = without_fence(text.trim_start_matches('\u{feff}').trim());
    if !text.starts_with('{') || !text.ends_with('}') {
        return None;
    }
    let repaired = repair_with(text, Some(&json!({ "type": "object" })))?;
    let leaves_out = |repair: &Repair| {
        matches!(
            repair.what,
            JsonFault::Prose
                | JsonFault::TrailingText
                | JsonFault::SeveralValues
                | JsonFault::StrayText
                | JsonFault::MissingKey
        )
    };
    match repaired.value {
        Value::Object(object) if !repaired.repairs.iter().any(leaves_out) => Some(object),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The content of a code fence, if the text is one fence and nothing else.
fn without_fence(text: &str) -> &str {
    let inside = || {
        let (info, rest) = text.strip_prefix("```")?.split_once('\n')?;
        let inner = rest.strip_suffix("```")?;
        let is_one = !info.contains('`') && inner.ends_with('\n') && !inner.lines().any(|line| line.starts_with("```"));
        is_one.then(|| inner.trim())
    };
    inside().unwrap_or(text)
}
