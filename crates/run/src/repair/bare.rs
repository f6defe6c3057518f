//! Reads what stands without quotes: numbers, literals, and text whose quotes were forgotten.

use serde_json::{Number, Value};

use super::Fault;
use super::quote::{Inside, Place};
use super::scan::{Mark, Scan};

/// Longer runs of words before a colon are prose, not a key.
const LONGEST_BARE_KEY: usize = 64;

impl Scan<'_> {
    /// Reads the value without quotes that stands here.
    pub(super) fn bare(&mut self, place: Place) -> Value {
        let begin = self.pos;
        let (end, after) = self.end_of_bare(place);
        self.pos = after;
        let token = self.slice(begin, end).trim();
        if end < after {
            self.report(end, Fault::MissingQuote);
            return Value::String(token.to_owned());
        }
        let is_cut = after >= self.end;
        if let Some(value) = self.literal(begin, token, is_cut) {
            return value;
        }
        if let Some(value) = self.number(begin, token) {
            if is_cut {
                self.report(after, Fault::Truncated);
            }
            return value;
        }
        self.report(begin, Fault::UnquotedString);
        Value::String(token.to_owned())
    }

    /// Where the text ends, and where reading goes on: behind a quote, if only the first was forgotten.
    fn end_of_bare(&self, place: Place) -> (usize, usize) {
        let begin = self.pos;
        let mut i = begin;
        let mut has_blank = false;
        let mut depth = 0_usize;
        while i < self.end {
            let is_apart = i > begin && self.byte(i - 1) <= b' ';
            let stops = match self.byte(i) {
                b'\n' => true,
                b'{' | b'[' | b'(' => {
                    depth += 1;
                    false
                }
                b'}' | b']' | b')' => {
                    let is_outer = depth == 0;
                    depth = depth.saturating_sub(1);
                    is_outer
                }
                b',' | b';' => place == Place::Item || self.is_separated_at(i + 1),
                b'`' => self.is_end(i),
                b'#' | b'/' => is_apart && self.is_comment(i),
                b' ' | b'\t' if !has_blank => {
                    has_blank = true;
                    self.is_complete(begin, i, place)
                }
                b'"' | b'\'' => {
                    let opens = is_apart && (place == Place::Item || self.is_quoted_key(i));
                    if !opens && i > begin && self.byte(i) == b'"' && self.ends_string(i + 1, place, Inside::default())
                    {
                        return (i, i + 1);
                    }
                    opens
                }
                _ => false,
            };
            if stops {
                break;
            }
            i += 1;
        }
        (i, i)
    }

    /// Whether the comma before `at` ends a value, rather than standing in it as in `1,000`.
    fn is_separated_at(&self, at: usize) -> bool {
        let next = self.skip_blank(at);
        self.is_end(next)
            || matches!(self.byte(next), b'{' | b'}' | b']' | b',' | b':')
            || self.is_comment(next)
            || self.is_ellipsis(next)
            || self.mark(next).is_some()
            || self.is_bare_key(next)
            || self.is_stray_before_key(next)
    }

    /// Whether the word before the blank at `at` is a value by itself and the next word begins another.
    fn is_complete(&self, begin: usize, at: usize, place: Place) -> bool {
        let word = self.slice(begin, at);
        if !is_literal(word) && read_number(word).is_none() {
            return false;
        }
        let next = self.skip_blank(at);
        let word = self.slice(next, self.end_of_word(next));
        match place {
            Place::Item => is_literal(word) || read_number(word).is_some() || matches!(self.byte(next), b'{' | b'['),
            Place::Member | Place::Key | Place::Alone => self.is_bare_key(next) && next < self.end,
        }
    }

    fn literal(&mut self, at: usize, token: &str, is_cut: bool) -> Option<Value> {
        if is_cut && !token.is_empty() {
            for (word, value) in [("true", Value::Bool(true)), ("false", Value::Bool(false)), ("null", Value::Null)] {
                if word.starts_with(token) {
                    self.report(self.end, Fault::Truncated);
                    return Some(value);
                }
            }
        }
        let (value, fault) = read_literal(token)?;
        if let Some(fault) = fault {
            self.report(at, fault);
        }
        Some(value)
    }

    fn number(&mut self, at: usize, token: &str) -> Option<Value> {
        let (value, is_exact) = read_number(token)?;
        if !is_exact {
            self.report(at, Fault::BadNumber);
        }
        Some(value)
    }

    /// Reads a key without quotes, or with only its last, if one and its colon stand here.
    pub(super) fn bare_key(&mut self) -> Option<String> {
        let begin = self.pos;
        let mut i = begin;
        while i < self.end && i - begin <= LONGEST_BARE_KEY {
            match self.byte(i) {
                b':' | b'=' => break,
                b',' | b'{' | b'}' | b'[' | b']' | b'\n' | b';' => return None,
                // A sentence, not a key.
                b' ' if i > begin && matches!(self.byte(i - 1), b'.' | b'!' | b'?') => return None,
                _ => i += self.width(i),
            }
        }
        if !matches!(self.byte(i), b':' | b'=') || i == begin {
            return None;
        }
        let key = self.slice(begin, i).trim();
        let unquoted = key.trim_end_matches(['"', '\'']);
        if unquoted.contains('"') {
            return None;
        }
        self.report(begin, if unquoted == key { Fault::UnquotedKey } else { Fault::MissingQuote });
        self.pos = i;
        Some(unquoted.to_owned())
    }

    /// Moves past text that is neither key nor value, at least one character.
    pub(super) fn skip_stray(&mut self) {
        let at = self.pos;
        let begin = at + self.width(at);
        let mut i = begin;
        while i < self.end && !matches!(self.byte(i), b',' | b'{' | b'}' | b'[' | b']' | b'\n') {
            let is_quote = matches!(self.mark(i), Some(Mark::Double | Mark::CurlyOpen));
            if (is_quote && self.is_quoted_key(i)) || self.is_end(i) {
                break;
            }
            i += 1;
        }
        self.pos = i;
        self.report(at, if i >= self.end { Fault::Truncated } else { Fault::StrayText });
    }
}

/// Whether `word` is a literal of JSON, Python or JavaScript.
pub(super) fn is_literal(word: &str) -> bool {
    read_literal(word).is_some()
}

fn read_literal(word: &str) -> Option<(Value, Option<Fault>)> {
    let exact = match word {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        "null" => Value::Null,
        "undefined" | "NaN" | "Infinity" | "-Infinity" | "+Infinity" => {
            return Some((Value::Null, Some(Fault::JavaScriptLiteral)));
        }
        _ => {
            let value = match word {
                "True" | "TRUE" => Value::Bool(true),
                "False" | "FALSE" => Value::Bool(false),
                "None" | "Null" | "NULL" | "NONE" => Value::Null,
                _ => return None,
            };
            return Some((value, Some(Fault::PythonLiteral)));
        }
    };
    Some((exact, None))
}

/// Reads a number as people write them, and tells whether JSON writes it the same way.
pub(super) fn read_number(token: &str) -> Option<(Value, bool)> {
    let (sign, rest) = match token.strip_prefix(['-', '+']) {
        Some(rest) if token.starts_with('-') => ("-", rest),
        Some(rest) => ("", rest),
        None => ("", token),
    };
    let (whole, rest) = digits(rest)?;
    let (fraction, rest, has_point) = match rest.strip_prefix('.') {
        Some(rest) => {
            let (fraction, rest) = digits(rest)?;
            (fraction, rest, true)
        }
        None => (String::new(), rest, false),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let exponent = match rest.strip_prefix(['e', 'E']) {
        Some(rest) => {
            let sign = if rest.starts_with('-') { "-" } else { "" };
            let (power, rest) = digits(rest.strip_prefix(['-', '+']).unwrap_or(rest))?;
            if !rest.is_empty() {
                return None;
            }
            if power.is_empty() { String::new() } else { format!("e{sign}{power}") }
        }
        None if rest.is_empty() => String::new(),
        None => return None,
    };
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let point = if has_point { "." } else { "" };
    let fraction = if has_point && fraction.is_empty() { "0" } else { &fraction };
    let written = format!("{sign}{whole}{point}{fraction}{exponent}");
    let is_exact = serde_json::from_str::<Number>(token).is_ok();
    // Beyond what a double holds there is no number to give.
    let value = serde_json::from_str::<Number>(&written).map_or(Value::Null, Value::Number);
    Some((value, is_exact))
}

/// Digits at the start of `text`, without the underscores between them, and what follows.
fn digits(text: &str) -> Option<(String, &str)> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '_')).unwrap_or(text.len());
    let (run, rest) = text.split_at_checked(end)?;
    if run.starts_with('_') || run.ends_with('_') {
        return None;
    }
    Some((run.replace('_', ""), rest))
}
