//! A worked example of a tool's arguments, made from their schema.

use serde_json::{Map, Value, json};

/// Deeper values are left out.
const DEEPEST: usize = 6;

/// Arguments as someone might give them: what the schema shows, else what the names suggest.
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
        Some("string") => json!(text_for(name)),
        _ => match schema["properties"].as_object() {
            Some(properties) => Value::Object(required(properties, &schema["required"], depth)),
            None => json!({}),
        },
    }
}

/// The members that must be there; where none must, the first.
fn required(properties: &Map<String, Value>, required: &Value, depth: usize) -> Map<String, Value> {
    let must = |name: &str| required.as_array().is_some_and(|names| names.iter().any(|one| one == name));
    let any = properties.keys().any(|name| must(name));
    let chosen = properties.iter().enumerate().filter(|(at, (name, _))| if any { must(name) } else { *at == 0 });
    chosen.map(|(_, (name, schema))| (name.clone(), value_of(name, schema, depth))).collect()
}

fn text_for(name: &str) -> &'static str {
    match name {
        "path" | "file" | "file_path" | "filename" | "paths" | "files" => "notes.txt",
        "dir" | "folder" | "directory" | "root" | "under" => "docs",
        "pattern" | "query" | "regex" | "search" | "q" => "TODO",
        "url" | "uri" | "address" => "https://example.com/",
        "command" | "cmd" => "ls",
        "question" => "Which one do you mean?",
        "code" => "print(1 + 1)",
        _ => "some text",
    }
}
