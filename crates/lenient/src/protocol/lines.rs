//! Calls written on lines of their own: `Action:` and `Action Input:`, `TOOL_CALL:` and `ARGUMENTS:`.

use serde_json::{Map, Value};

use super::{CallSection, TextCall, ToolNameCheck, forms};
use crate::repair::{FoundValue, Repair, ValueFinder};

const NAME_LABELS: [&str; 2] = ["Action:", "TOOL_CALL:"];
const INPUT_LABELS: [&str; 6] = ["Action Input:", "Args:", "Arguments:", "Input:", "ARGUMENTS:", "ARGS:"];
const STOPS: [&str; 7] =
    ["Observation:", "Thought:", "Final Answer:", "Action:", "TOOL_CALL:", "TOOL_RESULT:", "RESULT:"];

/// Whether a line that begins with `byte` can contain the label of a name.
pub(super) fn may_begin(byte: u8) -> bool {
    matches!(byte, b'A' | b'T' | b'*' | b' ')
}

/// Whether the line at the start of `text` is a tool result, which a model must not write itself.
pub(super) fn is_observation(text: &str) -> bool {
    ["Observation:", "TOOL_RESULT:"].into_iter().any(|label| after_label(text, label).is_some())
}

/// The call on the line at `at`, if it names a known tool.
pub(super) fn section(text: &str, at: usize, known: ToolNameCheck<'_>) -> Option<CallSection> {
    let line = text.get(at..)?;
    let rest = NAME_LABELS.into_iter().find_map(|label| after_label(line, label))?;
    let name_line = rest.split('\n').next().unwrap_or(rest);
    let name = name_line.trim_matches(|c: char| c.is_whitespace() || matches!(c, '`' | '*' | '"' | '\''));
    if !known(name) {
        return None;
    }
    let after_name = rest.get(name_line.len()..).unwrap_or("");
    let mut call = TextCall { name: name.to_owned(), args: Value::Object(Map::new()), repairs: Vec::new() };
    let end = match INPUT_LABELS.into_iter().find_map(|label| after_label(after_name.trim_start(), label)) {
        Some(input) => {
            let start = text.len() - input.len();
            let (args, length) = read_input(input, &mut call.repairs);
            call.args = args;
            start + length
        }
        None => text.len() - after_name.len(),
    };
    Some(CallSection { calls: vec![call], end })
}

/// What follows `label` at the start of `text`. The label may be bold.
fn after_label<'t>(text: &'t str, label: &str) -> Option<&'t str> {
    let rest = text.trim_start_matches([' ', '*']).strip_prefix(label)?;
    Some(rest.strip_prefix("**").unwrap_or(rest))
}

/// The arguments at the start of `input`, and where they end.
fn read_input(input: &str, repairs: &mut Vec<Repair>) -> (Value, usize) {
    let length = end_of_input(input);
    let bounded = input.get(..length).unwrap_or(input);
    let Some(open) = start_of_json(bounded) else {
        let plain = bounded.trim().trim_matches('`').trim();
        return (forms::arguments(&Value::String(plain.to_owned()), repairs), length);
    };
    // Valid JSON may contain a line such as `Observation:` in a string, so it is tried without a limit first.
    let whole = super::tags::strict(input, open);
    let found: Option<FoundValue> = whole.or_else(|| ValueFinder::new(bounded).at(open));
    let Some(found) = found else {
        return (Value::String(bounded.trim().to_owned()), length);
    };
    repairs.extend(found.repairs.iter().map(|r| Repair { at: r.at.saturating_sub(open), what: r.what }));
    let rest = input.get(found.end..).unwrap_or("");
    let is_fenced = bounded.get(..open).is_some_and(|lead| lead.contains("```"));
    let fence =
        if is_fenced && rest.trim_start().starts_with("```") { rest.len() - rest.trim_start().len() + 3 } else { 0 };
    (forms::arguments(&found.value, repairs), found.end + fence)
}

/// The beginning of the first line that is no longer part of the input.
fn end_of_input(input: &str) -> usize {
    let mut at = 0;
    for line in input.split_inclusive('\n') {
        if at > 0 && STOPS.into_iter().any(|label| after_label(line, label).is_some()) {
            return at;
        }
        at += line.len();
    }
    input.len()
}

/// Where the JSON begins, if there is nothing but a fence before it.
fn start_of_json(input: &str) -> Option<usize> {
    let open = input.find(['{', '['])?;
    let lead = input.get(..open)?.trim();
    let lead = lead.trim_start_matches('`');
    matches!(lead, "" | "json" | "JSON").then_some(open)
}
