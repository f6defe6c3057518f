//! The names of fields. A2A's messages are Protocol Buffers written as JSON: `messageId`, and readers also take `message_id`.

use serde_json::{Map, Value};

/// Fields whose content is the sender's own, whatever names it has.
const OPAQUE: [&str; 2] = ["data", "metadata"];

/// The same with names as JSON has them. If both forms are there, the usual one counts.
pub(super) fn with_json_names(value: Value) -> Value {
    let fields = match value {
        Value::Object(fields) => fields,
        Value::Array(items) => return Value::Array(items.into_iter().map(with_json_names).collect()),
        other => return other,
    };
    let (usual, others): (Vec<_>, Vec<_>) = fields.into_iter().partition(|(name, _)| !name.contains('_'));
    let mut named = Map::new();
    for (name, value) in usual.into_iter().chain(others) {
        let value = if OPAQUE.contains(&name.as_str()) { value } else { with_json_names(value) };
        named.entry(json_name(&name)).or_insert(value);
    }
    Value::Object(named)
}

/// `message_id` as `messageId`.
fn json_name(name: &str) -> String {
    let mut words = name.split('_');
    let mut made = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        made.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        made.push_str(letters.as_str());
    }
    made
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_names_of_a_field_are_read_and_what_the_sender_made_stays() {
        let sent = json!({ "message": { "message_id": "m", "parts": [{ "text": "x_y", "media_type": "text/plain" },
            { "data": { "a_b": 1 } }], "metadata": { "c_d": 2 } }, "task_id": "old", "taskId": "t" });
        let read = json!({ "message": { "messageId": "m", "parts": [{ "text": "x_y", "mediaType": "text/plain" },
            { "data": { "a_b": 1 } }], "metadata": { "c_d": 2 } }, "taskId": "t" });
        assert_eq!(with_json_names(sent), read);
    }
}
