//! Reads arrays and tuples, and members of objects inside them whose brackets are missing.

use serde_json::{Map, Value};

use super::JsonFault;
use super::bracket::LastToken;
use super::parser::ParsedValue;
use super::quote::StringPlace;
use super::scan::Scan;

impl Scan<'_> {
    /// Reads the items of an array or a tuple, from after its opening bracket to after its closing one.
    pub(super) fn items(&mut self) -> ParsedValue {
        let is_tuple = self.open.last() == Some(&b'(');
        if is_tuple {
            self.report(self.pos - 1, JsonFault::PythonLiteral);
        }
        let mut items: Vec<Value> = Vec::new();
        let mut last = LastToken::Bracket;
        let mut has_bare_members = false;
        loop {
            self.skip_space();
            let at = self.pos;
            if self.is_end(at) {
                self.report_unclosed(last);
                let is_void = items.is_empty();
                return ParsedValue { value: Value::Array(items), is_void };
            }
            match self.here() {
                b']' if !is_tuple => {
                    self.close_bracket(last);
                    break;
                }
                b')' if is_tuple => {
                    self.pos += 1;
                    // `("x")` is a value in parentheses; `("x",)` is a tuple of one.
                    if last == LastToken::Value && items.len() == 1 {
                        return ParsedValue { value: items.pop().unwrap_or_default(), is_void: false };
                    }
                    break;
                }
                b'}' if has_bare_members => {
                    has_bare_members = false;
                    self.pos += 1;
                }
                b'}' | b']' | b')' => {
                    if self.leaves_to_parent() {
                        break;
                    }
                }
                b',' | b';' => last = self.comma(last),
                b':' => {
                    self.report(at, JsonFault::StrayText);
                    self.pos += 1;
                }
                _ if self.is_ellipsis(at) => self.ellipsis(),
                _ => {
                    let reports = self.repairs.len();
                    if last == LastToken::Value {
                        self.report(at, JsonFault::MissingComma);
                    }
                    last = LastToken::Value;
                    let read = self.value(StringPlace::Item);
                    if read.is_void {
                        self.report(at, if self.pos >= self.end { JsonFault::Truncated } else { JsonFault::StrayText });
                        continue;
                    }
                    let Some(key) = self.key_of_member(&read.value) else {
                        has_bare_members = false;
                        items.push(read.value);
                        continue;
                    };
                    if self.parent() == Some(b'{') && !has_bare_members && is_foreign(&key, items.last()) {
                        self.forget_reports(reports);
                        self.report(at, JsonFault::MissingBracket);
                        self.pos = at;
                        break;
                    }
                    self.report(at, JsonFault::MissingBracket);
                    self.pos += 1;
                    let value = self.member_value();
                    match items.last_mut() {
                        Some(Value::Object(map)) if has_bare_members => drop(map.insert(key, value)),
                        Some(_) | None => items.push(Value::Object(Map::from_iter([(key, value)]))),
                    }
                    has_bare_members = true;
                }
            }
        }
        ParsedValue { value: Value::Array(items), is_void: false }
    }

    /// The text of an item that turns out to be a key, because a colon follows it.
    fn key_of_member(&mut self, item: &Value) -> Option<String> {
        let key = item.as_str()?;
        let next = self.skip_blank(self.pos);
        if self.byte(next) != b':' {
            return None;
        }
        self.pos = next;
        Some(key.to_owned())
    }
}

/// Whether a key in a list belongs to the object around the list, as in `{"a": [1, "b": 2}`: the item before it has no
/// such key. Otherwise only the opening bracket of the list's next object is missing.
fn is_foreign(key: &str, before: Option<&Value>) -> bool {
    match before {
        Some(Value::Object(map)) => !map.contains_key(key),
        Some(_) => true,
        None => false,
    }
}
