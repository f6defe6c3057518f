//! The repairing parser: values, objects, and what stands where either should.

use serde_json::{Map, Value};

use super::Fault;
use super::quote::Place;
use super::scan::Scan;

/// Deeper nesting is not an answer but a mistake, and would cost stack.
const DEEPEST: usize = 200;

/// A value as it was read.
pub(super) struct Read {
    pub(super) value: Value,
    /// Whether the text ended before anything of the value was said: `[{` holds no object yet.
    pub(super) is_void: bool,
}

/// What came last within brackets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    Bracket,
    Comma,
    Value,
}

impl Scan<'_> {
    /// Reads the value that stands here; there must be something other than a comma or a closing bracket.
    pub(super) fn value(&mut self, place: Place) -> Read {
        let byte = self.here();
        let is_bracket = matches!(byte, b'{' | b'[') || (byte == b'(' && self.is_tuple());
        if is_bracket && self.open.len() >= DEEPEST {
            self.report(self.pos, Fault::TooDeep);
            self.skip_brackets();
            return Read { value: Value::Null, is_void: false };
        }
        if is_bracket {
            self.open.push(byte);
            self.pos += 1;
            let read = if byte == b'{' { self.members() } else { self.items() };
            self.open.pop();
            return read;
        }
        if self.mark(self.pos).is_some() {
            let text = self.string(place);
            let is_void = text.is_cut && text.value.is_empty();
            return Read { value: Value::String(text.value), is_void };
        }
        let value = self.bare(place);
        let is_void = self.pos >= self.end && matches!(value.as_str(), Some("" | "-" | "+" | "."));
        Read { value: if is_void { Value::Null } else { value }, is_void }
    }

    /// Whether the parenthesis here holds values rather than an aside.
    pub(super) fn is_tuple(&self) -> bool {
        let next = self.skip_blank(self.pos + 1);
        self.mark(next).is_some() || matches!(self.byte(next), b'{' | b'[' | b'(' | b')' | b'-' | b'0'..=b'9')
    }

    /// Moves past balanced brackets without reading them.
    fn skip_brackets(&mut self) {
        let mut depth = 0_usize;
        let mut in_string = false;
        while self.pos < self.end {
            match self.here() {
                b'\\' if in_string => self.pos += 1,
                b'"' => in_string = !in_string,
                b'{' | b'[' | b'(' if !in_string => depth += 1,
                b'}' | b']' | b')' if !in_string => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.pos += 1;
            if depth == 0 {
                break;
            }
        }
        self.pos = self.pos.min(self.end);
        while !self.text.is_char_boundary(self.pos) {
            self.pos += 1;
        }
    }

    /// Reads the members of an object, from behind its opening bracket to behind its closing one.
    pub(super) fn members(&mut self) -> Read {
        let mut map = Map::new();
        let mut lone = Vec::new();
        let mut last = Last::Bracket;
        let mut last_key = None;
        loop {
            self.skip_space();
            if self.is_end(self.pos) {
                self.report_unclosed(last);
                let is_void = map.is_empty();
                return Read { value: Value::Object(map), is_void };
            }
            match self.here() {
                b'}' => {
                    self.close_bracket(last);
                    break;
                }
                b']' | b')' => {
                    if self.leaves_to_parent() {
                        break;
                    }
                }
                b',' | b';' => last = self.comma(last),
                b'{' if self.parent() == Some(b'[') => {
                    self.report(self.pos, Fault::MissingBracket);
                    break;
                }
                b'{' => self.drop_bracket(),
                b'[' => {
                    let items = self.value(Place::Member).value;
                    self.report(self.pos, Fault::MissingKey);
                    append(&mut map, last_key.as_deref(), items);
                    last = Last::Value;
                }
                _ if self.is_ellipsis(self.pos) => self.ellipsis(),
                _ => {
                    if last == Last::Value {
                        self.report(self.pos, Fault::MissingComma);
                    }
                    last = Last::Value;
                    last_key = self.member(&mut map, &mut lone);
                }
            }
        }
        if map.is_empty() && !lone.is_empty() {
            // `{"a", "b"}` is a Python set.
            self.report(self.pos, Fault::PythonLiteral);
            return Read { value: Value::Array(lone), is_void: false };
        }
        Read { value: Value::Object(map), is_void: false }
    }

    /// Reads a key and its value, and gives the key.
    fn member(&mut self, map: &mut Map<String, Value>, lone: &mut Vec<Value>) -> Option<String> {
        let begin = self.pos;
        let key = if self.mark(begin).is_some() {
            let text = self.string(Place::Key);
            if text.is_cut {
                return None;
            }
            Some(text.value)
        } else if self.here() == b':' {
            None
        } else {
            let Some(key) = self.bare_key() else {
                self.skip_stray();
                return None;
            };
            Some(key)
        };
        self.skip_space();
        let Some(has_colon) = self.colon() else {
            let is_cut = self.pos >= self.end;
            self.report(begin, if is_cut { Fault::Truncated } else { Fault::MissingValue });
            lone.extend(key.filter(|_| !is_cut).map(Value::String));
            return None;
        };
        let value = self.member_value();
        if !has_colon {
            self.report(begin, Fault::MissingColon);
        }
        match &key {
            Some(key) => drop(map.insert(key.clone(), value)),
            None => self.report(begin, Fault::MissingKey),
        }
        key
    }

    /// Moves past what separates a key from its value. Says whether it was a colon; nothing when there is no value.
    fn colon(&mut self) -> Option<bool> {
        let begin = self.pos;
        match self.here() {
            b':' => {
                while self.here() == b':' {
                    self.pos = self.skip_blank(self.pos + 1);
                }
                Some(true)
            }
            b'=' | b';' => {
                let is_arrow = self.byte(begin + 1) == b'>';
                self.pos = begin + if is_arrow { 2 } else { 1 };
                Some(false)
            }
            b',' | b'}' | b']' => None,
            _ if self.is_end(begin) => None,
            _ => Some(false),
        }
    }

    pub(super) fn member_value(&mut self) -> Value {
        self.pos = self.skip_blank(self.pos);
        // `#fff` is a colour; `# fff` is a comment.
        let is_word = self.here() == b'#' && self.byte(self.pos + 1).is_ascii_alphanumeric();
        if !is_word {
            self.skip_space();
        }
        let at = self.pos;
        if at >= self.end {
            self.report(at, Fault::Truncated);
            return Value::Null;
        }
        if self.is_ellipsis(at) {
            self.ellipsis();
            return Value::Null;
        }
        if matches!(self.here(), b',' | b';' | b'}' | b']') || self.is_end(at) {
            self.report(at, Fault::MissingValue);
            return Value::Null;
        }
        self.value(Place::Member).value
    }

    pub(super) fn parent(&self) -> Option<u8> {
        self.open.len().checked_sub(2).and_then(|i| self.open.get(i)).copied()
    }

    pub(super) fn close_bracket(&mut self, last: Last) {
        if last == Last::Comma {
            self.report(self.pos, Fault::ExtraComma);
        }
        self.pos += 1;
    }

    pub(super) fn comma(&mut self, last: Last) -> Last {
        if last != Last::Value {
            self.report(self.pos, Fault::ExtraComma);
        }
        self.pos += 1;
        Last::Comma
    }

    /// A bracket of the wrong kind: it closes something further out, or nothing and is dropped.
    pub(super) fn leaves_to_parent(&mut self) -> bool {
        let opener = match self.here() {
            b'}' => b'{',
            b']' => b'[',
            _ => b'(',
        };
        if self.open.contains(&opener) {
            self.report(self.pos, Fault::MissingBracket);
            return true;
        }
        self.drop_bracket();
        false
    }

    fn drop_bracket(&mut self) {
        self.report(self.pos, Fault::ExtraBracket);
        self.pos += 1;
    }

    pub(super) fn ellipsis(&mut self) {
        self.report(self.pos, Fault::Ellipsis);
        self.pos += 3; // three dots, or the three bytes of their one character
    }

    pub(super) fn report_unclosed(&mut self, last: Last) {
        let is_cut = self.pos >= self.end && last == Last::Comma;
        self.report(self.pos, if is_cut { Fault::Truncated } else { Fault::MissingBracket });
    }
}

/// Adds a list without a key to the list before it: `"a": [1], [2]`.
fn append(map: &mut Map<String, Value>, key: Option<&str>, more: Value) {
    if let Some(Value::Array(items)) = key.and_then(|key| map.get_mut(key))
        && let Value::Array(more) = more
    {
        items.extend(more);
    }
}
