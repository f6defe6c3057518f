//! Chooses the intended value among those in a text, or combines values that belong together into a list.

use serde_json::Value;

use super::{FoundValue, JsonFault, Repair, schema_fit};

/// How many reports are kept. More would not help anyone.
const MOST_REPORTS: usize = 256;

/// The chosen value, and where another value begins that was not chosen.
pub(super) struct ValueChoice {
    pub(super) found: FoundValue,
    pub(super) other: Option<usize>,
}

/// Chooses the value that fits the schema best, then the largest. Among equals the last one wins, because models
/// correct themselves.
pub(super) fn choose(text: &str, mut found: Vec<FoundValue>, schema: Option<&Value>) -> Option<ValueChoice> {
    if found.len() < 2 {
        return found.pop().map(|found| ValueChoice { found, other: None });
    }
    let thought_end = end_of_thought(text);
    let mut best: Option<(FoundValue, Rank)> = None;
    let mut other = None;
    for found in candidates(text, found, schema) {
        let rank = Rank::of(&found, thought_end, schema);
        let Some((best_found, best_rank)) = &mut best else {
            best = Some((found, rank));
            continue;
        };
        let (loser, loser_rank) = if rank < *best_rank {
            (found, rank)
        } else {
            (std::mem::replace(best_found, found), std::mem::replace(best_rank, rank))
        };
        if loser_rank.is_filled {
            other = other.or(Some(loser.start));
        }
    }
    best.map(|(found, _)| ValueChoice { found, other })
}

/// Where the model's reasoning ends.
fn end_of_thought(text: &str) -> usize {
    if !text.as_bytes().contains(&b'<') {
        return 0;
    }
    text.rfind("</think").or_else(|| text.rfind("</reasoning>")).unwrap_or(0)
}

/// How good a candidate a value is. Earlier fields count more.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    fits: usize,
    is_filled: bool,
    /// Whether it comes after the reasoning.
    is_answer: bool,
    /// Whether it is more than numbers: `[1, 2]` may be a reference in a sentence.
    is_more_than_numbers: bool,
    size: usize,
    is_certain: bool,
}

impl Rank {
    fn of(found: &FoundValue, thought_end: usize, schema: Option<&Value>) -> Self {
        let size = size(&found.value);
        Self {
            fits: schema.map_or(0, |schema| schema_fit::matches(&found.value, schema)),
            is_filled: size > 0,
            is_answer: found.start >= thought_end,
            is_more_than_numbers: !found.value.as_array().is_some_and(|items| items.iter().all(Value::is_number)),
            size,
            is_certain: !found.repairs.iter().any(|repair| repair.what.is_risky()),
        }
    }
}

/// How much content a value has: the number of its parts, and a little for long texts.
fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
        Value::String(text) => 1 + text.len() / 32,
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(map) => map.values().map(|value| 1 + size(value)).sum(),
    }
}

/// The candidates: values with nothing between them are combined.
fn candidates(text: &str, found: Vec<FoundValue>, schema: Option<&Value>) -> Vec<FoundValue> {
    let wanted = schema_fit::SchemaShape::of(schema);
    if wanted == schema_fit::SchemaShape::Object {
        return found;
    }
    let mut candidates = Vec::new();
    let mut row = ValueSequence::default();
    for found in found {
        let gap = row.values.last().and_then(|last| text.get(last.end..found.start));
        match gap.filter(|gap| gap.chars().all(separates)) {
            Some(gap) => row.has_commas |= gap.contains(','),
            None => candidates.extend(std::mem::take(&mut row).intended_value(wanted)),
        }
        row.values.push(found);
    }
    candidates.extend(row.intended_value(wanted));
    candidates
}

fn separates(c: char) -> bool {
    c.is_whitespace() || c.is_control() || matches!(c, ',' | ';' | '}' | ']' | '\u{FEFF}')
}

/// Values that follow each other with nothing but commas and blanks between them.
#[derive(Default)]
struct ValueSequence {
    values: Vec<FoundValue>,
    has_commas: bool,
}

impl ValueSequence {
    fn intended_value(mut self, wanted: schema_fit::SchemaShape) -> Option<FoundValue> {
        if self.values.iter().any(|found| size(&found.value) > 0) {
            self.values.retain(|found| size(&found.value) > 0);
        }
        if self.values.len() < 2 {
            return self.values.pop();
        }
        let is_correction = match self.values.as_slice() {
            [first, second] => {
                !self.has_commas && wanted != schema_fit::SchemaShape::Array && is_alike(&first.value, &second.value)
            }
            _ => false,
        };
        let is_echo = self.values.windows(2).all(|pair| matches!(pair, [a, b] if a.value == b.value));
        if !is_correction && !is_echo {
            return Some(self.list());
        }
        let mut last = self.values.pop()?;
        last.repairs.insert(0, Repair { at: last.start, what: JsonFault::SeveralValues });
        Some(last)
    }

    fn list(self) -> FoundValue {
        let start = self.values.first().map_or(0, |found| found.start);
        let end = self.values.last().map_or(start, |found| found.end);
        let mut repairs = vec![Repair { at: start, what: JsonFault::SeveralValues }];
        let mut is_risky = false;
        let mut items = Vec::with_capacity(self.values.len());
        for found in self.values {
            items.push(found.value);
            for repair in found.repairs {
                if repairs.len() < MOST_REPORTS || (repair.what.is_risky() && !is_risky) {
                    repairs.push(repair);
                    is_risky |= repair.what.is_risky();
                }
            }
        }
        FoundValue { value: Value::Array(items), repairs, start, end }
    }
}

/// Whether two values have the same form: the same keys, and values of the same types.
fn is_alike(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, value)| other.get(key).is_some_and(|other| is_alike(value, other)))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_alike(one, other))
        }
        _ => std::mem::discriminant(one) == std::mem::discriminant(other),
    }
}
