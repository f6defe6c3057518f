//! Strings whose quotes are doubled, tripled or escaped, and stray characters after the end of a string.

use super::JsonFault;
use super::quote::{StringContents, StringPlace};
use super::quote_mark::QuoteMark;
use super::scan::{LOOK_AHEAD, Scan};
use super::string::ParsedString;

impl Scan<'_> {
    /// Reads a string whose own quotes are escaped although it is not inside another string: `\"text\"`.
    pub(super) fn escaped_string(&mut self, place: StringPlace) -> Option<String> {
        let begin = self.pos + 2;
        let end = (begin..self.end.min(begin + LOOK_AHEAD)).find(|at| self.byte(*at) == b'"')? - 1;
        if end < begin || self.byte(end) != b'\\' || !self.ends_string(end + 2, place, StringContents::default()) {
            return None;
        }
        self.report(self.pos, JsonFault::NeedlessEscape);
        self.pos = end + 2;
        Some(self.slice(begin, end).to_owned())
    }

    /// Reads `""text""` and `"""text"""`.
    pub(super) fn multiplied(&mut self, mark: QuoteMark, place: StringPlace) -> Option<ParsedString> {
        let width = mark.width();
        let begin = self.pos;
        if !matches!(mark, QuoteMark::Double | QuoteMark::Single) || self.mark(begin + width) != Some(mark) {
            return None;
        }
        if self.ends_string(begin + 2, place, StringContents::default()) {
            return None; // an empty string
        }
        let quote = self.slice(begin, begin + 1);
        let is_empty = self.mark(begin + 2) == Some(mark) && self.mark(begin + 3) == Some(mark);
        if is_empty && self.ends_string(begin + 4, place, StringContents::default()) {
            self.report(begin, JsonFault::ExtraQuote);
            self.pos = begin + 4;
            return Some(ParsedString { value: String::new(), is_cut: false });
        }
        if self.mark(begin + 2) == Some(mark) && !self.no_more_triples {
            let fence = quote.repeat(3);
            let Some(inner_end) = self.find(begin + 3, &fence) else {
                self.no_more_triples = true;
                return None;
            };
            self.report(begin, JsonFault::ExtraQuote);
            self.pos = inner_end + 3;
            return Some(ParsedString { value: self.slice(begin + 3, inner_end).to_owned(), is_cut: false });
        }
        let inner_end = self.find(begin + 2, quote)?;
        let inner = self.slice(begin + 2, inner_end);
        if inner.contains('\\') || inner.is_empty() {
            return None;
        }
        let is_doubled = self.mark(inner_end + 1) == Some(mark);
        let after = inner_end + if is_doubled { 2 } else { 1 };
        if !self.ends_string(after, place, StringContents::default()) {
            return None;
        }
        self.report(begin, JsonFault::ExtraQuote);
        self.pos = after;
        Some(ParsedString { value: inner.to_owned(), is_cut: false })
    }

    /// Moves past a doubled closing quote, or a few stray characters after the end.
    pub(super) fn skip_doubled_or_stray(&mut self, found: QuoteMark, place: StringPlace, inside: StringContents) {
        let after = self.pos;
        let next = self.skip_blank(after);
        if place != StringPlace::Key {
            let is_plain = matches!(self.byte(next), b',' | b'}' | b']' | b')' | b';') || self.is_end(next);
            let stray = if is_plain || self.is_comment(next) { None } else { self.after_stray(after, place, inside) };
            let joins = self.mark(next) == Some(QuoteMark::Double) || self.byte(next) == b'+';
            if let Some(stop) = stray.filter(|_| !joins) {
                self.report(after, JsonFault::StrayText);
                self.pos = stop;
            }
            return;
        }
        if self.mark(after) == Some(found) && self.is_doubled_key_end(after, found) {
            self.report(after, JsonFault::ExtraQuote);
            self.pos = after + 1;
        } else if !matches!(self.byte(next), b':' | b'=')
            && let Some(stop) = self.after_key_stray(after)
        {
            self.report(after, JsonFault::StrayText);
            self.pos = stop;
        }
    }

    /// Whether the quote at `at` and the next one both end the string. After a digit, the first means inches.
    pub(super) fn is_doubled_end(
        &self,
        found: QuoteMark,
        at: usize,
        place: StringPlace,
        inside: StringContents,
    ) -> bool {
        let after = at + found.width();
        found == QuoteMark::Double
            && matches!(place, StringPlace::Member | StringPlace::Item)
            && inside.quotes == 0
            && self.byte(after) == b'"'
            && !self.is_after_number(at)
            && self.ends_string(after + 1, place, inside)
    }

    fn is_after_number(&self, at: usize) -> bool {
        let before = self.text.as_bytes().get(at.saturating_sub(8)..at).unwrap_or(&[]);
        let word = before.rsplit(|b| !b.is_ascii_alphanumeric() && *b != b'.').next().unwrap_or(&[]);
        word.iter().any(u8::is_ascii_digit) && !word.iter().any(u8::is_ascii_alphabetic)
    }
}
