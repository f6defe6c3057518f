//! The JSON forms in which models write calls.

use serde_json::{Map, Value};

use super::{TextCall, ToolNameCheck};
use crate::repair::{FoundValue, Repair, repair};

const NAMES: [&str; 5] = ["action", "tool", "tool_name", "name", "function"];
const ARGUMENTS: [&str; 6] = ["args", "input", "arguments", "parameters", "action_input", "tool_input"];
/// Keys that a call without arguments may have besides its name.
const ASIDES: [&str; 5] = ["thought", "thoughts", "reasoning", "id", "type"];

/// How deeply the forms may be nested: `tool_calls` contains a list of objects that contain a `function`.
const DEEPEST: usize = 4;

/// The calls that a value represents. Returns `None` if it, or any part of it, is not a call to a known tool.
pub(super) fn calls(found: &FoundValue, known: ToolNameCheck<'_>) -> Option<Vec<TextCall>> {
    let repairs: Vec<Repair> =
        found.repairs.iter().map(|r| Repair { at: r.at.saturating_sub(found.start), what: r.what }).collect();
    let mut calls = Vec::new();
    collect(&found.value, known, &repairs, &mut calls, 0)?;
    (!calls.is_empty()).then_some(calls)
}

/// The arguments as they are meant: JSON inside a string is parsed, and `null` or an empty text means no arguments.
pub(super) fn arguments(written: &Value, repairs: &mut Vec<Repair>) -> Value {
    match written {
        Value::Null => Value::Object(Map::new()),
        Value::String(text) if text.trim().is_empty() => Value::Object(Map::new()),
        Value::String(text) if text.trim_start().starts_with(['{', '[', '`']) => match repair(text) {
            Some(read) => {
                repairs.extend(read.repairs);
                read.value
            }
            None => written.clone(),
        },
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => written.clone(),
    }
}

fn collect(
    value: &Value,
    known: ToolNameCheck<'_>,
    repairs: &[Repair],
    calls: &mut Vec<TextCall>,
    depth: usize,
) -> Option<()> {
    if depth > DEEPEST {
        return None;
    }
    match value {
        Value::Array(items) => items.iter().try_for_each(|item| collect(item, known, repairs, calls, depth + 1)),
        Value::Object(map) => {
            if map.contains_key("call_self") {
                return None;
            }
            if let Some(inner) = map.get("tool_calls").or(map.get("call_tool")) {
                return collect(inner, known, repairs, calls, depth + 1);
            }
            calls.push(call(map, known, repairs)?);
            Some(())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn call(map: &Map<String, Value>, known: ToolNameCheck<'_>, repairs: &[Repair]) -> Option<TextCall> {
    if let Some(Value::Object(inner)) = map.get("function").or(map.get("action")) {
        return call(inner, known, repairs);
    }
    if is_definition(map) {
        return None;
    }
    let key = NAMES.into_iter().find(|key| map.get(*key).and_then(Value::as_str).is_some_and(known))?;
    let name = map.get(key)?.as_str()?.to_owned();
    let mut repairs = repairs.to_vec();
    let args = if let Some(written) = ARGUMENTS.into_iter().find_map(|key| map.get(key)) {
        arguments(written, &mut repairs)
    } else {
        // `{"name": "search"}` may be any answer; `{"tool": "search"}` is a call without arguments.
        let is_bare = key != "name" && map.keys().all(|other| other == key || ASIDES.contains(&other.as_str()));
        is_bare.then(|| Value::Object(Map::new()))?
    };
    Some(TextCall { name, args, repairs })
}

/// Whether the object describes a tool instead of calling it.
fn is_definition(map: &Map<String, Value>) -> bool {
    let schema = map.get("parameters").or(map.get("input_schema"));
    schema.is_some_and(|schema| schema.get("properties").is_some() && schema.get("type").is_some())
}
