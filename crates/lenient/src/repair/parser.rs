//! Reads a value of any kind, depending on how it begins.

use serde_json::Value;

use super::JsonFault;
use super::literal::{is_literal, is_plain};
use super::quote::StringPlace;
use super::scan::Scan;

/// The deepest nesting that is read. Deeper nesting is a mistake, and would use up the stack.
pub(super) const DEEPEST: usize = 200;

/// A value as it was read.
pub(super) struct ParsedValue {
    pub(super) value: Value,
    /// Whether the text ended before anything of the value was written: `[{` contains no object yet.
    pub(super) is_void: bool,
}

impl Scan<'_> {
    /// Reads the value at this position, which must not be a comma or a closing bracket.
    pub(super) fn value(&mut self, place: StringPlace) -> ParsedValue {
        let byte = self.here();
        let is_bracket = matches!(byte, b'{' | b'[') || (byte == b'(' && self.is_tuple());
        if is_bracket && self.open.len() >= DEEPEST {
            self.report(self.pos, JsonFault::TooDeep);
            self.skip_brackets();
            return ParsedValue { value: Value::Null, is_void: false };
        }
        if is_bracket {
            self.open.push(byte);
            self.pos += 1;
            let read = if byte == b'{' { self.members() } else { self.items() };
            self.open.pop();
            return read;
        }
        if let Some(value) = self.plain(place) {
            return ParsedValue { value, is_void: false };
        }
        if byte == b'\'' && self.byte(self.pos + 1) == b'"' && self.is_continuation(self.pos + 1) {
            self.report(self.pos, JsonFault::StrayText);
            self.pos += 1;
        }
        if byte == b'\\'
            && self.byte(self.pos + 1) == b'"'
            && let Some(text) = self.escaped_string(place)
        {
            return ParsedValue { value: Value::String(text), is_void: false };
        }
        if matches!(byte, b'\\' | b'-' | b'.' | b'*' | b'=' | b'?' | b'!') && self.skips_stray_sign() {
            return self.value(place);
        }
        if self.mark(self.pos).is_some() {
            let text = self.string(place);
            let is_void = text.is_cut && text.value.is_empty();
            return ParsedValue { value: Value::String(text.value), is_void };
        }
        if let Some(read) = self.wrapped(place) {
            return read;
        }
        let value = self.bare(place);
        let is_sign = |text: &str| text.len() <= 2 && text.bytes().all(|b| b.is_ascii_punctuation());
        let is_void = (self.pos >= self.end || place == StringPlace::Item) && value.as_str().is_some_and(is_sign);
        ParsedValue { value: if is_void { Value::Null } else { value }, is_void }
    }

    /// Moves past a sign before a value that is not part of it.
    fn skips_stray_sign(&mut self) -> bool {
        let next = self.skip_blank(self.pos + 1);
        let is_string = next == self.pos + 1 && (self.mark(next).is_some() || matches!(self.byte(next), b'{' | b'['));
        let is_escaped = self.here() == b'\\'
            && (self.mark(next).is_some()
                || matches!(self.byte(next), b'{' | b'[')
                || is_plain(self.slice(next, self.end_of_word(next))));
        if is_string || is_escaped {
            self.report(self.pos, if is_escaped { JsonFault::NeedlessEscape } else { JsonFault::StrayText });
            self.pos = next;
        }
        is_string || is_escaped
    }

    /// Whether the parenthesis here contains values rather than a remark.
    pub(super) fn is_tuple(&self) -> bool {
        let next = self.skip_blank(self.pos + 1);
        let begins_value = self.mark(next).is_some()
            || matches!(self.byte(next), b'{' | b'[' | b'(' | b')' | b'-' | b'0'..=b'9')
            || is_literal(self.slice(next, self.end_of_word(next)));
        begins_value && !self.follows_arrow(self.pos)
    }
}
