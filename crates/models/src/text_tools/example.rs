//! Builds a worked example of a tool's arguments from their schema.

use serde_json::{Map, Value, json};

use super::required::is_needed;

/// Deeper values are left out.
const DEEPEST: usize = 6;

/// Plausible arguments: the schema's own examples, or values that fit the names.
pub(crate) fn example_of(schema: &Value) -> Value {
    value_of("", schema, DEEPEST)
}

fn value_of(name: &str, schema: &Value, depth: usize) -> Value {
    let shown = ["/examples/0", "/const", "/default", "/enum/0"].into_iter().find_map(|place| schema.pointer(place));
    if let Some(shown) = shown.filter(|shown| !shown.is_null()) {
        return shown.clone();
    }
    let Some(depth) = depth.checked_sub(1) else { return Value::Null };
    for choice in ["/anyOf/0", "/oneOf/0", "/allOf/0"] {
        if let Some(first) = schema.pointer(choice) {
            return value_of(name, first, depth);
        }
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.first().and_then(Value::as_str),
        kind => kind.as_str(),
    };
    match kind {
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or_else(|| json!(1)),
        Some("boolean") => json!(true),
        Some("array") => json!([value_of(name, &schema["items"], depth)]),
        Some("string") => json!(text_for(name, schema["description"].as_str().unwrap_or_default())),
        _ => match schema["properties"].as_object() {
            Some(properties) => Value::Object(needed(schema, properties, depth)),
            None => json!({}),
        },
    }
}

/// The required members; if none is required, the tool's main argument.
fn needed(schema: &Value, properties: &Map<String, Value>, depth: usize) -> Map<String, Value> {
    let chosen = properties.iter().filter(|(name, _)| is_needed(name, schema));
    chosen.map(|(name, inner)| (name.clone(), value_of(name, inner, depth))).collect()
}

/// A concrete value: models copy what they are shown, and two members of one example must differ.
fn text_for(name: &str, description: &str) -> &'static str {
    match name {
        "path" if description.starts_with("A folder") => "docs",
        "path" | "file" | "file_path" | "filename" | "paths" | "files" => "notes.txt",
        "dir" | "folder" | "directory" | "root" | "under" => "docs",
        "pattern" | "query" | "regex" | "search" | "q" => "TODO",
        "url" | "uri" | "address" => "https://example.com/",
        "command" | "cmd" => "ls",
        "question" => "Which one do you mean?",
        "code" => "print(1 + 1)",
        "old" | "before" | "from" => "yellow",
        "new" | "after" | "to" => "green",
        "line" => "2 apples",
        "content" | "text" | "body" | "message" => "Dear Tom",
        _ => "some text",
    }
}
