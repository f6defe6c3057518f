//! Reads values that Python or JavaScript wraps: `b'text'`, `ObjectId("…")`, `new Date("…")`, `array([1, 2])`.

use serde_json::{Map, Value};

use super::JsonFault;
use super::literal::{read_literal, read_number};
use super::parser::{DEEPEST, ParsedValue};
use super::quote::StringPlace;
use super::scan::{LOOK_AHEAD, Scan, trim};

impl Scan<'_> {
    /// Reads the wrapped value at this position, if there is one.
    pub(super) fn wrapped(&mut self, place: StringPlace) -> Option<ParsedValue> {
        if !self.here().is_ascii_alphabetic() {
            return None;
        }
        if let Some(length) = self.prefix_of_string() {
            self.report(self.pos, JsonFault::PythonLiteral);
            self.pos += length;
            return Some(ParsedValue { value: Value::String(self.string(place).value), is_void: false });
        }
        let name = if self.starts(self.pos, "new ") { self.skip_blank(self.pos + 3) } else { self.pos };
        let open = self.end_of_word(name);
        if open == name || self.byte(open) != b'(' || self.open.len() >= DEEPEST {
            return None;
        }
        if matches!(self.byte(self.skip_blank(open + 1)), b'{' | b'[' | b'(') && !self.follows_arrow(open) {
            self.report(self.pos, JsonFault::Call);
            self.pos = open + 1;
            self.open.push(b'(');
            let read = self.items();
            self.open.pop();
            return Some(read);
        }
        let rest = self.slice(open + 1, self.end);
        let close = open + 1 + rest.bytes().take(LOOK_AHEAD).position(|b| b == b')')?;
        let next = self.skip_blank(close + 1);
        if !self.is_end(next) && !matches!(self.byte(next), b',' | b'}' | b']' | b')') {
            return None;
        }
        let value = argument(self.slice(name, open), trim(self.slice(open + 1, close)))?;
        self.report(self.pos, JsonFault::Call);
        self.pos = close + 1;
        Some(ParsedValue { value, is_void: false })
    }

    /// The length of the letters directly before a quote, as in `b'text'`.
    fn prefix_of_string(&self) -> Option<usize> {
        let is_prefix = |at| matches!(self.byte(at), b'b' | b'B' | b'r' | b'R' | b'u' | b'U' | b'f' | b'F');
        let opens = |at| {
            matches!(self.byte(at), b'"' | b'\'') && !matches!(self.byte(at + 1), b',' | b'}' | b']' | b':' | 0..=b' ')
        };
        (1..=2).find(|length| opens(self.pos + length) && (0..*length).all(|i| is_prefix(self.pos + i)))
    }

    /// Whether the parentheses at `at` contain the parameters of a function: `() => 1`.
    pub(super) fn follows_arrow(&self, at: usize) -> bool {
        let rest = self.slice(at, self.end);
        let close = rest.bytes().take(LOOK_AHEAD).position(|b| b == b')');
        close.is_some_and(|length| self.starts(self.skip_blank(at + length + 1), "=>"))
    }
}

/// The value of a call's only argument, if it is obvious.
fn argument(name: &str, text: &str) -> Option<Value> {
    if text.is_empty() {
        return match name {
            "set" | "frozenset" | "list" | "tuple" => Some(Value::Array(Vec::new())),
            "dict" => Some(Value::Object(Map::new())),
            _ => None,
        };
    }
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            return (!inner.contains([quote, '\\'])).then(|| Value::String(inner.to_owned()));
        }
    }
    read_literal(text).map(|(value, _)| value).or_else(|| read_number(text).map(|(value, _)| value))
}
