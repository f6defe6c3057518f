//! Reads strings: in any quotes, with escapes, and with quotes that are missing or too many.

use super::Fault;
use super::mark::Mark;
use super::quote::{Inside, Place};
use super::scan::{LOOK_AHEAD, Scan};

/// Which bytes are nothing but text within a string.
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
pub(super) struct Text {
    pub(super) value: String,
    /// Whether the text ended before the string did.
    pub(super) is_cut: bool,
}

/// A string while it is being read.
#[derive(Default)]
struct Draft {
    value: String,
    inside: Inside,
    /// Up to where the source is already in `value`.
    copied: usize,
    /// The first colon: where it stands, and how long the value was then. A key whose end quote is missing ends there.
    colon: Option<(usize, usize)>,
    curly_open: bool,
    has_control: bool,
}

impl Scan<'_> {
    /// Reads the string whose opening quote stands here, and any that are joined to it.
    pub(super) fn string(&mut self, place: Place) -> Text {
        let mut text = self.one_string(place);
        while place != Place::Key && !text.is_cut {
            let Some(next) = self.joined(place) else { break };
            self.report(self.pos, Fault::Concatenation);
            self.pos = next;
            let more = self.one_string(place);
            text.value.push_str(&more.value);
            text.is_cut = more.is_cut;
        }
        text
    }

    /// Where a string begins that is joined to the one before: with `+`, or as Python does, with nothing.
    fn joined(&self, place: Place) -> Option<usize> {
        let next = self.skip_blank(self.pos);
        let after_plus = self.skip_blank(next + 1);
        if self.byte(next) == b'+' && self.mark(after_plus).is_some() {
            return Some(after_plus);
        }
        (place == Place::Member && next > self.pos && self.is_continuation(next)).then_some(next)
    }

    fn one_string(&mut self, place: Place) -> Text {
        let Some(mark) = self.mark(self.pos) else { return Text { value: String::new(), is_cut: false } };
        if mark.is_curly() {
            self.report(self.pos, Fault::CurlyQuotes);
        } else if mark != Mark::Double {
            self.report(self.pos, Fault::SingleQuotes);
        }
        if let Some(text) = self.multiplied(mark, place) {
            return text;
        }
        let begin = self.pos;
        if let Some(text) = self.read_string(mark, place) {
            return text;
        }
        // Nothing ended it. If a fence does, the text behind the fence is not part of the string.
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

    /// Reads the string whose quotes are escaped although it stands in none: `\"text\"`.
    pub(super) fn escaped_string(&mut self, place: Place) -> Option<String> {
        let begin = self.pos + 2;
        let end = (begin..self.end.min(begin + LOOK_AHEAD)).find(|at| self.byte(*at) == b'"')? - 1;
        if end < begin || self.byte(end) != b'\\' || !self.ends_string(end + 2, place, Inside::default()) {
            return None;
        }
        self.report(self.pos, Fault::NeedlessEscape);
        self.pos = end + 2;
        Some(self.slice(begin, end).to_owned())
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
        let is_empty = self.mark(begin + 2) == Some(mark) && self.mark(begin + 3) == Some(mark);
        if is_empty && self.ends_string(begin + 4, place, Inside::default()) {
            self.report(begin, Fault::ExtraQuote);
            self.pos = begin + 4;
            return Some(Text { value: String::new(), is_cut: false });
        }
        if self.mark(begin + 2) == Some(mark) && !self.no_more_triples {
            let fence = quote.repeat(3);
            let Some(inner_end) = self.find(begin + 3, &fence) else {
                self.no_more_triples = true;
                return None;
            };
            self.report(begin, Fault::ExtraQuote);
            self.pos = inner_end + 3;
            return Some(Text { value: self.slice(begin + 3, inner_end).to_owned(), is_cut: false });
        }
        let inner_end = self.find(begin + 2, quote)?;
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
        let mut draft = Draft { copied: begin, ..Draft::default() };
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
                    self.report(i, Fault::ControlCharacter);
                }
                _ => {}
            }
            i += 1;
        }
        self.forget_reports(repairs);
        None
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
        let is_unended_key = place == Place::Key && draft.colon.is_some() && self.byte(self.skip_blank(after)) != b':';
        if is_unended_key {
            return self.end_at_colon(draft);
        }
        if self.ends_string(after, place, draft.inside) {
            let mut text = self.close(at, after, draft);
            self.skip_doubled_or_stray(found, place, draft.inside);
            if place == Place::Key && text.value.ends_with('\n') {
                text.value.truncate(text.value.trim_end().len());
            }
            return Some(text);
        }
        if self.is_doubled_end(found, at, place, draft.inside) {
            self.report(at, Fault::InnerQuote);
            return Some(self.close(at, after + 1, draft));
        }
        if let Some(end) = self.end_before_next(at, place, draft) {
            draft.value.push_str(self.slice(draft.copied, end));
            draft.value.truncate(draft.value.trim_end().len());
            self.report(end, Fault::MissingQuote);
            let closes = self.walk_out(end).is_some_and(|(_, depth)| depth > 0);
            self.pos = if closes { end } else { self.blank_before(at) - 1 };
            return Some(Text { value: std::mem::take(&mut draft.value), is_cut: false });
        }
        self.report(at, Fault::InnerQuote);
        draft.inside.quotes += 1;
        if !self.is_apostrophe(found, at) {
            draft.inside.is_quoting = !draft.inside.is_quoting;
        }
        None
    }

    /// Moves past a doubled end quote, or a few characters that slipped in behind the end.
    fn skip_doubled_or_stray(&mut self, found: Mark, place: Place, inside: Inside) {
        let after = self.pos;
        let next = self.skip_blank(after);
        if place != Place::Key {
            let is_plain = matches!(self.byte(next), b',' | b'}' | b']' | b')' | b';') || self.is_end(next);
            let stray = if is_plain || self.is_comment(next) { None } else { self.after_stray(after, place, inside) };
            let joins = self.mark(next) == Some(Mark::Double) || self.byte(next) == b'+';
            if let Some(stop) = stray.filter(|_| !joins) {
                self.report(after, Fault::StrayText);
                self.pos = stop;
            }
            return;
        }
        if self.mark(after) == Some(found) && self.is_doubled_key_end(after, found) {
            self.report(after, Fault::ExtraQuote);
            self.pos = after + 1;
        } else if !matches!(self.byte(next), b':' | b'=')
            && let Some(stop) = self.after_key_stray(after)
        {
            self.report(after, Fault::StrayText);
            self.pos = stop;
        }
    }

    /// Whether the quote at `at` and the next one both end the string. After a digit the first stands for inches.
    fn is_doubled_end(&self, found: Mark, at: usize, place: Place, inside: Inside) -> bool {
        let after = at + found.width();
        found == Mark::Double
            && matches!(place, Place::Member | Place::Item)
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
        if place == Place::Member
            && let Some(end) = self.end_before_known_key(at).filter(|end| *end >= draft.copied)
        {
            return Some(end);
        }
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
        let end = self.text.get(..comma.unwrap_or(before))?.trim_end_matches(',').trim_end().len();
        let end = if comma.is_some() { self.before_brackets(end, draft.inside.surplus) } else { end };
        Some(end).filter(|end| *end >= draft.copied)
    }

    /// Where the brackets begin that stand before `end` and close nothing in the string, at most `surplus` of them.
    /// They close what is open around it, or else one of them stands where the end quote should.
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

    /// Where the text before a key ends that the schema knows and whose last quote stands at `at`: `text, key": 1`.
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
            value.truncate(value.trim_end().len());
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
