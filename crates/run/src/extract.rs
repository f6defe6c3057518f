//! From a step's answer to the variables it writes, by the ladder of sources.

use serde_json::{Map, Value, json};

use crate::message::Answer;
use crate::repair;
use crate::reply::Reply;
use crate::step::{Entry, Outcome, Step};

/// What a step's answer holds.
pub(crate) struct Extracted {
    /// The variables that were found, in the order they were asked for.
    pub(crate) found: Vec<(String, Value)>,
    /// Those that were not.
    pub(crate) missing: Vec<String>,
}

/// Finds a step's variables: in the result of executed code, directly, nested in `output`,
/// and, where there is only one variable, as the final answer itself.
pub(crate) fn extract(step: &Step, answer: &Answer) -> Extracted {
    let writes = &step.spec.writes;
    let mut extracted = Extracted { found: Vec::new(), missing: Vec::new() };
    if writes.is_empty() {
        return extracted;
    }
    let json = object_in(&answer.text);
    let executed = execution_result(step);
    for name in writes {
        let value = executed
            .as_ref()
            .and_then(|result| result.get(name))
            .or_else(|| json.as_ref().and_then(|object| in_object(object, name)))
            .cloned()
            .or_else(|| final_answer(writes, json.as_ref(), &answer.text));
        match value {
            Some(value) => extracted.found.push((name.clone(), value)),
            None => extracted.missing.push(name.clone()),
        }
    }
    extracted
}

/// The JSON object an answer consists of, prose and fences around it taken away.
pub(crate) fn object_in(text: &str) -> Option<Map<String, Value>> {
    if !text.contains('{') {
        return None;
    }
    match repair::repair_with(text, Some(&json!({ "type": "object" })))?.value {
        Value::Object(object) => Some(object),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
    }
}

/// What code that the step ran gave last, where it gave named results.
fn execution_result(step: &Step) -> Option<Map<String, Value>> {
    let outcomes = step.talk.iter().rev().find_map(|entry| match entry {
        Entry::Results(outcomes) => Some(outcomes),
        Entry::Answer(_) | Entry::Note(_) | Entry::Summary(_) => None,
    })?;
    outcomes.iter().rev().find_map(|outcome| match outcome {
        Outcome::Replied(Reply::Output(output)) => output.value.as_ref()?.get("result")?.as_object().cloned(),
        Outcome::Replied(_) | Outcome::Rejected(_) => None,
    })
}

fn in_object<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    let nested = |key: &str| object.get(key)?.as_object()?.get(name);
    nested("execution_result")
        .or_else(|| object.get("execution_result")?.get("result")?.get(name))
        .or_else(|| object.get(name))
        .or_else(|| nested("output"))
        .or_else(|| nested("result"))
}

/// The answer as a whole, where there is only one variable it can be meant for.
fn final_answer(writes: &[String], json: Option<&Map<String, Value>>, text: &str) -> Option<Value> {
    if writes.len() != 1 {
        return None;
    }
    if let Some(object) = json {
        let named = ["final_answer", "answer", "output", "result"].iter().find_map(|key| object.get(*key));
        return named.cloned().or_else(|| Some(Value::Object(object.clone())));
    }
    let text = text.trim();
    (!text.is_empty()).then(|| Value::String(text.to_owned()))
}

/// Why an answer says of itself that it failed, if it does.
pub(crate) fn failure_mark(writes: &[String], answer: &Answer) -> Option<String> {
    let object = object_in(&answer.text)?;
    if writes.iter().any(|name| object.contains_key(name)) {
        return None;
    }
    let said = |key: &str| object.get(key).map(plain).filter(|text| !text.is_empty());
    let is_failed = matches!(object.get("status").and_then(Value::as_str), Some("failed" | "error" | "failure"))
        || object.get("success") == Some(&Value::Bool(false));
    let error = said("error").filter(|_| !object.get("error").is_some_and(says_nothing));
    match (is_failed, error) {
        (_, Some(error)) => Some(error),
        (true, None) => {
            Some(said("message").or_else(|| said("reason")).unwrap_or_else(|| "the agent says it failed".into()))
        }
        (false, None) => None,
    }
}

/// Whether a value under `error` means that there was none.
fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(is_error) => !is_error,
        Value::Number(code) => code.as_f64() == Some(0.0),
        Value::String(text) => text.trim().is_empty(),
        Value::Array(entries) => entries.is_empty(),
        Value::Object(entries) => entries.is_empty(),
    }
}

/// A value as a person reads it: strings bare, the rest as JSON.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            serde_json::to_string_pretty(value).unwrap_or_default()
        }
    }
}
