//! Looks ahead in the text: is the next thing a key, a whole string, a word?
//!
//! Each check looks at a fixed number of bytes at most, or up to the next token, so that reading stays linear.

use super::literal::{is_literal, is_plain};
use super::quote_mark::QuoteMark;
use super::scan::{LOOK_AHEAD, Scan};

/// Longer runs of words before a colon are prose, not a key.
const LONGEST_WORDY_KEY: usize = 32;

impl Scan<'_> {
    /// Whether a quoted key and its colon stand at `at`.
    pub(super) fn is_quoted_key(&self, at: usize) -> bool {
        match self.quoted(at) {
            QuoteEnd::Ends { inner_end, after } => {
                let after = if self.byte(after) == b'"' { after + 1 } else { after };
                let next = self.skip_blank(after);
                self.byte(next) == b':'
                    || (self.byte(next) == b'=' && self.byte(next + 1) != b'=')
                    || self.after_key_stray(after).is_some()
                    || (self.begins_word(at)
                        && (is_unended_key(self.slice(at, inner_end)) || self.has_quote_in_key(after)))
            }
            QuoteEnd::CutOff => true,
            QuoteEnd::TooLong => false,
        }
    }

    /// Whether a quoted key with both its quotes and its colon stands at `at`.
    pub(super) fn has_colon(&self, at: usize) -> bool {
        if self.byte(at) == b'\'' && self.byte(at + 1) == b'"' {
            return false;
        }
        match self.quoted(at) {
            QuoteEnd::Ends { after, .. } => self.byte(self.skip_blank(after)) == b':',
            QuoteEnd::CutOff | QuoteEnd::TooLong => false,
        }
    }

    /// The text of the key quoted at `at`, as it is written.
    pub(super) fn key_at(&self, at: usize) -> Option<&str> {
        match self.quoted(at) {
            QuoteEnd::Ends { inner_end, .. } => Some(self.slice(at + self.mark(at)?.width(), inner_end)),
            QuoteEnd::CutOff | QuoteEnd::TooLong => None,
        }
    }

    /// The position after the closing quote of the string quoted at `at`.
    pub(super) fn end_of_quoted(&self, at: usize) -> Option<usize> {
        match self.quoted(at) {
            QuoteEnd::Ends { after, .. } => Some(after),
            QuoteEnd::CutOff | QuoteEnd::TooLong => None,
        }
    }

    /// Whether there is a quoted text at `at` that could be a key without a value, or without a colon.
    pub(super) fn is_lone_key(&self, at: usize) -> bool {
        match self.quoted(at) {
            QuoteEnd::Ends { after, .. } => {
                let next = self.skip_blank(after);
                self.is_end(next) || matches!(self.byte(next), b',' | b'}' | b'{' | b'[' | b'0'..=b'9' | b'"')
            }
            QuoteEnd::CutOff => true,
            QuoteEnd::TooLong => false,
        }
    }

    /// Whether the text quoted at `at` is followed by something that may follow a string in an array.
    pub(super) fn is_whole_string(&self, at: usize) -> bool {
        match self.quoted(at) {
            QuoteEnd::Ends { inner_end, after } => {
                let next = self.skip_blank(after);
                let is_comma = self.slice(at, inner_end).trim_start_matches(['"', '\'']).trim() == ",";
                !is_comma
                    && (self.is_end(next)
                        || matches!(self.byte(next), b',' | b']' | b'}' | b':')
                        || (next > after && matches!(self.byte(next), b'{' | b'[' | b'-' | b'0'..=b'9'))
                        || self.mark(next).is_some())
            }
            QuoteEnd::CutOff | QuoteEnd::TooLong => true,
        }
    }

    /// Whether there is a whole string at `at` that continues the value before it, as Python joins strings.
    pub(super) fn is_continuation(&self, at: usize) -> bool {
        match self.quoted(at) {
            QuoteEnd::Ends { inner_end, after } => {
                let next = self.skip_blank(after);
                let is_more = self.mark(next).is_some() && self.slice(after, next).contains('\n');
                let is_ended = matches!(self.byte(next), b',' | b'}');
                let inner = self.slice(at + 1, inner_end);
                (is_ended || is_more) && !inner.trim().is_empty() && !inner.starts_with([',', ':'])
            }
            QuoteEnd::CutOff | QuoteEnd::TooLong => false,
        }
    }

    /// Whether a key without quotes, or with only its last, stands at `at`, with its colon.
    pub(super) fn is_bare_key(&self, at: usize) -> bool {
        let word = self.end_of_word(at);
        if word == at {
            return false;
        }
        let quote = self.mark(word).map_or(0, QuoteMark::width);
        let next = self.skip_blank(word + quote);
        // A colon as in `http://` or `12:30` does not follow a key. A word that is cut off may be a key.
        (self.byte(next) == b':' && !self.starts(next, "://")) || next >= self.end
    }

    /// Whether a key without quotes and `=` or `=>` stand at `at`.
    pub(super) fn is_assigned_key(&self, at: usize) -> bool {
        let word = self.end_of_word(at);
        let next = self.skip_blank(word);
        word > at && self.byte(next) == b'=' && self.byte(next + 1) != b'='
    }

    /// Whether there is a key of several words without quotes at `at`, with its colon and a value that is not text.
    pub(super) fn is_wordy_key(&self, at: usize) -> bool {
        let is_part = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b' ' | b'@' | b'$') || b >= 0x80;
        let rest = self.slice(at, self.end);
        let Some(length) = rest.bytes().take(LONGEST_WORDY_KEY).position(|b| !is_part(b)) else { return false };
        let value = self.skip_blank(at + length + 1);
        let begins_value = self.mark(value).is_some()
            || matches!(self.byte(value), b'{' | b'[' | b'-' | b'0'..=b'9')
            || is_literal(self.slice(value, self.end_of_word(value)));
        length > 0 && self.byte(at + length) == b':' && begins_value
    }

    /// Whether a word stands at `at` with nothing between it and a closing bracket.
    pub(super) fn is_last_word(&self, at: usize) -> bool {
        let word = self.end_of_word(at);
        word > at && matches!(self.byte(self.skip_blank(word)), b'}' | b']')
    }

    fn begins_word(&self, quote: usize) -> bool {
        let first = self.byte(quote + self.mark(quote).map_or(1, QuoteMark::width));
        first.is_ascii_alphanumeric() || matches!(first, b'_' | b'$' | b'@' | 0x80..)
    }

    fn quoted(&self, at: usize) -> QuoteEnd {
        let Some(mark) = self.mark(at) else { return QuoteEnd::TooLong };
        let mut begin = at + mark.width();
        if self.mark(begin) == Some(mark) && self.byte(begin + 1).is_ascii_alphanumeric() {
            begin += mark.width(); // doubled quotes
        }
        let mut i = begin;
        while i < self.end && i - begin < LOOK_AHEAD {
            match self.mark(i) {
                Some(other) if mark.ends_with(other) || (i > begin && other == QuoteMark::Double) => {
                    return QuoteEnd::Ends { inner_end: i, after: i + other.width() };
                }
                Some(_) | None => i += if self.byte(i) == b'\\' { 2 } else { 1 },
            }
        }
        if i >= self.end { QuoteEnd::CutOff } else { QuoteEnd::TooLong }
    }
}

enum QuoteEnd {
    Ends { inner_end: usize, after: usize },
    CutOff,
    TooLong,
}

/// Whether `text` contains a key, its colon and perhaps a plain value before the next quote: then the key's closing
/// quote is missing.
fn is_unended_key(text: &str) -> bool {
    let Some((_, value)) = text.split_once(':') else { return false };
    let word = value.split([',', '}', '\n']).next().map_or("", str::trim);
    value.trim_end_matches([' ', '\n', '[', '{']).is_empty() || is_plain(word)
}
