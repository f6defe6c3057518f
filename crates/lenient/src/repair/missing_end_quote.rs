//! Finds the end of a string whose closing quote is missing: before the next key, a bracket, or the end of the text.

use super::JsonFault;
use super::quote::{StringContents, StringPlace};
use super::scan::Scan;
use super::string::{ParsedString, StringDraft};

impl Scan<'_> {
    /// Where the string ends if the quote at `at` opens the next key or item and the string's own closing quote is
    /// missing.
    pub(super) fn end_before_next(&self, at: usize, place: StringPlace, draft: &StringDraft) -> Option<usize> {
        if place == StringPlace::Member
            && let Some(end) = self.end_before_known_key(at).filter(|end| *end >= draft.copied)
        {
            return Some(end);
        }
        let before = self.blank_before(at);
        let comma = before.checked_sub(1).filter(|i| self.byte(*i) == b',');
        let is_new_line = self.slice(before, at).contains('\n');
        let is_next = match place {
            StringPlace::Member => (comma.is_some() || is_new_line) && self.is_quoted_key(at),
            StringPlace::Item => comma.is_some() && draft.inside.quotes == 0 && self.is_whole_string(at),
            StringPlace::Key | StringPlace::Alone => false,
        };
        let is_in_code = draft.inside.brackets > 0 && draft.inside.quotes > 0;
        if !is_next || draft.inside.is_quoting || is_in_code {
            return None;
        }
        let end = self.text.get(..comma.unwrap_or(before))?.trim_end_matches(',').trim_end().len();
        let end = if comma.is_some() { self.before_brackets(end, draft.inside.surplus) } else { end };
        Some(end).filter(|end| *end >= draft.copied)
    }

    /// The beginning of the brackets before `end` that close nothing inside the string, at most `surplus` of them. They
    /// close what is open around the string, or one of them is in the place of the closing quote.
    fn before_brackets(&self, end: usize, surplus: usize) -> usize {
        let mut at = end;
        for _ in 0..surplus.min(self.open.len()) {
            let before = self.blank_before(at);
            if !matches!(self.byte(before.wrapping_sub(1)), b'}' | b']') {
                break;
            }
            at = before - 1;
        }
        at
    }

    /// Where the text ends before a key that the schema knows and whose closing quote is at `at`: `text, key": 1`.
    fn end_before_known_key(&self, at: usize) -> Option<usize> {
        if self.keys.is_empty() || self.byte(self.skip_blank(at + 1)) != b':' {
            return None;
        }
        let before = self.text.get(..at)?;
        let is_known = |key: &&&str| before.ends_with(**key) && !key.is_empty();
        let begin = at - self.keys.iter().filter(is_known).map(|key| key.len()).max()?;
        let blank = self.blank_before(begin);
        let comma = blank.checked_sub(1).filter(|i| self.byte(*i) == b',');
        (blank < begin || comma.is_some()).then(|| comma.unwrap_or(blank))
    }

    /// Ends a string at the end of the text. Brackets that close open objects and lists are not part of it.
    pub(super) fn unended(&mut self, begin: usize, place: StringPlace) -> ParsedString {
        let mut value = String::new();
        let mut inside = StringContents::default();
        let mut colon = None;
        let mut copied = begin;
        let mut i = begin;
        let mut inner_quote = None;
        while i < self.end {
            match self.byte(i) {
                b'\\' => {
                    value.push_str(self.slice(copied, i));
                    i = self.escape(i, &mut value);
                    copied = i;
                    continue;
                }
                b':' if place == StringPlace::Key && colon.is_none() => {
                    colon = Some((i, value.len() + (i - copied)));
                }
                b'"' => inner_quote = inner_quote.or(Some(i)),
                byte => inside.bracket(byte),
            }
            i += 1;
        }
        value.push_str(self.slice(copied, self.end));
        if let Some((at, length)) = colon {
            value.truncate(length);
            value.truncate(value.trim_end().len());
            self.report(at, JsonFault::MissingQuote);
            self.pos = at;
            return ParsedString { value, is_cut: false };
        }
        if let Some(at) = inner_quote {
            self.report(at, JsonFault::InnerQuote);
        }
        let tail = self.closing_tail(inside.surplus).filter(|at| *at >= copied);
        let end = tail.unwrap_or(self.end);
        value.truncate(value.len() - (self.end - end));
        value.truncate(value.trim_end().len());
        self.report(end, if tail.is_some() { JsonFault::MissingQuote } else { JsonFault::TruncatedString });
        self.pos = end;
        ParsedString { value, is_cut: tail.is_none() }
    }

    /// The beginning of the brackets at the end of the text, at most `surplus` of them, if they close what is open.
    fn closing_tail(&self, surplus: usize) -> Option<usize> {
        let mut at = self.blank_before(self.end);
        let mut found = None;
        for _ in 0..surplus {
            if !matches!(self.byte(at.wrapping_sub(1)), b'}' | b']') {
                break;
            }
            at -= 1;
            found = Some(at);
            at = self.blank_before(at);
        }
        found
    }
}
