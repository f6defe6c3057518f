//! Reads objects: their members, and other text in the place of a member.

use serde_json::{Map, Value};

use super::JsonFault;
use super::bracket::LastToken;
use super::literal::{is_plain, read_literal, read_number};
use super::parser::ParsedValue;
use super::quote::StringPlace;
use super::scan::{LOOK_AHEAD, Scan};

/// Values in an object that have no colon.
#[derive(Default)]
struct LoneValues {
    at: Option<usize>,
    values: Vec<Value>,
}

impl LoneValues {
    fn push(&mut self, at: usize, value: Value) {
        self.at = self.at.or(Some(at));
        self.values.push(value);
    }
}

impl Scan<'_> {
    /// Reads the members of an object, from after its opening bracket to after its closing one.
    pub(super) fn members(&mut self) -> ParsedValue {
        let mut map = Map::new();
        let mut lone = LoneValues::default();
        let mut last = LastToken::Bracket;
        let mut list_key = None;
        loop {
            self.skip_space();
            if self.is_end(self.pos) {
                self.report_unclosed(last);
                let is_void = map.is_empty();
                return ParsedValue { value: Value::Object(map), is_void };
            }
            match self.here() {
                b'}' => {
                    self.close_bracket(last);
                    break;
                }
                b']' | b'[' if last != LastToken::Value && self.begins_member(self.pos + 1) => self.drop_bracket(),
                b']' | b')' => {
                    if self.leaves_to_parent() {
                        break;
                    }
                }
                b',' | b';' => last = self.comma(last),
                b'{' if self.parent() == Some(b'[') && self.begins_next(&map, last) => {
                    self.report(self.pos, JsonFault::MissingBracket);
                    break;
                }
                b'{' => self.drop_bracket(),
                b'[' => {
                    let items = self.value(StringPlace::Member).value;
                    self.report(self.pos, JsonFault::MissingKey);
                    append(&mut map, list_key.as_deref(), items);
                    last = LastToken::Value;
                }
                _ if self.is_ellipsis(self.pos) => self.ellipsis(),
                b'"' | b'\'' if last == LastToken::Value && self.is_stray_quote() => {
                    self.report(self.pos, JsonFault::ExtraQuote);
                    self.pos += 1;
                }
                _ => {
                    if last == LastToken::Value {
                        self.report(self.pos, JsonFault::MissingComma);
                    }
                    last = LastToken::Value;
                    list_key = self.member(&mut map, &mut lone);
                }
            }
        }
        self.object_or_set(map, lone)
    }

    /// Whether the bracket here begins the next object of a list: there is no comma, or a key that this object already
    /// has follows.
    fn begins_next(&self, map: &Map<String, Value>, last: LastToken) -> bool {
        let key = self.skip_blank(self.pos + 1);
        match last {
            LastToken::Bracket => false,
            LastToken::Value => true,
            LastToken::Comma => !self.has_colon(key) || self.key_at(key).is_some_and(|key| map.contains_key(key)),
        }
    }

    /// `{"a", "b"}` is a Python set; if there are also members, a single value is a key without a value.
    fn object_or_set(&mut self, map: Map<String, Value>, lone: LoneValues) -> ParsedValue {
        let Some(at) = lone.at else { return ParsedValue { value: Value::Object(map), is_void: false } };
        if map.is_empty() {
            self.report(at, JsonFault::PythonLiteral);
            return ParsedValue { value: Value::Array(lone.values), is_void: false };
        }
        self.report(at, JsonFault::MissingValue);
        ParsedValue { value: Value::Object(map), is_void: false }
    }

    /// Reads a key and its value. Returns the key if the value is a list, because the list may continue.
    fn member(&mut self, map: &mut Map<String, Value>, lone: &mut LoneValues) -> Option<String> {
        self.skip_before_key();
        let begin = self.pos;
        let key = if self.mark(begin).is_some() {
            let text = self.string(StringPlace::Key);
            if text.is_cut {
                return None;
            }
            Some(text.value)
        } else if self.here() == b':' {
            None
        } else {
            let Some(key) = self.bare_key() else {
                match self.lone_word() {
                    Some(value) => lone.push(begin, value),
                    None => self.skip_stray(),
                }
                return None;
            };
            Some(key)
        };
        self.skip_space();
        self.skip_comma_for_colon(map);
        let Some(has_colon) = self.colon() else {
            if self.pos >= self.end {
                self.report(begin, JsonFault::Truncated);
            } else {
                lone.push(begin, Value::String(key.unwrap_or_default()));
            }
            return None;
        };
        let value = self.member_value();
        if !has_colon {
            self.report(begin, JsonFault::MissingColon);
        }
        let Some(key) = key else {
            self.report(begin, JsonFault::MissingKey);
            return None;
        };
        let list_key = value.is_array().then(|| key.clone());
        map.insert(key, value);
        list_key
    }

    /// Moves past an extra colon or quote before a key, such as Ruby's `:a => 1`.
    fn skip_before_key(&mut self) {
        let next = self.skip_blank(self.pos + self.width(self.pos));
        let is_stray = match self.here() {
            b':' => self.begins_member(next) || self.is_assigned_key(next),
            b'\'' => self.byte(self.pos + 1) == b'"' && self.has_colon(self.pos + 1),
            0xE2 => self.mark(self.pos).is_some_and(|mark| {
                self.byte(self.pos + mark.width()) == b'"' && self.has_colon(self.pos + mark.width())
            }),
            _ => false,
        };
        if is_stray {
            self.report(self.pos, JsonFault::StrayText);
            self.pos = next;
        }
    }

    /// Whether the quote here neither opens nor closes anything: a comma, a bracket or a whole key follows.
    fn is_stray_quote(&self) -> bool {
        let next = self.skip_blank(self.pos + 1);
        matches!(self.byte(next), b',' | b'}' | b']') || (self.byte(next) == b'"' && self.has_colon(next))
    }

    /// Whether a key and its colon stand at `at`.
    fn begins_member(&self, at: usize) -> bool {
        let next = self.skip_blank(at);
        next < self.end && (self.is_bare_key(next) || (self.mark(next).is_some() && self.has_colon(next)))
    }

    /// Reads a word or number with neither key nor colon, as in Python sets.
    fn lone_word(&mut self) -> Option<Value> {
        let begin = self.pos;
        let end = self.end_of_word(begin);
        if end == begin || !matches!(self.byte(self.skip_blank(end)), b',' | b'}') {
            return None;
        }
        self.pos = end;
        let word = self.slice(begin, end);
        let value = read_literal(word).map(|(value, _)| value).or_else(|| read_number(word).map(|(value, _)| value));
        Some(value.unwrap_or_else(|| Value::String(word.to_owned())))
    }

    /// Moves past a comma before or instead of a colon: `"a",: 1`, `"a", 1`.
    fn skip_comma_for_colon(&mut self, map: &Map<String, Value>) {
        if self.here() != b',' {
            return;
        }
        let next = self.skip_blank(self.pos + 1);
        let is_value = || {
            matches!(self.byte(next), b'{' | b'[')
                || (is_plain(self.slice(next, self.end_of_word(next))) && !self.is_bare_key(next))
        };
        if self.byte(next) == b':' || (!map.is_empty() && is_value()) {
            self.report(self.pos, JsonFault::MissingColon);
            self.pos = next;
        }
    }

    /// Moves past what separates a key from its value. Returns whether it was a colon, or `None` if there is no value.
    pub(super) fn colon(&mut self) -> Option<bool> {
        let begin = self.pos;
        match self.here() {
            b':' => {
                self.pos = self.skip_blank(begin + 1);
                while matches!(self.here(), b':' | b'=') {
                    self.report(self.pos, JsonFault::ExtraColon);
                    self.pos = self.skip_blank(self.pos + 1);
                }
                Some(true)
            }
            b'=' | b';' | b'-' if self.byte(begin + 1) == b'>' => {
                self.pos = begin + 2;
                Some(false)
            }
            b'=' | b';' => {
                self.pos = begin + 1;
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
            self.report(at, JsonFault::Truncated);
            return Value::Null;
        }
        if self.is_ellipsis(at) {
            self.ellipsis();
            return Value::Null;
        }
        let behind = self.skip_blank(at + 1);
        if self.here() == b']'
            && (self.mark(behind).is_some()
                || self.byte(behind).is_ascii_alphanumeric()
                || matches!(self.byte(behind), b'[' | b'{'))
        {
            self.drop_bracket();
            self.skip_space();
        } else if matches!(self.here(), b',' | b';' | b'}' | b']') || self.is_end(at) {
            self.report(at, JsonFault::MissingValue);
            return Value::Null;
        }
        if self.is_unopened_list() {
            self.report(self.pos, JsonFault::MissingBracket);
            self.open.push(b'[');
            let list = self.items().value;
            self.open.pop();
            return list;
        }
        self.value(StringPlace::Member).value
    }

    /// Whether several strings follow here up to a bracket that closes a list without an opening bracket:
    /// `"a": "x", "y"]`.
    fn is_unopened_list(&self) -> bool {
        if !matches!(self.here(), b'"' | b'\'') || self.parent() == Some(b'[') {
            return false;
        }
        let limit = self.pos + LOOK_AHEAD;
        let mut at = self.pos;
        let mut count = 0;
        while let Some(after) = self.end_of_quoted(at).filter(|after| *after < limit) {
            count += 1;
            let next = self.skip_blank(after);
            match self.byte(next) {
                b',' => at = self.skip_blank(next + 1),
                b']' => {
                    let behind = self.skip_blank(next + 1);
                    return count > 1 && (self.is_end(behind) || matches!(self.byte(behind), b',' | b'}'));
                }
                _ => return false,
            }
        }
        false
    }
}

/// Adds a list without a key to the list before it: `"a": [1], [2]`.
fn append(map: &mut Map<String, Value>, key: Option<&str>, more: Value) {
    if let Some(Value::Array(items)) = key.and_then(|key| map.get_mut(key))
        && let Value::Array(more) = more
    {
        let are_rows = !items.is_empty() && items.iter().all(Value::is_array);
        if are_rows { items.push(Value::Array(more)) } else { items.extend(more) }
    }
}
