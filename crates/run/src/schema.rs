//! Checks a step's result against a JSON Schema.
//!
//! Tools have a full validator. This is the small part that plans and agents use: types, required keys, properties,
//! items, enumerations and bounds. Other keywords are ignored (docs/decisions/0052).

use serde_json::{Map, Value};

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
    if let Some(bounds) = bounds_misfit(schema, value) {
        return Some(format!("{place} must {bounds}"));
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

/// Says how a number, a text or a list is beyond the bounds of a schema: "be at least 1", "have at most 3 entries".
pub(crate) fn bounds_misfit(schema: &Map<String, Value>, value: &Value) -> Option<String> {
    let (size, verb, [least, most], unit) = match value {
        Value::Number(number) => (number.as_f64()?, "be", ["minimum", "maximum"], ""),
        Value::String(text) => (text.chars().count() as f64, "have", ["minLength", "maxLength"], " characters"),
        Value::Array(entries) => (entries.len() as f64, "have", ["minItems", "maxItems"], " entries"),
        Value::Null | Value::Bool(_) | Value::Object(_) => return None,
    };
    let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
    match (bound(least), bound(most)) {
        (Some(least), _) if size < least => Some(format!("{verb} at least {least}{unit}")),
        (_, Some(most)) if size > most => Some(format!("{verb} at most {most}{unit}")),
        _ => None,
    }
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
