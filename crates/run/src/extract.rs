//! Reads the variables that a step writes out of its answer.
//!
//! The whole answer is the value, word for word, unless the whole answer is one JSON object (a single code fence around
//! it is ignored) with the expected names. An object inside prose is part of the prose: nothing is read out of it.

use serde_json::{Map, Value};
use updraft_lenient::whole_object;

use crate::answer_calls::RUN_PYTHON;
use crate::message::ModelAnswer;
use crate::reply::Reply;
use crate::step::{ConversationEntry, Step, ToolCallOutcome};

/// The variables read from a step's answer.
pub(crate) struct AnswerVariables {
    /// The variables that were found, in the order of the step's `writes`.
    pub(crate) found: Vec<(String, Value)>,
    /// The names that were not found.
    pub(crate) missing: Vec<String>,
}

/// Finds a step's variables: in the result of executed code, by name in the JSON object that is the answer, or, if
/// there is only one variable, as the answer itself.
pub(crate) fn extract(step: &Step, answer: &ModelAnswer) -> AnswerVariables {
    let writes = &step.spec.writes;
    let mut extracted = AnswerVariables { found: Vec::new(), missing: Vec::new() };
    if writes.is_empty() {
        return extracted;
    }
    let object = whole_object(&answer.text);
    let executed = execution_result(step);
    for name in writes {
        let value = executed
            .as_ref()
            .and_then(|result| result.get(name))
            .or_else(|| object.as_ref().and_then(|object| in_object(object, name)))
            .cloned()
            .or_else(|| final_answer(writes, object.as_ref(), &answer.text));
        match value {
            Some(value) => extracted.found.push((name.clone(), value)),
            None => extracted.missing.push(name.clone()),
        }
    }
    extracted
}

/// The named results of the code that the step ran last. A `result` from any other tool does not count.
fn execution_result(step: &Step) -> Option<Map<String, Value>> {
    let at = step.conversation.iter().rposition(|entry| matches!(entry, ConversationEntry::Results(_)))?;
    let ConversationEntry::Results(crate::TurnResults { outcomes, .. }) = &step.conversation[at] else { return None };
    let calls = step.conversation[..at].iter().rev().find_map(|entry| match entry {
        ConversationEntry::Answer(answer) => Some(answer.calls.as_slice()),
        ConversationEntry::Results(_) | ConversationEntry::Note(_) | ConversationEntry::Summary(_) => None,
    })?;
    // Calls written as text are not in this list; the code that comes with `call_self` is such a call.
    let is_code = |n: usize| calls.get(n).is_none_or(|call| call.name == RUN_PYTHON);
    outcomes.iter().enumerate().rev().filter(|(n, _)| is_code(*n)).find_map(|(_, outcome)| match outcome {
        ToolCallOutcome::Replied(Reply::Output(output)) => output.value.as_ref()?.get("result")?.as_object().cloned(),
        ToolCallOutcome::Replied(_) | ToolCallOutcome::Rejected(_) => None,
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

/// The whole answer, if there is only one variable it can belong to.
fn final_answer(writes: &[String], object: Option<&Map<String, Value>>, text: &str) -> Option<Value> {
    if writes.len() != 1 || text.trim().is_empty() {
        return None;
    }
    let only = object.and_then(only_member);
    Some(only.cloned().unwrap_or_else(|| Value::String(text.to_owned())))
}

/// The value under `final_answer`, if the whole text is an object with that key and no other.
pub(crate) fn only_final_answer(text: &str) -> Option<Value> {
    only_member(&whole_object(text)?).cloned()
}

fn only_member(object: &Map<String, Value>) -> Option<&Value> {
    object.get("final_answer").filter(|_| object.len() == 1)
}

/// The keys of an object that only reports a failure.
const FAILURE_NAMES: [&str; 6] = ["error", "status", "success", "message", "reason", "details"];

/// The reason, if the answer reports a failure: the whole answer is such an object and holds no result.
pub(crate) fn failure_mark(writes: &[String], answer: &ModelAnswer) -> Option<String> {
    let object = whole_object(&answer.text)?;
    if writes.iter().any(|name| object.contains_key(name))
        || !object.keys().all(|name| FAILURE_NAMES.contains(&name.as_str()))
    {
        return None;
    }
    let text = |key: &str| object.get(key).map(plain).filter(|text| !text.is_empty());
    let is_failed = matches!(object.get("status").and_then(Value::as_str), Some("failed" | "error" | "failure"))
        || object.get("success") == Some(&Value::Bool(false));
    let error = text("error").filter(|_| !object.get("error").is_some_and(is_nothing));
    match (is_failed, error) {
        (_, Some(error)) => Some(error),
        (true, None) => {
            Some(text("message").or_else(|| text("reason")).unwrap_or_else(|| "the agent says it failed".into()))
        }
        (false, None) => None,
    }
}

/// Whether a value under `error` means that there was no error.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(is_error) => !is_error,
        Value::Number(code) => code.as_f64() == Some(0.0),
        Value::String(text) => text.trim().is_empty(),
        Value::Array(entries) => entries.is_empty(),
        Value::Object(entries) => entries.is_empty(),
    }
}

/// A value as text for people: strings without quotes, the rest as JSON.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            serde_json::to_string_pretty(value).unwrap_or_default()
        }
    }
}
