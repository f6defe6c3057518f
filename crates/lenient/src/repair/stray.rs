//! Skips a few stray characters between two tokens.

use super::literal::is_literal;
use super::quote::{StringContents, StringPlace};
use super::quote_mark::QuoteMark;
use super::scan::Scan;

/// How many stray bytes are skipped between two tokens; more is text.
const LONGEST_STRAY: usize = 5;

impl Scan<'_> {
    /// Where a few stray characters between a string and what follows it end.
    pub(super) fn after_stray(&self, after: usize, place: StringPlace, inside: StringContents) -> Option<usize> {
        // A quote with a blank before it and none after it opens something.
        let opens = after >= 2 && self.byte(after - 2) <= b' ' && self.byte(after) > b' ';
        if place == StringPlace::Item && self.byte(after) <= b' ' {
            return None; // more likely the next item
        }
        let end = self.end.min(after + LONGEST_STRAY);
        let is_stop = |at: &usize| matches!(self.byte(*at), b',' | b'}' | b']' | b'"' | b'\n');
        let stop = (after..end).find(is_stop).or((end == self.end).then_some(end)).filter(|_| !opens)?;
        let stray = self.slice(after, stop).trim();
        let is_string = stray.len() > 1 && stray.starts_with('\'') && stray.ends_with('\'');
        if is_string || (stray.contains(':') && (stray != ":" || place == StringPlace::Item)) {
            return None;
        }
        let untouched = inside.quotes == 0;
        let next = self.skip_blank(stop + 1);
        let is_string = self.mark(next) == Some(QuoteMark::Double);
        let goes_on = match (self.byte(stop), place) {
            (b',' | b'\n', StringPlace::Member) => is_string && self.has_colon(next),
            (b',' | b'\n', StringPlace::Item) => {
                let is_next =
                    if is_string { self.is_whole_string(next) } else { matches!(self.byte(next), b'{' | b'[') };
                untouched && is_next
            }
            (0, StringPlace::Member | StringPlace::Item) => untouched && stop == self.end,
            (b'"', StringPlace::Member) => untouched && !stray.is_empty() && self.has_colon(stop),
            (b'}' | b']', StringPlace::Member | StringPlace::Item) => {
                let is_after = |(next, _)| self.is_end(next) || self.byte(next) == b',';
                untouched && self.walk_out(stop).is_some_and(is_after)
            }
            _ => false,
        };
        goes_on.then_some(stop)
    }

    /// Where the value or its colon begins after one or two stray characters behind the key's quote.
    pub(super) fn after_key_stray(&self, after: usize) -> Option<usize> {
        if self.byte(after) <= b' ' {
            return None;
        }
        let end = self.end.min(after + LONGEST_STRAY);
        let stop = (after..end).find(|at| matches!(self.byte(*at), b':' | b'"' | b',' | b'}' | b'\n' | b' '))?;
        match self.byte(stop) {
            b':' => Some(stop),
            b' ' if stop == after + 1 && (self.begins_apart(stop) || self.is_continuation(self.skip_blank(stop))) => {
                Some(stop)
            }
            _ => None,
        }
    }

    /// Whether the quote at `at`, directly after a key's own, is an extra one: a colon or a value follows.
    pub(super) fn is_doubled_key_end(&self, at: usize, mark: QuoteMark) -> bool {
        let after = at + mark.width();
        let next = self.skip_blank(after);
        self.byte(next) == b':' || (self.mark(next).is_some() && next > after) || self.begins_apart(after)
    }

    /// Whether there are blanks and then a value other than a string at `at`.
    pub(super) fn begins_apart(&self, at: usize) -> bool {
        let next = self.skip_blank(at);
        let is_value = matches!(self.byte(next), b'{' | b'[' | b'-' | b'0'..=b'9')
            || is_literal(self.slice(next, self.end_of_word(next)));
        next > at && is_value
    }

    /// Whether a key continues after a quote inside it: `"ke"y": 1`.
    pub(super) fn has_quote_in_key(&self, after: usize) -> bool {
        let quote = self.end_of_word(after);
        quote > after
            && quote < after + LONGEST_STRAY
            && self.byte(quote) == b'"'
            && self.byte(self.skip_blank(quote + 1)) == b':'
    }

    /// Whether there is a stray word at `at`, followed by a quoted key.
    pub(super) fn is_stray_before_key(&self, at: usize) -> bool {
        let word = self.end_of_word(at);
        let next = self.skip_blank(word);
        let is_word = word > at && next > word && self.byte(next) == b'"' && self.is_quoted_key(next);
        is_word || {
            let quote = (at..self.end.min(at + LONGEST_STRAY)).find(|at| matches!(self.byte(*at), b'"' | b'\n'));
            quote.is_some_and(|quote| self.byte(quote) == b'"' && self.has_colon(quote))
        }
    }

    /// Whether there is another character at `at` instead of a key's opening quote: `\key": 1`.
    pub(super) fn is_bare_key_behind_sign(&self, at: usize) -> bool {
        let word = self.end_of_word(at + 1);
        self.byte(at).is_ascii_punctuation()
            && word > at + 1
            && self.byte(word) == b'"'
            && self.byte(self.skip_blank(word + 1)) == b':'
    }
}
