//! The required arguments of a call, which are all that a model with a small context window is told about.

use serde_json::{Map, Value, json};
use updraft_run::ToolSpec;

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

/// What else a model with a small context window must be able to write: arguments that a tool has in place of others, or that
/// it asks for when a result was cut.
const KEPT: [(&str, &[&str], &[&str]); 2] =
    [("edit_file", &["path", "old", "new"], &["replace_all"]), ("read_file", &["path"], &["offset"])];

/// A tool's schema without optional arguments. Names and paths must not be empty.
pub(super) fn needed(tool: &ToolSpec) -> Value {
    let mut schema = tool.parameters.clone();
    let kept = KEPT.iter().find(|(name, ..)| *name == tool.name).map_or(&[][..], |(_, required, optional)| {
        schema["required"] = json!(required);
        optional
    });
    let Some(properties) = schema["properties"].as_object() else { return schema };
    let mut left: Map<String, Value> = properties.clone();
    left.retain(|name, _| is_needed(name, &schema) || kept.contains(&name.as_str()));
    for (name, inner) in &mut left {
        let is_place =
            matches!(name.as_str(), "path" | "file" | "dir" | "folder" | "pattern" | "query" | "url" | "name");
        if let Some(inner) = inner.as_object_mut().filter(|_| is_place)
            && inner.get("type").is_some_and(|kind| kind == "string")
        {
            inner.entry("minLength").or_insert_with(|| json!(1));
        }
    }
    schema["properties"] = Value::Object(left);
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
        let needed = |name: &str, schema: &Value| {
            needed(&ToolSpec { name: name.into(), description: String::new(), parameters: schema.clone() })
        };
        assert_eq!(needed("t", &schema)["properties"], json!({"path": {"type": "string", "minLength": 1}}));
        let optional = json!({"properties": {"limit": {"type": "integer"}, "under": {"type": "string"}}});
        assert_eq!(needed("t", &optional)["properties"], json!({"under": {"type": "string"}}));
        assert_eq!(needed("t", &json!({"type": "object"})), json!({"type": "object"}));
        let edit = json!({"required": ["path"], "properties": {"path": {}, "old": {}, "new": {}, "edits": {}}});
        assert_eq!(needed("edit_file", &edit)["required"], json!(["path", "old", "new"]));
        assert!(needed("edit_file", &edit)["properties"]["edits"].is_null());
    }
}
