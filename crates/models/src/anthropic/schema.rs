//! Adapts JSON Schemas for answers to what Anthropic accepts.

use serde_json::{Map, Value};

/// Keywords that constrain the form of an answer. The provider refuses other keywords.
const KNOWN: [&str; 14] = [
    "$defs",
    "$ref",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "description",
    "enum",
    "items",
    "pattern",
    "properties",
    "required",
    "title",
    "type",
];

/// The schema that constrains an answer: unsupported keywords are removed, and objects are closed. `None` if that would
/// change the meaning, as for an object with arbitrary members.
pub(super) fn for_answer(schema: &Value) -> Option<Value> {
    let schema = schema.as_object()?;
    let says_what =
        ["type", "anyOf", "oneOf", "allOf", "enum", "const", "$ref"].iter().any(|key| schema.contains_key(*key));
    let is_object = schema.get("type").is_some_and(|kind| kind == "object");
    let names_members = schema.get("properties").and_then(Value::as_object).is_some_and(|all| !all.is_empty());
    let is_open = schema.get("additionalProperties").is_some_and(|more| more != &Value::Bool(false));
    if !says_what || (is_object && !names_members) || is_open {
        return None;
    }
    let mut narrow = Map::new();
    for (key, value) in schema {
        let (key, value) = match key.as_str() {
            "properties" | "$defs" => (key.as_str(), each_member(value)?),
            "anyOf" | "allOf" => (key.as_str(), each(value)?),
            "oneOf" => ("anyOf", each(value)?),
            "items" => ("items", for_answer(value)?),
            known if KNOWN.contains(&known) => (known, value.clone()),
            _ => continue,
        };
        narrow.insert(key.to_owned(), value);
    }
    if is_object {
        narrow.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    Some(Value::Object(narrow))
}

fn each(schemas: &Value) -> Option<Value> {
    schemas.as_array()?.iter().map(for_answer).collect::<Option<Vec<_>>>().map(Value::Array)
}

fn each_member(schemas: &Value) -> Option<Value> {
    let all = schemas.as_object()?.iter().map(|(name, schema)| Some((name.clone(), for_answer(schema)?)));
    all.collect::<Option<Map<_, _>>>().map(Value::Object)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_are_closed_and_unknown_keywords_left_out() {
        let schema = json!({
            "$schema": "x", "type": "object", "required": ["n"],
            "properties": {
                "n": {"type": "integer", "minimum": 1},
                "maximum": {"oneOf": [{"type": "string", "maxLength": 3}, {"enum": [null]}]},
                "list": {"type": "array", "items": {"$ref": "#/$defs/one"}, "maxItems": 3},
            },
            "$defs": {"one": {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false}},
        });
        let expected = json!({
            "type": "object", "required": ["n"], "additionalProperties": false,
            "properties": {
                "n": {"type": "integer"},
                "maximum": {"anyOf": [{"type": "string"}, {"enum": [null]}]},
                "list": {"type": "array", "items": {"$ref": "#/$defs/one"}},
            },
            "$defs": {"one": {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false}},
        });
        assert_eq!(for_answer(&schema), Some(expected));
    }

    #[test]
    fn a_schema_that_leaves_something_open_holds_no_answer() {
        for open in [
            json!({"type": "object"}),
            json!({"type": "object", "properties": {"a": {}}}),
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": true}),
            json!({"type": "array", "items": {"type": "object"}}),
            json!(true),
        ] {
            assert_eq!(for_answer(&open), None, "{open}");
        }
    }
}
