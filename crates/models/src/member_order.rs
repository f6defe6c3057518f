//! JSON with the members of objects in the order in which a schema requires them, instead of the alphabet's.
//!
//! A constrained model writes its members in the order of the schema, and a small one in the order of the example: a file's
//! path before its content, the old text before the new one.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::{Map, Value};

/// A schema that is written with its properties in the order of `required`, the others behind them.
pub(crate) struct SchemaInOrder<'a>(pub(crate) &'a Value);

/// A value that is written in the order of the schema behind it.
pub(crate) struct InOrderOf<'a>(pub(crate) &'a Value, pub(crate) &'a Value);

impl Serialize for SchemaInOrder<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(schema) => {
                let mut map = serializer.serialize_map(Some(schema.len()))?;
                for (word, inner) in schema {
                    match inner {
                        Value::Object(members) if word == "properties" => {
                            map.serialize_entry(word, &Members { members, order: self.0 })?;
                        }
                        inner => map.serialize_entry(word, &SchemaInOrder(inner))?,
                    }
                }
                map.end()
            }
            Value::Array(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    list.serialize_element(&SchemaInOrder(item))?;
                }
                list.end()
            }
            plain => plain.serialize(serializer),
        }
    }
}

/// The properties of a schema.
struct Members<'a> {
    members: &'a Map<String, Value>,
    order: &'a Value,
}

impl Serialize for Members<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(in_order(self.members, self.order).map(|(name, inner)| (name, SchemaInOrder(inner))))
    }
}

impl Serialize for InOrderOf<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(value, schema) = self;
        match value {
            Value::Object(members) => serializer.collect_map(
                in_order(members, schema)
                    .map(|(name, inner)| (name, InOrderOf(inner, &schema["properties"][name.as_str()]))),
            ),
            Value::Array(items) => serializer.collect_seq(items.iter().map(|item| InOrderOf(item, &schema["items"]))),
            plain => plain.serialize(serializer),
        }
    }
}

/// The members that the schema requires in its order, then the others.
pub(crate) fn in_order<'a>(
    members: &'a Map<String, Value>,
    schema: &'a Value,
) -> impl Iterator<Item = (&'a String, &'a Value)> {
    let required = || schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let first = required().filter_map(|name| members.get_key_value(name));
    first.chain(members.iter().filter(move |(name, _)| !required().any(|one| one == *name)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_come_as_they_are_required() {
        let schema = json!({"type": "object", "required": ["path", "edits"], "properties": {
            "edits": {"type": "array", "items": {"type": "object", "required": ["old", "new"],
                "properties": {"new": {"type": "string"}, "old": {"type": "string"}, "all": {"type": "boolean"}}}},
            "dry": {"type": "boolean"}, "path": {"type": "string"}
        }});
        let args = json!({"dry": true, "edits": [{"all": false, "new": "b", "old": "a"}], "path": "x", "other": 1});
        let written = serde_json::to_string(&InOrderOf(&args, &schema)).unwrap();
        assert_eq!(written, r#"{"path":"x","edits":[{"old":"a","new":"b","all":false}],"dry":true,"other":1}"#);

        let written = serde_json::to_string(&SchemaInOrder(&schema)).unwrap();
        let at = |word: &str| written.find(word).unwrap();
        assert!(at("\"path\":{") < at("\"edits\":{") && at("\"edits\":{") < at("\"dry\":{"), "{written}");
        assert!(at("\"old\":{") < at("\"new\":{"), "{written}");
        assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), schema);
    }
}
