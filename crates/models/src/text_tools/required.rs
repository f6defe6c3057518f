//! The required arguments of a call, which are all that a model with a small context window is told about.

use serde_json::{Map, Value, json};

/// Whether an argument is needed. If none is required, the first string is the tool's main argument.
pub(super) fn is_needed(name: &str, schema: &Value) -> bool {
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if !required.is_empty() {
        return required.contains(&name);
    }
    let Some(properties) = schema["properties"].as_object() else { return false };
    let first_text = properties.iter().find(|(_, inner)| inner["type"] == "string");
    first_text.or_else(|| properties.iter().next()).is_some_and(|(first, _)| first == name)
}

/// The schema without optional arguments. Names and paths must not be empty.
pub(super) fn needed(schema: &Value) -> Value {
    let Some(properties) = schema["properties"].as_object() else { return schema.clone() };
    let mut kept: Map<String, Value> = properties.clone();
    kept.retain(|name, _| is_needed(name, schema));
    for (name, inner) in &mut kept {
        let is_place =
            matches!(name.as_str(), "path" | "file" | "dir" | "folder" | "pattern" | "query" | "url" | "name");
        if let Some(inner) = inner.as_object_mut().filter(|_| is_place)
            && inner.get("type").is_some_and(|kind| kind == "string")
        {
            inner.entry("minLength").or_insert_with(|| json!(1));
        }
    }
    let mut schema = schema.clone();
    schema["properties"] = Value::Object(kept);
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_left_out_is() {
        let schema = json!({"type": "object", "required": ["path"], "additionalProperties": false, "properties": {
            "path": {"type": "string"}, "start": {"type": "integer"}
        }});
        assert_eq!(needed(&schema)["properties"], json!({"path": {"type": "string", "minLength": 1}}));
        let optional = json!({"properties": {"limit": {"type": "integer"}, "under": {"type": "string"}}});
        assert_eq!(needed(&optional)["properties"], json!({"under": {"type": "string"}}));
        assert_eq!(needed(&json!({"type": "object"})), json!({"type": "object"}));
    }
}
