//! Limits strings and lists in schemas, so that an answer can be completed.
//!
//! Small models repeat themselves, and an answer that is truncated at the limit on output is not valid JSON. If the
//! schema ends a string before that limit is reached, the rest of the object still follows.

use serde_json::{Map, Value, json};

/// Maximum characters of a string if the schema sets no limit.
const LONGEST_STRING: u64 = 400;
/// The same for a string that is a whole text. llama.cpp's grammars allow no more than 2,000.
const LONGEST_TEXT: u64 = 1_900;
/// Limits on strings are never lower than this: there must be room for some content.
const SHORTEST: u64 = 24;
/// Maximum number of list elements if the schema sets no limit.
const LONGEST_LIST: u64 = 64;
/// Deeper levels of a schema are not changed.
const DEEPEST: usize = 32;

/// The limits on strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StringBounds {
    /// Characters of a name, a path, a pattern.
    pub(super) string: u64,
    /// Characters of a whole text.
    pub(super) text: u64,
}

impl StringBounds {
    /// Limits that fit into an answer of this many tokens. Ordinary text has four characters per token; what small
    /// models repeat has two.
    pub(crate) fn within(tokens: u64) -> Self {
        Self { string: (tokens / 2).clamp(SHORTEST, LONGEST_STRING), text: tokens.clamp(SHORTEST, LONGEST_TEXT) }
    }

    /// The schema with a limit on every string and list that has none, or a larger one.
    pub(crate) fn on(self, schema: &Value) -> Value {
        let mut schema = schema.clone();
        self.bound(&mut schema, "", DEEPEST);
        schema
    }

    fn bound(self, schema: &mut Value, name: &str, depth: usize) {
        let (Value::Object(object), Some(depth)) = (schema, depth.checked_sub(1)) else { return };
        if is(object, "string") && ["enum", "const", "format"].iter().all(|word| !object.contains_key(*word)) {
            self.bound_string(object, name);
        }
        if is(object, "array") && !object.contains_key("maxItems") {
            object.insert("maxItems".to_owned(), json!(LONGEST_LIST));
        }
        for (word, inner) in object.iter_mut() {
            match (word.as_str(), inner) {
                ("properties" | "$defs" | "definitions", Value::Object(members)) => {
                    for (name, member) in members {
                        self.bound(member, name, depth);
                    }
                }
                ("items" | "additionalProperties", inner @ Value::Object(_)) => self.bound(inner, name, depth),
                ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(members)) => {
                    for member in members {
                        self.bound(member, name, depth);
                    }
                }
                _ => {}
            }
        }
    }

    fn bound_string(self, object: &mut Map<String, Value>, name: &str) {
        let set = object.get("maxLength").and_then(Value::as_u64);
        // A pattern is kept, because it is the stricter of the two. But llama.cpp applies only one of them, so beside a
        // large `maxLength` nothing would end the string, and the pattern is removed.
        if object.contains_key("pattern") {
            if set.is_none_or(|set| set <= self.text) {
                return;
            }
            object.remove("pattern");
        }
        let limit = if is_text(name) { self.text } else { self.string };
        let least = object.get("minLength").and_then(Value::as_u64).unwrap_or(0);
        object.insert("maxLength".to_owned(), json!(set.map_or(limit, |set| set.min(limit)).max(least)));
    }
}

fn is(object: &Map<String, Value>, kind: &str) -> bool {
    object.get("type").is_some_and(|found| found == kind)
}

/// Whether an argument of this name contains a whole text.
fn is_text(name: &str) -> bool {
    matches!(name, "content" | "text" | "line" | "code" | "answer" | "body" | "old" | "new" | "output")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_end_before_the_answer_is_cut_off() {
        assert_eq!(StringBounds::within(100), StringBounds { string: 50, text: 100 });
        assert_eq!(StringBounds::within(8_192), StringBounds { string: LONGEST_STRING, text: LONGEST_TEXT });
        let schema = json!({"type": "object", "properties": {
            "content": {"type": "string"}, "path": {"type": "string", "maxLength": 10}, "kind": {"type": "string", "enum": ["a"]},
            "tags": {"type": "array", "items": {"type": "string", "minLength": 60}}
        }});
        let bound = StringBounds::within(100).on(&schema);
        let of = |path: &str| bound.pointer(&format!("/properties/{path}/maxLength")).and_then(Value::as_u64);
        assert_eq!((of("content"), of("path"), of("kind"), of("tags/items")), (Some(100), Some(10), None, Some(60)));
        assert_eq!(bound["properties"]["tags"]["maxItems"], LONGEST_LIST);
    }

    #[test]
    fn a_pattern_goes_only_where_its_length_would_not_be_heeded() {
        let bounds = StringBounds::within(1_000);
        let date = json!({"type": "string", "pattern": "^[0-9]{4}$"});
        assert_eq!(bounds.on(&date), date);
        let line = json!({"type": "string", "pattern": "^[^\n]*$", "maxLength": 1_000_000});
        assert_eq!(bounds.on(&line), json!({"type": "string", "maxLength": 400}));
    }
}
