//! Reads strings: with any kind of quotes, with escapes, and with missing or extra quotes.

use super::JsonFault;
use super::quote::{StringContents, StringPlace};
use super::quote_mark::QuoteMark;
use super::scan::{LOOK_AHEAD, Scan};

/// Which bytes are always plain text inside a string.
const IS_TEXT: [bool; 256] = {
    let mut is_text = [true; 256];
    let special = b"\\:{}[]()\"'`\xC2\xE2";
    let mut i = 0;
    while i < special.len() {
        is_text[special[i] as usize] = false;
        i += 1;
    }
    let mut i = 0;
    while i < 0x20 {
        is_text[i] = false;
        i += 1;
    }
    is_text
};

/// A string as it was read.
pub(super) struct ParsedString {
    pub(super) value: String,
    /// Whether the text ended before the string did.
    pub(super) is_cut: bool,
}

/// A string while it is being read.
#[derive(Default)]
pub(super) struct StringDraft {
    pub(super) value: String,
    pub(super) inside: StringContents,
    /// Up to where the source has been copied to `value`.
    pub(super) copied: usize,
    /// The first colon: its position, and the length of the value there. A key whose closing quote is missing ends
    /// there.
    pub(super) colon: Option<(usize, usize)>,
    pub(super) curly_open: bool,
    pub(super) has_control: bool,
}

impl Scan<'_> {
    /// Reads the string whose opening quote is here, and any strings joined to it.
    pub(super) fn string(&mut self, place: StringPlace) -> ParsedString {
        let mut text = self.one_string(place);
        while place != StringPlace::Key && !text.is_cut {
            let Some(next) = self.joined(place) else { break };
            self.report(self.pos, JsonFault::Concatenation);
            self.pos = next;
            let more = self.one_string(place);
            text.value.push_str(&more.value);
            text.is_cut = more.is_cut;
        }
        text
    }

    /// Where a string that is joined to the one before begins: with `+`, or with nothing between them as in Python.
    fn joined(&self, place: StringPlace) -> Option<usize> {
        let next = self.skip_blank(self.pos);
        let after_plus = self.skip_blank(next + 1);
        if self.byte(next) == b'+' && self.mark(after_plus).is_some() {
            return Some(after_plus);
        }
        (place == StringPlace::Member && next > self.pos && self.is_continuation(next)).then_some(next)
    }

    fn one_string(&mut self, place: StringPlace) -> ParsedString {
        let Some(mark) = self.mark(self.pos) else { return ParsedString { value: String::new(), is_cut: false } };
        if mark.is_curly() {
            self.report(self.pos, JsonFault::CurlyQuotes);
        } else if mark != QuoteMark::Double {
            self.report(self.pos, JsonFault::SingleQuotes);
        }
        if let Some(text) = self.multiplied(mark, place) {
            return text;
        }
        let begin = self.pos;
        if let Some(text) = self.read_string(mark, place) {
            return text;
        }
        // No quote closed it. If a fence does, the text after the fence is not part of the string.
        let last = self.blank_before(self.end).saturating_sub(3);
        let is_only = self.find(begin, "```") == Some(last);
        let limit = self.find_last(begin, "\n```").or(is_only.then_some(last));
        let end = self.end;
        if let Some(limit) = limit {
            self.end = limit;
            self.pos = begin;
            if let Some(text) = self.read_string(mark, place) {
                self.end = end;
                return text;
            }
        }
        let text = self.unended(begin + mark.width(), place);
        self.end = end;
        text
    }

    /// Reads from the opening quote to the end of the string. Returns `None` if no quote closes it.
    fn read_string(&mut self, mark: QuoteMark, place: StringPlace) -> Option<ParsedString> {
        let repairs = self.repairs.len();
        let begin = self.pos + mark.width();
        let mut draft = StringDraft { copied: begin, ..StringDraft::default() };
        let mut i = begin;
        let bytes = self.text.as_bytes();
        while i < self.end {
            if bytes.get(i).is_some_and(|byte| IS_TEXT[usize::from(*byte)]) {
                i += 1;
                continue;
            }
            match self.byte(i) {
                b'\\' => {
                    draft.value.push_str(self.slice(draft.copied, i));
                    i = self.escape(i, &mut draft.value);
                    draft.copied = i;
                    continue;
                }
                b':' if draft.colon.is_none() => {
                    draft.value.push_str(self.slice(draft.copied, i));
                    draft.copied = i;
                    draft.colon = Some((i, draft.value.len()));
                }
                byte @ (b'{' | b'}' | b'[' | b']' | b'(' | b')') => draft.inside.bracket(byte),
                b'"' | b'\'' | b'`' | 0xC2 | 0xE2 => {
                    if let Some(found) = self.mark(i).filter(|found| mark.minds(*found)) {
                        if let Some(text) = self.at_quote(mark, found, i, place, &mut draft) {
                            return Some(text);
                        }
                        i += found.width();
                        continue;
                    }
                }
                0..0x20 if !draft.has_control => {
                    draft.has_control = true;
                    self.report(i, JsonFault::ControlCharacter);
                }
                _ => {}
            }
            i += 1;
        }
        self.forget_reports(repairs);
        None
    }

    /// Decides about a quote inside a string. Returns the string if it ends here.
    fn at_quote(
        &mut self,
        mark: QuoteMark,
        found: QuoteMark,
        at: usize,
        place: StringPlace,
        draft: &mut StringDraft,
    ) -> Option<ParsedString> {
        let after = at + found.width();
        if !mark.ends_with(found) {
            // Searching for the proper end of every such key would read the text once for each key.
            let is_unended_key = place == StringPlace::Key && draft.colon.is_some() && mark.may_end_with(found);
            if is_unended_key && !self.ends_string(after, place, draft.inside) {
                return self.end_at_colon(draft);
            }
            if found == QuoteMark::CurlyOpen && mark == QuoteMark::Double {
                draft.curly_open = true;
                return None;
            }
            let was_open = std::mem::take(&mut draft.curly_open);
            let may_end = mark.may_end_with(found) && !was_open && draft.inside.quotes == 0;
            // `it’s` in single quotes: the typographic apostrophe is text.
            let ends =
                || self.ends_string(after, place, draft.inside) && !self.has_true_end(after, place, draft.inside);
            if !may_end || mark == QuoteMark::Single || !ends() {
                return None;
            }
            self.report(at, JsonFault::CurlyQuotes);
            return Some(self.close(at, after, draft));
        }
        let is_unended_key =
            place == StringPlace::Key && draft.colon.is_some() && self.byte(self.skip_blank(after)) != b':';
        if is_unended_key {
            return self.end_at_colon(draft);
        }
        if self.ends_string(after, place, draft.inside) {
            let mut text = self.close(at, after, draft);
            self.skip_doubled_or_stray(found, place, draft.inside);
            if place == StringPlace::Key && text.value.ends_with('\n') {
                text.value.truncate(text.value.trim_end().len());
            }
            return Some(text);
        }
        if self.is_doubled_end(found, at, place, draft.inside) {
            self.report(at, JsonFault::InnerQuote);
            return Some(self.close(at, after + 1, draft));
        }
        if let Some(end) = self.end_before_next(at, place, draft) {
            draft.value.push_str(self.slice(draft.copied, end));
            draft.value.truncate(draft.value.trim_end().len());
            self.report(end, JsonFault::MissingQuote);
            let closes = self.walk_out(end).is_some_and(|(_, depth)| depth > 0);
            self.pos = if closes { end } else { self.blank_before(at) - 1 };
            return Some(ParsedString { value: std::mem::take(&mut draft.value), is_cut: false });
        }
        self.report(at, JsonFault::InnerQuote);
        draft.inside.quotes += 1;
        if !self.is_apostrophe(found, at) {
            draft.inside.is_quoting = !draft.inside.is_quoting;
        }
        None
    }

    fn close(&mut self, at: usize, after: usize, draft: &mut StringDraft) -> ParsedString {
        draft.value.push_str(self.slice(draft.copied, at));
        self.pos = after;
        ParsedString { value: std::mem::take(&mut draft.value), is_cut: false }
    }

    fn end_at_colon(&mut self, draft: &mut StringDraft) -> Option<ParsedString> {
        let (at, length) = draft.colon?;
        draft.value.truncate(length);
        draft.value.truncate(draft.value.trim_end().len());
        self.report(at, JsonFault::MissingQuote);
        self.pos = at;
        Some(ParsedString { value: std::mem::take(&mut draft.value), is_cut: false })
    }

    /// Whether a plain quote follows soon that is a better end of the string than a typographic one.
    fn has_true_end(&self, from: usize, place: StringPlace, inside: StringContents) -> bool {
        let mut at = from;
        while at < self.end.min(from + LOOK_AHEAD) {
            match self.byte(at) {
                b'"' => return self.ends_string(at + 1, place, inside),
                b'\\' => at += 2,
                _ => at += 1,
            }
        }
        false
    }

    fn is_apostrophe(&self, mark: QuoteMark, at: usize) -> bool {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric();
        mark == QuoteMark::Single && at > 0 && is_letter(self.byte(at - 1)) && is_letter(self.byte(at + 1))
    }
}
