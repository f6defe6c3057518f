//! Reads strings: in any quotes, with escapes, and with quotes that are missing or too many.

use super::Fault;
use super::quote::{Inside, Place};
use super::scan::{LOOK_AHEAD, Mark, Scan};

/// A string as it was read.
pub(super) struct Text {
    pub(super) value: String,
    /// Whether the text ended before the string did.
    pub(super) is_cut: bool,
}

/// A string while it is being read.
struct Draft {
    value: String,
    inside: Inside,
    /// Up to where the source is already in `value`.
    copied: usize,
    /// The first colon: where it stands, and how long the value was then. A key whose end quote is missing ends there.
    colon: Option<(usize, usize)>,
    curly_open: bool,
}

impl Scan<'_> {
    /// Reads the string whose opening quote stands here, and any that are joined to it with `+`.
    pub(super) fn string(&mut self, place: Place) -> Text {
        let mut text = self.one_string(place);
        while place != Place::Key && !text.is_cut {
            let plus = self.skip_blank(self.pos);
            let next = self.skip_blank(plus + 1);
            if self.byte(plus) != b'+' || self.mark(next).is_none() {
                break;
            }
            self.report(plus, Fault::Concatenation);
            self.pos = next;
            let more = self.one_string(place);
            text.value.push_str(&more.value);
            text.is_cut = more.is_cut;
        }
        text
    }

    fn one_string(&mut self, place: Place) -> Text {
        let Some(mark) = self.mark(self.pos) else { return Text { value: String::new(), is_cut: false } };
        match mark {
            Mark::Double => {}
            Mark::Single => self.report(self.pos, Fault::SingleQuotes),
            Mark::CurlyOpen | Mark::CurlyClose | Mark::CurlySingleOpen | Mark::CurlySingleClose => {
                self.report(self.pos, Fault::CurlyQuotes);
            }
        }
        if let Some(text) = self.multiplied(mark, place) {
            return text;
        }
        let begin = self.pos;
        if let Some(text) = self.read_string(mark, place) {
            return text;
        }
        // Nothing ended it. If a fence does, the text behind the fence is not part of the string.
        let rest = self.slice(begin, self.end);
        let last = rest.trim_end().strip_suffix("```").filter(|body| !body.contains("```")).map(str::len);
        let limit = rest.rfind("\n```").or(last).map(|i| begin + i);
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

    /// Reads `""text""` and `"""text"""`.
    fn multiplied(&mut self, mark: Mark, place: Place) -> Option<Text> {
        let width = mark.width();
        let begin = self.pos;
        if !matches!(mark, Mark::Double | Mark::Single) || self.mark(begin + width) != Some(mark) {
            return None;
        }
        if self.ends_string(begin + 2, place, Inside::default()) {
            return None; // an empty string
        }
        let quote = self.slice(begin, begin + 1);
        if self.mark(begin + 2) == Some(mark) && !self.no_more_triples {
            let fence = quote.repeat(3);
            let Some(length) = self.slice(begin + 3, self.end).find(&fence) else {
                self.no_more_triples = true;
                return None;
            };
            let inner_end = begin + 3 + length;
            self.report(begin, Fault::ExtraQuote);
            self.pos = inner_end + 3;
            return Some(Text { value: self.slice(begin + 3, inner_end).to_owned(), is_cut: false });
        }
        let inner_end = begin + 2 + self.slice(begin + 2, self.end).find(quote)?;
        let inner = self.slice(begin + 2, inner_end);
        if inner.contains('\\') || inner.is_empty() {
            return None;
        }
        let is_doubled = self.mark(inner_end + 1) == Some(mark);
        let after = inner_end + if is_doubled { 2 } else { 1 };
        if !self.ends_string(after, place, Inside::default()) {
            return None;
        }
        self.report(begin, Fault::ExtraQuote);
        self.pos = after;
        Some(Text { value: inner.to_owned(), is_cut: false })
    }

    /// Reads from the opening quote to the end of the string, or nothing when no quote ends it.
    fn read_string(&mut self, mark: Mark, place: Place) -> Option<Text> {
        let repairs = self.repairs.len();
        let begin = self.pos + mark.width();
        let mut draft =
            Draft { value: String::new(), inside: Inside::default(), copied: begin, colon: None, curly_open: false };
        let mut i = begin;
        while i < self.end {
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
                b'"' | b'\'' | 0xE2 => {
                    if let Some(found) = self.mark(i) {
                        if let Some(text) = self.at_quote(mark, found, i, place, &mut draft) {
                            return Some(text);
                        }
                        i += found.width();
                        continue;
                    }
                }
                0..0x20 => self.report_control(repairs, i),
                _ => {}
            }
            i += 1;
        }
        self.repairs.truncate(repairs);
        None
    }

    fn report_control(&mut self, since: usize, at: usize) {
        let is_known =
            self.repairs.get(since..).is_some_and(|new| new.iter().any(|r| r.what == Fault::ControlCharacter));
        if !is_known {
            self.report(at, Fault::ControlCharacter);
        }
    }

    /// Looks at a quote within a string: gives the string if it ends here.
    fn at_quote(&mut self, mark: Mark, found: Mark, at: usize, place: Place, draft: &mut Draft) -> Option<Text> {
        let after = at + found.width();
        if !mark.ends_with(found) {
            // Looking on for the proper end of every such key would read the text once for each.
            let is_unended_key = place == Place::Key && draft.colon.is_some() && mark.may_end_with(found);
            if is_unended_key && !self.ends_string(after, place, draft.inside) {
                return self.end_at_colon(draft);
            }
            if found == Mark::CurlyOpen && mark == Mark::Double {
                draft.curly_open = true;
                return None;
            }
            let was_open = std::mem::take(&mut draft.curly_open);
            let may_end = mark.may_end_with(found) && !was_open && draft.inside.quotes == 0;
            // `it’s` in single quotes: the typographic apostrophe is text.
            let ends =
                || self.ends_string(after, place, draft.inside) && !self.has_true_end(after, place, draft.inside);
            if !may_end || mark == Mark::Single || !ends() {
                return None;
            }
            self.report(at, Fault::CurlyQuotes);
            return Some(self.close(at, after, draft));
        }
        if self.ends_string(after, place, draft.inside) {
            let text = self.close(at, after, draft);
            if place == Place::Key && self.mark(after) == Some(found) && self.byte(self.skip_blank(after + 1)) == b':' {
                self.report(after, Fault::ExtraQuote);
                self.pos = after + 1;
            }
            return Some(text);
        }
        if place == Place::Key && draft.colon.is_some() {
            return self.end_at_colon(draft);
        }
        if let Some(end) = self.end_before_next(at, place, draft) {
            draft.value.push_str(self.slice(draft.copied, end));
            draft.value.truncate(draft.value.trim_end().len());
            self.report(end, Fault::MissingQuote);
            self.pos = end;
            return Some(Text { value: std::mem::take(&mut draft.value), is_cut: false });
        }
        self.report(at, Fault::InnerQuote);
        draft.inside.quotes += 1;
        if !self.is_apostrophe(found, at) {
            draft.inside.is_quoting = !draft.inside.is_quoting;
        }
        None
    }

    fn close(&mut self, at: usize, after: usize, draft: &mut Draft) -> Text {
        draft.value.push_str(self.slice(draft.copied, at));
        self.pos = after;
        Text { value: std::mem::take(&mut draft.value), is_cut: false }
    }

    fn end_at_colon(&mut self, draft: &mut Draft) -> Option<Text> {
        let (at, length) = draft.colon?;
        draft.value.truncate(length);
        draft.value.truncate(draft.value.trim_end().len());
        self.report(at, Fault::MissingQuote);
        self.pos = at;
        Some(Text { value: std::mem::take(&mut draft.value), is_cut: false })
    }

    /// Where the string ends when the quote at `at` opens the next key or item and its own end quote is missing.
    fn end_before_next(&self, at: usize, place: Place, draft: &Draft) -> Option<usize> {
        let before = self.blank_before(at);
        let comma = before.checked_sub(1).filter(|i| self.byte(*i) == b',');
        let is_new_line = self.slice(before, at).contains('\n');
        let is_next = match place {
            Place::Member => (comma.is_some() || is_new_line) && self.is_quoted_key(at),
            Place::Item => comma.is_some() && draft.inside.quotes == 0 && self.is_whole_string(at),
            Place::Key | Place::Alone => false,
        };
        let is_in_code = draft.inside.brackets > 0 && draft.inside.quotes > 0;
        if !is_next || draft.inside.is_quoting || is_in_code {
            return None;
        }
        Some(comma.unwrap_or(before)).filter(|end| *end >= draft.copied)
    }

    /// Whether a plain quote soon follows that ends the string more properly than a typographic one would.
    fn has_true_end(&self, from: usize, place: Place, inside: Inside) -> bool {
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

    fn is_apostrophe(&self, mark: Mark, at: usize) -> bool {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric();
        mark == Mark::Single && at > 0 && is_letter(self.byte(at - 1)) && is_letter(self.byte(at + 1))
    }

    /// Ends a string at the end of the text. Brackets that close what is open are not part of it.
    fn unended(&mut self, begin: usize, place: Place) -> Text {
        let mut value = String::new();
        let mut inside = Inside::default();
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
                b':' if place == Place::Key && colon.is_none() => {
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
            self.report(at, Fault::MissingQuote);
            self.pos = at;
            return Text { value, is_cut: false };
        }
        if let Some(at) = inner_quote {
            self.report(at, Fault::InnerQuote);
        }
        let tail = self.closing_tail(inside.surplus).filter(|at| *at >= copied);
        let end = tail.unwrap_or(self.end);
        value.truncate(value.len() - (self.end - end));
        value.truncate(value.trim_end().len());
        self.report(end, if tail.is_some() { Fault::MissingQuote } else { Fault::TruncatedString });
        self.pos = end;
        Text { value, is_cut: tail.is_none() }
    }

    /// Where the brackets at the end of the text begin, at most `surplus` of them, if they close what is open.
    fn closing_tail(&self, surplus: usize) -> Option<usize> {
        let mut at = self.blank_before(self.end);
        let mut found = None;
        for _ in 0..surplus.min(self.open.len()) {
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
