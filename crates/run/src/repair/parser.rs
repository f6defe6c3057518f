//! The repairing parser: values, objects, and what stands where either should.

use serde_json::{Map, Value};

use super::Fault;
use super::literal::{is_literal, is_plain, read_literal, read_number};
use super::quote::Place;
use super::scan::{LOOK_AHEAD, Scan};

/// Deeper nesting is not an answer but a mistake, and would cost stack.
pub(super) const DEEPEST: usize = 200;

/// A value as it was read.
pub(super) struct Read {
    pub(super) value: Value,
    /// Whether the text ended before anything of the value was said: `[{` holds no object yet.
    pub(super) is_void: bool,
}

/// What stands in an object without a colon.
#[derive(Default)]
struct Lone {
    at: Option<usize>,
    values: Vec<Value>,
}

impl Lone {
    fn push(&mut self, at: usize, value: Value) {
        self.at = self.at.or(Some(at));
        self.values.push(value);
    }
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
        if let Some(value) = self.plain(place) {
            return Read { value, is_void: false };
        }
        if byte == b'\'' && self.byte(self.pos + 1) == b'"' && self.is_continuation(self.pos + 1) {
            self.report(self.pos, Fault::StrayText);
            self.pos += 1;
        }
        if byte == b'\\'
            && self.byte(self.pos + 1) == b'"'
            && let Some(text) = self.escaped_string(place)
        {
            return Read { value: Value::String(text), is_void: false };
        }
        if matches!(byte, b'\\' | b'-' | b'.' | b'*' | b'=' | b'?' | b'!') && self.skips_stray_sign() {
            return self.value(place);
        }
        if self.mark(self.pos).is_some() {
            let text = self.string(place);
            let is_void = text.is_cut && text.value.is_empty();
            return Read { value: Value::String(text.value), is_void };
        }
        if let Some(read) = self.wrapped(place) {
            return read;
        }
        let value = self.bare(place);
        let is_sign = |text: &str| text.len() <= 2 && text.bytes().all(|b| b.is_ascii_punctuation());
        let is_void = (self.pos >= self.end || place == Place::Item) && value.as_str().is_some_and(is_sign);
        Read { value: if is_void { Value::Null } else { value }, is_void }
    }

    /// Moves past a sign that stands before a value and is not part of it.
    fn skips_stray_sign(&mut self) -> bool {
        let next = self.skip_blank(self.pos + 1);
        let is_string = next == self.pos + 1 && (self.mark(next).is_some() || matches!(self.byte(next), b'{' | b'['));
        let is_escaped = self.here() == b'\\'
            && (self.mark(next).is_some()
                || matches!(self.byte(next), b'{' | b'[')
                || is_plain(self.slice(next, self.end_of_word(next))));
        if is_string || is_escaped {
            self.report(self.pos, if is_escaped { Fault::NeedlessEscape } else { Fault::StrayText });
            self.pos = next;
        }
        is_string || is_escaped
    }

    /// Whether the parenthesis here holds values rather than an aside.
    pub(super) fn is_tuple(&self) -> bool {
        let next = self.skip_blank(self.pos + 1);
        let begins_value = self.mark(next).is_some()
            || matches!(self.byte(next), b'{' | b'[' | b'(' | b')' | b'-' | b'0'..=b'9')
            || is_literal(self.slice(next, self.end_of_word(next)));
        begins_value && !self.follows_arrow(self.pos)
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
        let mut lone = Lone::default();
        let mut last = Last::Bracket;
        let mut list_key = None;
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
                b']' | b'[' if last != Last::Value && self.begins_member(self.pos + 1) => self.drop_bracket(),
                b']' | b')' => {
                    if self.leaves_to_parent() {
                        break;
                    }
                }
                b',' | b';' => last = self.comma(last),
                b'{' if self.parent() == Some(b'[') && self.begins_next(&map, last) => {
                    self.report(self.pos, Fault::MissingBracket);
                    break;
                }
                b'{' => self.drop_bracket(),
                b'[' => {
                    let items = self.value(Place::Member).value;
                    self.report(self.pos, Fault::MissingKey);
                    append(&mut map, list_key.as_deref(), items);
                    last = Last::Value;
                }
                _ if self.is_ellipsis(self.pos) => self.ellipsis(),
                b'"' | b'\'' if last == Last::Value && self.is_stray_quote() => {
                    self.report(self.pos, Fault::ExtraQuote);
                    self.pos += 1;
                }
                _ => {
                    if last == Last::Value {
                        self.report(self.pos, Fault::MissingComma);
                    }
                    last = Last::Value;
                    list_key = self.member(&mut map, &mut lone);
                }
            }
        }
        self.object_or_set(map, lone)
    }

    /// Whether the bracket here begins the next object of a list: without a comma, or with a key this one has already.
    fn begins_next(&self, map: &Map<String, Value>, last: Last) -> bool {
        let key = self.skip_blank(self.pos + 1);
        match last {
            Last::Bracket => false,
            Last::Value => true,
            Last::Comma => !self.has_colon(key) || self.key_at(key).is_some_and(|key| map.contains_key(key)),
        }
    }

    /// `{"a", "b"}` is a Python set; beside members, what stands alone is a key without a value.
    fn object_or_set(&mut self, map: Map<String, Value>, lone: Lone) -> Read {
        let Some(at) = lone.at else { return Read { value: Value::Object(map), is_void: false } };
        if map.is_empty() {
            self.report(at, Fault::PythonLiteral);
            return Read { value: Value::Array(lone.values), is_void: false };
        }
        self.report(at, Fault::MissingValue);
        Read { value: Value::Object(map), is_void: false }
    }

    /// Reads a key and its value, and gives the key if the value is a list: it may go on.
    fn member(&mut self, map: &mut Map<String, Value>, lone: &mut Lone) -> Option<String> {
        self.skip_before_key();
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
                self.report(begin, Fault::Truncated);
            } else {
                lone.push(begin, Value::String(key.unwrap_or_default()));
            }
            return None;
        };
        let value = self.member_value();
        if !has_colon {
            self.report(begin, Fault::MissingColon);
        }
        let Some(key) = key else {
            self.report(begin, Fault::MissingKey);
            return None;
        };
        let list_key = value.is_array().then(|| key.clone());
        map.insert(key, value);
        list_key
    }

    /// Moves past a colon or quote too many before a key, such as Ruby's `:a => 1`.
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
            self.report(self.pos, Fault::StrayText);
            self.pos = next;
        }
    }

    /// Whether the quote here neither opens nor ends anything: a comma, a bracket or a whole key follows.
    fn is_stray_quote(&self) -> bool {
        let next = self.skip_blank(self.pos + 1);
        matches!(self.byte(next), b',' | b'}' | b']') || (self.byte(next) == b'"' && self.has_colon(next))
    }

    /// Whether a key and its colon stand at `at`.
    fn begins_member(&self, at: usize) -> bool {
        let next = self.skip_blank(at);
        next < self.end && (self.is_bare_key(next) || (self.mark(next).is_some() && self.has_colon(next)))
    }

    /// Reads a word or number with neither key nor colon, as Python writes sets.
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

    /// Moves past a comma that stands before or instead of a colon: `"a",: 1`, `"a", 1`.
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
            self.report(self.pos, Fault::MissingColon);
            self.pos = next;
        }
    }

    /// Moves past what separates a key from its value. Says whether it was a colon; nothing when there is no value.
    fn colon(&mut self) -> Option<bool> {
        let begin = self.pos;
        match self.here() {
            b':' => {
                self.pos = self.skip_blank(begin + 1);
                while matches!(self.here(), b':' | b'=') {
                    self.report(self.pos, Fault::ExtraColon);
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
            self.report(at, Fault::Truncated);
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
            self.report(at, Fault::MissingValue);
            return Value::Null;
        }
        if self.is_unopened_list() {
            self.report(self.pos, Fault::MissingBracket);
            self.open.push(b'[');
            let list = self.items().value;
            self.open.pop();
            return list;
        }
        self.value(Place::Member).value
    }

    /// Whether strings follow each other here up to a bracket that closes a list nobody opened: `"a": "x", "y"]`.
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
        } else if self.here() == b';' {
            self.report(self.pos, Fault::MissingComma);
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
        if self.open.contains(&opener) && !self.closes_too_much() {
            self.report(self.pos, Fault::MissingBracket);
            return true;
        }
        if self.is_mistaken() {
            self.report(self.pos, Fault::MissingBracket);
            self.pos += 1;
            return true;
        }
        self.drop_bracket();
        false
    }

    /// Whether the bracket here, which closes nothing, stands for the right one: `{"a": {"b": 1], "c": 2}`.
    fn is_mistaken(&self) -> bool {
        let before = self.byte(self.blank_before(self.pos).wrapping_sub(1));
        let next = self.skip_blank(self.pos + 1);
        self.open.len() > 1 && before != self.here() && self.byte(next) == b','
    }

    /// Whether the wrong bracket here would close everything, though the right one follows it and then another member.
    fn closes_too_much(&self) -> bool {
        let right = match self.open.last() {
            Some(b'{') => b'}',
            Some(b'[') => b']',
            _ => b')',
        };
        let next = self.skip_blank(self.pos + 1);
        let comma = self.skip_blank(next + 1);
        if self.byte(self.pos + 1).is_ascii_digit() {
            return true; // a bracket does not stand right before a number
        }
        let goes_on = self.here() == b'}' && right == b']' && self.open.len() == 2;
        if goes_on && self.byte(next) == b',' && self.byte(comma) == b'[' {
            return true; // the list goes on
        }
        self.byte(next) == right
            && self.open.len() <= 2
            && self.byte(comma) == b','
            && self.has_colon(self.skip_blank(comma + 1))
    }

    fn drop_bracket(&mut self) {
        self.report(self.pos, Fault::ExtraBracket);
        self.pos += 1;
    }

    /// Moves past an ellipsis and what it says is left out: `... 7 more ...`.
    pub(super) fn ellipsis(&mut self) {
        self.report(self.pos, Fault::Ellipsis);
        self.pos += 3; // three dots, or the three bytes of their one character
        let rest = self.slice(self.pos, self.end);
        let stop =
            rest.bytes().take(64).position(|b| matches!(b, b',' | b']' | b'}' | b'\n' | b'"' | b'\'' | b'{' | b'['));
        if let Some(length) = stop
            && matches!(self.byte(self.pos + length), b',' | b']' | b'}' | b'\n')
        {
            self.pos += length;
        }
    }

    pub(super) fn report_unclosed(&mut self, last: Last) {
        let is_cut = match last {
            Last::Bracket => true,
            Last::Comma => self.pos >= self.end,
            Last::Value => false,
        };
        self.report(self.pos, if is_cut { Fault::Truncated } else { Fault::MissingBracket });
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
