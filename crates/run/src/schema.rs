//! Checks a step's result against a JSON Schema.
//!
//! Tools have a full validator. This is the small part that plans and agents use: types, required keys, properties,
//! items and enumerations. Unknown keywords are ignored.

use serde_json::Value;

/// Schemas nested deeper than this are not checked further.
const DEEPEST: u32 = 32;

/// Describes the first place where a value does not fit. Returns `None` if it fits.
pub(crate) fn misfit(schema: &Value, value: &Value) -> Option<String> {
    at("the result", schema, value, 0)
}

fn at(place: &str, schema: &Value, value: &Value, depth: u32) -> Option<String> {
    let schema = schema.as_object().filter(|_| depth < DEEPEST)?;
    if let Some(wanted) = schema.get("type")
        && !has_type(wanted, value)
    {
        return Some(format!("{place} must be of type {}, and is {}", crate::extract::plain(wanted), type_of(value)));
    }
    if let Some(options) = schema.get("enum").and_then(Value::as_array)
        && !options.contains(value)
    {
        return Some(format!("{place} must be one of {}", Value::Array(options.clone())));
    }
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    for key in required {
        if value.as_object().is_some_and(|object| !object.contains_key(key)) {
            return Some(format!("{place} lacks `{key}`"));
        }
    }
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    for (key, inner) in properties {
        let inside = value.get(key).and_then(|value| at(&format!("{place}.{key}"), inner, value, depth + 1));
        if inside.is_some() {
            return inside;
        }
    }
    let items = schema.get("items")?;
    let entries = value.as_array()?.iter().enumerate();
    entries.into_iter().find_map(|(n, entry)| at(&format!("{place}[{n}]"), items, entry, depth + 1))
}

fn has_type(wanted: &Value, value: &Value) -> bool {
    match wanted {
        Value::String(name) if name == "integer" => value.is_i64() || value.is_u64(),
        Value::String(name) if name == "number" => value.is_number(),
        Value::String(name) => name == type_of(value),
        Value::Array(several) => several.iter().any(|one| has_type(one, value)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => true,
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
