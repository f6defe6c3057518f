//! Reads JSON out of what a model wrote, repairs it where it is broken, and says what was repaired.
//!
//! Not a validator: whether the value is what was asked for is decided elsewhere. A repair that guessed at the text of
//! a string is marked as risky, so that a tool call built on it can be sent back to the model instead of being made.

mod array;
mod bare;
mod escape;
mod fault;
mod find;
mod fit;
mod parser;
mod quote;
mod scan;
mod string;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use fault::Fault;
pub(crate) use find::{Finder, Found};

/// A value found in text, and what had to be repaired to read it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repaired {
    /// The value.
    pub value: Value,
    /// What was wrong, in the order it was noticed. Empty when the text was JSON. Past a few hundred, no more are listed.
    pub repairs: Vec<Repair>,
}

impl Repaired {
    /// Whether any repair guessed at text or lost some.
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
    pub what: Fault,
}

/// Reads one JSON value out of a model's text. `None` when there is no value in it at all.
///
/// Text that is JSON already comes back unchanged, with no repairs.
pub fn repair(text: &str) -> Option<Repaired> {
    repair_with(text, None)
}

/// Reads one JSON value out of a model's text, guided by a JSON Schema where one is known.
///
/// The schema chooses between several values, and a value that can be what it asks for without loss becomes so: a
/// number where a string is wanted, one thing where a list is wanted, JSON in a string where an object is wanted.
/// Keys are never changed.
pub fn repair_with(text: &str, schema: Option<&Value>) -> Option<Repaired> {
    let mut repaired = match serde_json::from_str(text) {
        Ok(value) => Repaired { value, repairs: Vec::new() },
        Err(_) => read(text, schema)?,
    };
    if let Some(schema) = schema {
        fit::fit(&mut repaired, schema);
    }
    Some(repaired)
}

fn read(text: &str, schema: Option<&Value>) -> Option<Repaired> {
    if let Some(unescaped) = unescape_structure(text) {
        let mut repaired = read_plain(&unescaped, schema)?;
        repaired.repairs.insert(0, Repair { at: 0, what: Fault::NeedlessEscape });
        return Some(repaired);
    }
    read_plain(text, schema)
}

fn read_plain(text: &str, schema: Option<&Value>) -> Option<Repaired> {
    let mut finder = Finder::new(text);
    if let Some(found) = finder.braceless() {
        return Some(with_surroundings(text, found, None));
    }
    let mut best: Option<(Found, Rank)> = None;
    let mut other = None;
    for found in finder {
        let rank = Rank::of(&found, schema);
        match &mut best {
            Some((_, best_rank)) if rank < *best_rank => {
                other = other.or((!rank.is_empty()).then_some(found.start));
            }
            Some((best_found, best_rank)) => {
                if !best_rank.is_empty() {
                    other = Some(best_found.start);
                }
                (*best_found, *best_rank) = (found, rank);
            }
            None => best = Some((found, rank)),
        }
    }
    match best {
        Some((found, _)) => Some(with_surroundings(text, found, other)),
        None => read_scalar(text),
    }
}

/// How good a candidate a value is; of equals the later one wins, for models correct themselves.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    fits: usize,
    size: usize,
    is_certain: bool,
}

impl Rank {
    fn of(found: &Found, schema: Option<&Value>) -> Self {
        Self {
            fits: schema.map_or(0, |schema| fit::matches(&found.value, schema)),
            size: size(&found.value),
            is_certain: !found.repairs.iter().any(|repair| repair.what.is_risky()),
        }
    }

    fn is_empty(self) -> bool {
        self.size == 0
    }
}

/// How much a value says: its parts, and a little for long texts.
fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
        Value::String(text) => 1 + text.len() / 32,
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(map) => map.values().map(|value| 1 + size(value)).sum(),
    }
}

/// Adds what stood around the value to what was wrong within it.
fn with_surroundings(text: &str, found: Found, other: Option<usize>) -> Repaired {
    let mut repairs = Vec::new();
    let before = text.get(..found.start).unwrap_or("");
    let after = text.get(found.end..).unwrap_or("");
    if before.contains("```") {
        repairs.push(Repair { at: before.find("```").unwrap_or(0), what: Fault::Fence });
    }
    let lead = before.replace("```json", "").replace("```", "");
    let lead = lead.trim_matches(|c: char| c.is_whitespace() || c == '\u{FEFF}');
    if !lead.is_empty() && other.is_none() {
        let is_comment = lead.starts_with("//") || lead.starts_with('#') || lead.starts_with("/*");
        repairs.push(Repair { at: 0, what: if is_comment { Fault::Comment } else { Fault::Prose } });
    }
    repairs.extend(found.repairs);
    repairs.extend(other.map(|at| Repair { at, what: Fault::SeveralValues }));
    let tail = after.trim().trim_start_matches('`').trim();
    if !tail.is_empty() && other.is_none() {
        let is_brackets = tail.bytes().all(|b| matches!(b, b'}' | b']'));
        let what = if is_brackets { Fault::ExtraBracket } else { Fault::TrailingText };
        repairs.push(Repair { at: found.end, what });
    }
    Repaired { value: found.value, repairs }
}

/// A text that is nothing but one word, number or quoted string.
fn read_scalar(text: &str) -> Option<Repaired> {
    let start = text.len() - text.trim_start().len();
    let inner = text.trim().trim_start_matches("```json").trim_matches('`').trim();
    if let Ok(value) = serde_json::from_str(inner) {
        return Some(Repaired { value, repairs: vec![Repair { at: start, what: Fault::Fence }] });
    }
    let mut scan = scan::Scan::new(inner);
    let is_quoted = scan.mark(0).is_some() && inner.chars().any(char::is_alphanumeric);
    if inner.starts_with('(') && inner.ends_with(')') && scan.is_tuple() {
        let value = scan.value(quote::Place::Alone).value;
        return Some(Repaired { value, repairs: scan.repairs });
    }
    let is_word = bare::is_literal(inner) || bare::read_number(inner).is_some();
    if !is_quoted && !is_word {
        return None;
    }
    let value =
        if is_quoted { Value::String(scan.string(quote::Place::Alone).value) } else { scan.bare(quote::Place::Alone) };
    Some(Repaired { value, repairs: scan.repairs })
}

/// The text without one layer of escapes, if even its structure is escaped: `{\"a\": \"b\"}`.
fn unescape_structure(text: &str) -> Option<String> {
    let open = text.find(['{', '['])?;
    let inner = text.get(open + 1..)?.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '{' | '['));
    let inner = inner.strip_prefix("\\n").unwrap_or(inner).trim_start();
    if !inner.starts_with("\\\"") {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some(other) => out.push(other),
                None => {}
            },
            _ => out.push(c),
        }
    }
    Some(out)
}
