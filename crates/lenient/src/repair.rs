//! Reads JSON from a model's text, repairs it if it is broken, and reports the repairs.
//!
//! This is not a validator: whether the value is what was asked for is checked elsewhere. A repair that guessed at the
//! text of a string is marked as risky, so that a tool call that depends on it can be sent back to the model instead of
//! being made.
//!
//! | what | where |
//! |---|---|
//! | which of several values was meant | `find.rs`, `choose_value.rs`, `schema_fit.rs` |
//! | faults that affect the whole text | `whole_text.rs` |
//! | values by kind | `parser.rs`, `object.rs`, `array.rs`, `string.rs`, `unquoted.rs`, `wrapped.rs`, `literal.rs` |
//! | where a string ends | `quote.rs`, `missing_end_quote.rs`, `doubled.rs`, `escape.rs` |
//! | looking ahead | `scan.rs`, `quote_mark.rs`, `look_ahead.rs`, `stray.rs`, `bracket.rs` |
//! | what was wrong | `fault.rs` |

mod array;
mod bracket;
mod choose_value;
mod doubled;
mod escape;
mod fault;
mod find;
mod literal;
mod look_ahead;
mod missing_end_quote;
mod object;
mod parser;
mod quote;
mod quote_mark;
mod scan;
mod schema_fit;
#[cfg(test)]
mod step_count;
mod stray;
mod string;
mod unquoted;
mod whole_text;
mod wrapped;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use fault::JsonFault;
pub(crate) use find::{FoundValue, ValueFinder};

/// A value found in text, and what had to be repaired to read it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RepairedJson {
    /// The value.
    pub value: Value,
    /// What was wrong, in the order it was noticed. Empty if the text was valid JSON. Limited to a few hundred entries.
    pub repairs: Vec<Repair>,
}

impl RepairedJson {
    /// Whether any repair guessed at text or lost text.
    pub fn is_risky(&self) -> bool {
        self.repairs.iter().any(|repair| repair.what.is_risky())
    }
}

/// One thing that was wrong, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repair {
    /// The byte offset in the text.
    pub at: usize,
    /// What was wrong there.
    pub what: JsonFault,
}

/// Reads one JSON value from a model's text. Returns `None` if the text contains no value.
///
/// Text that is already valid JSON is returned unchanged, without repairs.
pub fn repair(text: &str) -> Option<RepairedJson> {
    repair_with(text, None)
}

/// Reads one JSON value from a model's text, guided by a JSON Schema if there is one.
///
/// The schema decides between several values. A value that can be converted to the expected type without loss is
/// converted: a number to a string, a single value to a list, JSON in a string to an object. A key that differs from
/// the schema's only in case or underscores is renamed, which counts as risky.
pub fn repair_with(text: &str, schema: Option<&Value>) -> Option<RepairedJson> {
    let mut repaired = match read_valid(text) {
        Some(value) => RepairedJson { value, repairs: Vec::new() },
        None => read(text, schema)?,
    };
    if let Some(schema) = schema {
        schema_fit::fit(&mut repaired, schema);
    }
    Some(repaired)
}

/// The value of a text that is already valid JSON.
fn read_valid(text: &str) -> Option<Value> {
    let first = text.bytes().find(|b| !b.is_ascii_whitespace())?;
    if !matches!(first, b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n') {
        return None;
    }
    // A short text is checked first: building half a value costs more than parsing twice.
    if text.len() < 1024 && serde_json::from_str::<IgnoredAny>(text).is_err() {
        return None;
    }
    serde_json::from_str(text).ok()
}

fn read(text: &str, schema: Option<&Value>) -> Option<RepairedJson> {
    let (text, fault) = whole_text::put_right(text);
    let mut repaired = read_plain(&text, schema)?;
    if let Some(what) = fault {
        repaired.repairs.insert(0, Repair { at: 0, what });
    }
    if repaired.repairs.is_empty() {
        // Only invisible characters were wrong.
        let at = text.find(|c: char| !c.is_ascii_graphic() && !matches!(c, ' ' | '\n' | '\r' | '\t')).unwrap_or(0);
        repaired.repairs.push(Repair { at, what: JsonFault::OddBlank });
    }
    Some(repaired)
}

fn read_plain(text: &str, schema: Option<&Value>) -> Option<RepairedJson> {
    let keys = schema.map(schema_fit::keys).unwrap_or_default();
    let mut finder = ValueFinder::guided(text, &keys);
    if let Some(found) = finder.braceless().or_else(|| finder.bracketless()) {
        return Some(with_surroundings(text, found, None));
    }
    match choose_value::choose(text, finder.collect(), schema) {
        Some(choice) => Some(with_surroundings(text, choice.found, choice.other)),
        None => read_scalar(text),
    }
}

/// Adds faults around the value to the faults inside it.
fn with_surroundings(text: &str, found: FoundValue, other: Option<usize>) -> RepairedJson {
    let before = text.get(..found.start).unwrap_or("");
    let after = text.get(found.end..).unwrap_or("");
    let mut repairs = found.repairs;
    if !before.is_empty() {
        repairs.splice(0..0, before_value(before, other.is_some()));
    }
    repairs.extend(other.map(|at| Repair { at, what: JsonFault::SeveralValues }));
    let after = scan::trim(after);
    let tail = after.trim_start_matches('`').trim();
    if after.len() > tail.len() && !before.contains('`') {
        repairs.push(Repair { at: found.end, what: JsonFault::Fence });
    }
    if !tail.is_empty() && other.is_none() {
        let is_brackets = tail.bytes().all(|b| matches!(b, b'}' | b']'));
        let what = if is_brackets { JsonFault::ExtraBracket } else { JsonFault::TrailingText };
        repairs.push(Repair { at: found.end, what });
    }
    RepairedJson { value: found.value, repairs }
}

fn before_value(before: &str, is_one_of_several: bool) -> Vec<Repair> {
    let mut repairs = Vec::new();
    let mut lead = scan::trim(before);
    if lead.contains('`') {
        let fence = before.find("```");
        repairs.extend(fence.map(|at| Repair { at, what: JsonFault::Fence }));
        let mut parts = before.split("```").map(|part| scan::trim(part.strip_prefix("json").unwrap_or(part)));
        lead = parts.find(|part| !part.is_empty()).unwrap_or("");
    }
    if !lead.is_empty() && !is_one_of_several {
        let is_comment = lead.starts_with("//") || lead.starts_with('#') || lead.starts_with("/*");
        repairs.push(Repair { at: 0, what: if is_comment { JsonFault::Comment } else { JsonFault::Prose } });
    }
    repairs
}

/// Reads a text that is only one word, number or quoted string.
fn read_scalar(text: &str) -> Option<RepairedJson> {
    let start = text.len() - text.trim_start().len();
    let inner = text.trim().trim_start_matches("```json").trim_matches('`').trim();
    if let Ok(value) = serde_json::from_str(inner) {
        return Some(RepairedJson { value, repairs: vec![Repair { at: start, what: JsonFault::Fence }] });
    }
    let mut scan = scan::Scan::new(inner);
    let is_quoted = scan.mark(0).is_some() && inner.chars().any(char::is_alphanumeric);
    if inner.starts_with('(') && inner.ends_with(')') && scan.is_tuple() {
        let value = scan.value(quote::StringPlace::Alone).value;
        return Some(RepairedJson { value, repairs: scan.repairs });
    }
    let is_word = literal::is_plain(inner);
    if !is_quoted && !is_word {
        return None;
    }
    let value = if is_quoted {
        Value::String(scan.string(quote::StringPlace::Alone).value)
    } else {
        scan.bare(quote::StringPlace::Alone)
    };
    Some(RepairedJson { value, repairs: scan.repairs })
}
