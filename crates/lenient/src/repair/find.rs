//! Finds values in prose.

use serde_json::{Map, Value};

use super::literal::{is_literal, is_plain, read_number};
use super::quote::StringPlace;
use super::scan::{LOOK_AHEAD, Scan};
use super::{JsonFault, Repair};

/// A value and its position in the text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FoundValue {
    pub(crate) value: Value,
    pub(crate) repairs: Vec<Repair>,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Finds the values in a text one by one. Only objects and arrays count; numbers and words between them are prose.
pub(crate) struct ValueFinder<'t> {
    scan: Scan<'t>,
}

impl<'t> ValueFinder<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self { scan: Scan::new(text) }
    }

    /// A finder that knows the keys in a schema.
    pub(super) fn guided(text: &'t str, keys: &'t [&'t str]) -> Self {
        let mut scan = Scan::new(text);
        scan.keys = keys;
        Self { scan }
    }

    /// The value whose opening bracket is at `at`, if one begins there.
    pub(crate) fn at(&mut self, at: usize) -> Option<FoundValue> {
        self.scan.pos = at;
        if matches!(self.scan.byte(at), b'{' | b'[') && self.scan.begins_value(at) { Some(self.read(at)) } else { None }
    }

    fn read(&mut self, start: usize) -> FoundValue {
        let mut value = self.scan.value(StringPlace::Alone).value;
        if let Value::Object(map) = &mut value {
            while self.scan.goes_on() {
                map.extend(self.more_members());
            }
        }
        let repairs = self.scan.take_reports();
        FoundValue { value, repairs, start, end: self.scan.pos }
    }

    /// Members after a bracket that closed their object too early: `{"a": 1}, "b": 2}`.
    fn more_members(&mut self) -> Map<String, Value> {
        self.scan.report(self.scan.pos, JsonFault::ExtraBracket);
        self.scan.pos = self.scan.skip_blank(self.scan.pos) + 1;
        self.scan.open.push(b'{');
        let read = self.scan.members();
        self.scan.open.pop();
        match read.value {
            Value::Object(map) => map,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
        }
    }

    /// An object whose opening bracket is missing, if the text begins like one.
    pub(crate) fn braceless(&mut self) -> Option<FoundValue> {
        let scan = &mut self.scan;
        let start = scan.skip_blank(0);
        let is_key =
            scan.mark(start).is_some() && scan.is_quoted_key(start) && !scan.text.trim_end().ends_with(['"', '\'']);
        let is_key = is_key || (scan.byte(start) == b'"' && has_colon_after_string(scan, start));
        let is_half_quoted = || {
            let word = scan.end_of_word(start);
            word > start && scan.starts(word, "\":") && scan.text.trim_end().ends_with('}')
        };
        if !is_key && !is_half_quoted() {
            return None;
        }
        scan.pos = start;
        scan.open.push(b'{');
        let value = scan.members().value;
        scan.open.pop();
        scan.report(start, JsonFault::MissingBracket);
        // A single key before brackets is more likely a label: `"output": {…}`.
        let is_label = |map: &Map<String, Value>| map.len() == 1 && map.values().any(holds_more);
        let is_object = value.as_object().is_some_and(|map| !map.is_empty() && !is_label(map));
        if !is_object {
            scan.forget_reports(0);
            scan.pos = 0;
            return None;
        }
        Some(FoundValue { value, repairs: scan.take_reports(), start, end: scan.pos })
    }

    /// An array whose opening bracket is missing, if the text has only the closing one.
    pub(crate) fn bracketless(&mut self) -> Option<FoundValue> {
        let scan = &mut self.scan;
        let start = scan.skip_blank(0);
        let whole = scan.text.trim_end();
        let body = whole.strip_suffix(']').filter(|body| !body.contains(['[', '{', ']', '}']) && body.contains(','))?;
        let word = scan.slice(start, scan.end_of_word(start));
        let begins_item = scan.mark(start).is_some() || is_plain(word);
        if !begins_item || body.is_empty() {
            return None;
        }
        scan.pos = start;
        scan.open.push(b'[');
        scan.report(start, JsonFault::MissingBracket);
        let value = scan.items().value;
        scan.open.pop();
        Some(FoundValue { value, repairs: scan.take_reports(), start, end: scan.pos })
    }
}

fn has_colon_after_string(scan: &Scan<'_>, start: usize) -> bool {
    let rest = scan.slice(start + 1, scan.end);
    rest.find('"').is_some_and(|end| scan.byte(scan.skip_blank(start + end + 2)) == b':')
}

fn holds_more(value: &Value) -> bool {
    value.is_object() || value.is_array()
}

impl Iterator for ValueFinder<'_> {
    type Item = FoundValue;

    fn next(&mut self) -> Option<FoundValue> {
        loop {
            let scan = &mut self.scan;
            let rest = scan.text.as_bytes().get(scan.pos..scan.end)?;
            let start = scan.pos + rest.iter().position(|b| matches!(b, b'{' | b'['))?;
            scan.pos = start;
            if !scan.begins_value(start) {
                scan.pos += 1;
                continue;
            }
            return Some(self.read(start));
        }
    }
}

impl Scan<'_> {
    /// Whether the bracket at `at` is likely to begin a value rather than to be part of a sentence.
    fn begins_value(&self, at: usize) -> bool {
        let next = self.skip_blank(at + 1);
        if next >= self.end || self.mark(next).is_some() || self.is_comment(next) {
            return true;
        }
        match (self.byte(at), self.byte(next)) {
            (b'{', b'}' | b',' | b':' | b']') => true,
            (b'{', b'{') => false,
            (b'{', b'[') => self.skip_blank(next + 1) >= self.end || self.begins_bare_member(next + 1),
            (b'{', b'0'..=b'9') => {
                self.begins_bare_member(next) || (self.stands_apart(at) && self.is_inline_list(next))
            }
            (b'{', _) => self.is_ellipsis(next) || self.begins_bare_member(next) || self.is_stray_before_key(next),
            (_, b'{' | b'[' | b'}') => true,
            _ => (self.stands_apart(at) && !self.is_link(next)) || self.is_inline_list(next),
        }
    }

    fn goes_on(&self) -> bool {
        let comma = self.skip_blank(self.pos);
        let key = self.skip_blank(comma + 1);
        self.byte(comma) == b',' && self.mark(key).is_some() && self.is_quoted_key(key)
    }

    fn begins_bare_member(&self, at: usize) -> bool {
        let line = self.slice(at, self.end);
        let colon =
            line.bytes().take(64).position(|b| matches!(b, b':' | b'=' | b'\n' | b',' | b'{' | b'}' | b'.' | b';'));
        match colon.map(|i| (i, self.byte(at + i))) {
            Some((i, b':')) => i > 0,
            // `a.b: 1` is a key, `as said. Here:` is not.
            Some((i, b'.')) => {
                let word = self.end_of_word(at + i);
                self.byte(word + usize::from(self.byte(word) == b'"')) == b':'
            }
            Some((i, b'=')) => i > 0 && self.stands_apart(at.saturating_sub(1)),
            Some(_) => false,
            None => line.len() < 64,
        }
    }

    /// Whether there is nothing, a line end, or a mark that announces a value before `at`.
    fn stands_apart(&self, at: usize) -> bool {
        let before = self.blank_before(at);
        before == 0
            || self.slice(before, at).contains('\n')
            || matches!(self.byte(before - 1), b':' | b'`' | b'>' | b'=' | b'}' | b']' | b',')
            || self.starts(before.saturating_sub(3), "\u{FEFF}")
            || (before >= 7 && self.slice(before - 7, before).eq_ignore_ascii_case("```json"))
    }

    /// Whether there are numbers with commas up to a closing bracket here, as in `it is [1, 2].`.
    fn is_inline_list(&self, at: usize) -> bool {
        let rest = self.slice(at, self.end);
        let length = rest.bytes().take(LOOK_AHEAD).position(|b| matches!(b, b']' | b'}')).unwrap_or(0);
        let list = self.slice(at, at + length);
        list.contains(',') && list.split(',').all(|item| read_number(item.trim()).is_some())
    }

    /// Whether this is `[text](…)` or a bracket without an end, as they occur in prose.
    fn is_link(&self, at: usize) -> bool {
        if matches!(self.byte(at), b'-' | b'.' | b'+' | b'0'..=b'9' | b',' | b']') || self.is_ellipsis(at) {
            return false;
        }
        let rest = self.slice(at, self.end);
        let stop = rest.bytes().take(256).position(|b| matches!(b, b']' | b',' | b'\n' | b'{' | b'"'));
        match stop.map(|i| at + i) {
            Some(i) if self.byte(i) == b',' => false,
            // `[text](…)`, or a mark such as `[TOOL_CALLS]` before what it announces.
            Some(i) if self.byte(i) == b']' => self.byte(i + 1) == b'(' || !self.is_end(self.skip_blank(i + 1)),
            // Only the first quote is missing: `[a", "b"]`.
            Some(i) if self.byte(i) == b'"' && matches!(self.byte(i + 1), b',' | b']') => false,
            Some(_) => {
                let word = self.slice(at, self.end_of_word(at));
                !is_literal(word)
            }
            None => rest.len() >= 256,
        }
    }
}
