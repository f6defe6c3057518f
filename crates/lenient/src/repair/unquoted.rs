//! Reads values without quotes: numbers, literals, and text whose quotes were forgotten.

use serde_json::Value;

use super::JsonFault;
use super::literal::{self, is_plain, read_literal, read_number};
use super::quote::{StringContents, StringPlace};
use super::quote_mark::QuoteMark;
use super::scan::{LOOK_AHEAD, Scan, trim};

/// Longer runs of words before a colon are prose, not a key.
const LONGEST_BARE_KEY: usize = 64;

impl Scan<'_> {
    /// Reads a number or literal in valid JSON form, if there is one here and its end is certain.
    pub(super) fn plain(&mut self, place: StringPlace) -> Option<Value> {
        if !matches!(self.here(), b'-' | b'0'..=b'9' | b't' | b'f' | b'n') {
            return None;
        }
        let end = self.end_of_word(self.pos);
        let next = self.skip_blank(end);
        let is_ended = match self.byte(next) {
            b'}' | b']' => true,
            b',' => place == StringPlace::Item || self.mark(self.skip_blank(next + 1)).is_some(),
            _ => false,
        };
        if !is_ended {
            return None;
        }
        let value = match self.slice(self.pos, end) {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "null" => Value::Null,
            word => Value::Number(serde_json::from_str(word).ok()?),
        };
        self.pos = end;
        Some(value)
    }

    /// Reads the value without quotes at this position.
    pub(super) fn bare(&mut self, place: StringPlace) -> Value {
        let begin = self.pos;
        let (end, after) = self.end_of_bare(place);
        self.pos = after;
        let token = trim(self.slice(begin, end));
        if end < after {
            self.report(end, JsonFault::MissingQuote);
            return read_number(token).map_or_else(|| Value::String(self.unescaped(begin, end)), |(number, _)| number);
        }
        let is_cut = after >= self.end;
        if let Some(value) = self.literal(begin, token, is_cut) {
            return value;
        }
        if let Some(value) = self.number(begin, token) {
            if is_cut {
                self.report(after, JsonFault::Truncated);
            }
            return value;
        }
        let core =
            token.trim_end_matches([':', '\'', '"', '\\', '[', ']', '{', '`', '-', '.', '+', '/', '=', '!', ';', '|']);
        if core.len() < token.len()
            && let Some((value, _)) = read_literal(core).or_else(|| read_number(core).map(|(value, _)| (value, None)))
        {
            self.report(begin + core.len(), JsonFault::StrayText);
            return value;
        }
        self.report(begin, JsonFault::UnquotedString);
        Value::String(token.to_owned())
    }

    /// The text from `begin` to `end` with its escapes resolved. A backslash at its beginning is in the place of the
    /// quote.
    fn unescaped(&mut self, begin: usize, end: usize) -> String {
        let mut text = String::new();
        let mut copied = begin + usize::from(self.byte(begin) == b'\\');
        let mut i = copied;
        while i < end {
            if self.byte(i) == b'\\' {
                text.push_str(self.slice(copied, i));
                i = self.escape(i, &mut text);
                copied = i;
            } else {
                i += 1;
            }
        }
        text.push_str(self.slice(copied, end));
        trim(&text).to_owned()
    }

    /// Where the text ends, and where reading continues: after a quote, if only the opening quote was forgotten.
    fn end_of_bare(&self, place: StringPlace) -> (usize, usize) {
        let begin = self.pos;
        if let Some(quote) = self.end_quote_ahead(begin).filter(|_| place == StringPlace::Member) {
            return (quote, quote + 1);
        }
        let mut i = begin;
        let mut has_blank = false;
        let mut depth = 0_usize;
        while i < self.end {
            let is_apart = i > begin && self.byte(i - 1) <= b' ';
            let stops = match self.byte(i) {
                b'\n' => depth == 0 || !self.is_function(begin, i),
                b'{' | b'[' if i > begin && is_plain(self.slice(begin, i)) => {
                    self.mark(self.skip_blank(i + 1)).is_some()
                }
                b'{' | b'[' | b'(' => {
                    depth += 1;
                    false
                }
                b'}' | b']' | b')' => {
                    let is_outer = depth == 0;
                    depth = depth.saturating_sub(1);
                    is_outer
                }
                b',' | b';' | b'|' if depth > 0 => self.is_quoted_key(self.skip_blank(i + 1)),
                b',' | b';' => place == StringPlace::Item || self.is_separated_at(i + 1),
                b'|' => is_apart && self.is_quoted_key(self.skip_blank(i + 1)),
                b':' => place == StringPlace::Item && self.byte(i + 1) == b' ' && is_plain(self.slice(begin, i)),
                b'`' => self.is_end(i),
                b'#' | b'/' | b'<' => is_apart && self.is_comment(i),
                b' ' | b'\t' if !has_blank => {
                    has_blank = true;
                    self.is_complete(begin, i, place)
                }
                b'"' | b'\'' => {
                    let is_number =
                        || is_plain(self.slice(begin, i).trim_end_matches(['-', '.', '+', '/', '\\', '\'']));
                    let is_apart = is_apart || (i > begin && is_number() && self.has_colon(i));
                    let opens = is_apart
                        && (place == StringPlace::Item || self.is_quoted_key(i) || self.is_colonless_key(begin, i));
                    if !opens
                        && i > begin
                        && self.byte(i) == b'"'
                        && self.ends_string(i + 1, place, StringContents::default())
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

    /// The closing quote of a text whose opening quote is missing: the next quote, if it comes directly after a word
    /// and is followed by a key or the end.
    fn end_quote_ahead(&self, begin: usize) -> Option<usize> {
        let rest = self.slice(begin, self.end);
        let length = rest.bytes().take(LOOK_AHEAD).position(|b| matches!(b, b'"' | b'\n' | b'{' | b'['))?;
        let quote = begin + length;
        let first = self.slice(begin, self.end_of_word(begin));
        let is_text = self.byte(quote) == b'"' && length > 0 && !matches!(self.byte(quote - 1), 0..=b' ' | b',' | b':');
        (is_text && !is_plain(first) && self.closes_member(quote + 1)).then_some(quote)
    }

    /// Whether there is a plain value before the quote at `at`, which begins a key without a colon: `1 "b" 2`.
    fn is_colonless_key(&self, begin: usize, at: usize) -> bool {
        let begins_value = |after| self.begins_apart(after) || self.is_continuation(self.skip_blank(after));
        is_plain(trim(self.slice(begin, at))) && self.end_of_quoted(at).is_some_and(begins_value)
    }

    /// Whether what was read so far begins a function, which may span several lines.
    fn is_function(&self, begin: usize, at: usize) -> bool {
        self.starts(begin, "function")
            || self.starts(begin, "async")
            || self.slice(begin, at.min(begin + 64)).contains("=>")
    }

    /// Whether the comma before `at` ends a value, rather than being part of it as in `1,000`.
    fn is_separated_at(&self, at: usize) -> bool {
        let next = self.skip_blank(at);
        self.is_end(next)
            || matches!(self.byte(next), b'{' | b'}' | b']' | b',' | b':')
            || self.slice(at, next).contains('\n')
            || self.is_comment(next)
            || self.is_ellipsis(next)
            || self.mark(next).is_some()
            || self.is_bare_key(next)
            || self.is_assigned_key(next)
            || self.is_wordy_key(next)
            || self.is_stray_before_key(next)
    }

    /// Whether the word before the blank at `at` is a value by itself and the next word begins another.
    fn is_complete(&self, begin: usize, at: usize, place: StringPlace) -> bool {
        if !is_plain(self.slice(begin, at)) {
            return false;
        }
        let next = self.skip_blank(at);
        match place {
            StringPlace::Item => {
                is_plain(self.slice(next, self.end_of_word(next))) || matches!(self.byte(next), b'{' | b'[')
            }
            StringPlace::Member | StringPlace::Key | StringPlace::Alone => {
                let is_literal = |from, to| literal::is_literal(self.slice(from, to));
                (self.is_bare_key(next) && next < self.end)
                    || (is_literal(begin, at) && is_literal(next, self.end_of_word(next)))
            }
        }
    }

    fn literal(&mut self, at: usize, token: &str, is_cut: bool) -> Option<Value> {
        if is_cut && !token.is_empty() {
            for (word, value) in [("true", Value::Bool(true)), ("false", Value::Bool(false)), ("null", Value::Null)] {
                if word.starts_with(token) {
                    self.report(self.end, JsonFault::Truncated);
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
            self.report(at, JsonFault::BadNumber);
        }
        Some(value)
    }

    /// Reads a key without quotes, or with only its closing quote, if one with its colon is here.
    pub(super) fn bare_key(&mut self) -> Option<String> {
        let begin = self.pos;
        let mut i = begin;
        while i < self.end && i - begin <= LONGEST_BARE_KEY {
            match self.byte(i) {
                b':' | b'=' => break,
                b'\n' if self.byte(self.skip_blank(i)) == b':' => i = self.skip_blank(i),
                b',' | b'{' | b'}' | b'[' | b']' | b'\n' | b';' => return None,
                // A sentence, not a key.
                b' ' if i > begin && matches!(self.byte(i - 1), b'.' | b'!' | b'?') => return None,
                _ => i += self.width(i),
            }
        }
        if !matches!(self.byte(i), b':' | b'=') || i == begin {
            return None;
        }
        let key = self.slice(begin, i).trim().trim_start_matches('\\');
        let unquoted = key.trim_end_matches(['"', '\'']);
        if unquoted.contains('"') {
            return None;
        }
        self.pos = i;
        if unquoted == key {
            self.report(begin, JsonFault::UnquotedKey);
            return Some(key.to_owned());
        }
        // The character in the place of the opening quote is not part of the key.
        self.report(begin, JsonFault::MissingQuote);
        Some(
            unquoted.trim_start_matches(|c: char| c.is_ascii_punctuation() && !matches!(c, '_' | '$' | '@')).to_owned(),
        )
    }

    /// Moves past text that is neither key nor value, at least one character.
    pub(super) fn skip_stray(&mut self) {
        let at = self.pos;
        let begin = at + self.width(at);
        let mut i = begin;
        while i < self.end && !matches!(self.byte(i), b',' | b'{' | b'}' | b'[' | b']' | b'\n') {
            let is_quote = matches!(self.mark(i), Some(QuoteMark::Double | QuoteMark::CurlyOpen));
            if (is_quote && self.is_quoted_key(i)) || self.is_end(i) {
                break;
            }
            i += 1;
        }
        self.pos = i;
        self.report(at, if i >= self.end { JsonFault::Truncated } else { JsonFault::StrayText });
    }
}
