//! Decides which quote ends a string, by looking a few tokens ahead.
//!
//! Models forget to escape quotes, so a quote ends a string only if what follows makes sense after a string.
//! Every look ahead ends at the next quote, comma or bracket, or after a fixed number of bytes, so reading stays linear.

use super::literal::{is_literal, is_plain};
use super::mark::Mark;
use super::scan::{LOOK_AHEAD, Scan};

/// As much may slip in between two tokens; more is text.
const LONGEST_STRAY: usize = 5;

/// Longer runs of words before a colon are prose, not a key.
const LONGEST_WORDY_KEY: usize = 32;

/// Where a string stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Key,
    /// The value of a key.
    Member,
    /// An item of an array.
    Item,
    /// Alone in the text.
    Alone,
}

/// What has been seen inside a string so far.
#[derive(Clone, Copy, Default)]
pub(super) struct Inside {
    /// Quotes that did not end the string.
    pub(super) quotes: usize,
    /// Whether the last of them opened something that is not yet closed.
    pub(super) is_quoting: bool,
    /// Brackets opened in the string and not closed in it.
    pub(super) brackets: usize,
    /// Brackets closed in the string and not opened in it.
    pub(super) surplus: usize,
}

impl Inside {
    pub(super) fn bracket(&mut self, byte: u8) {
        match byte {
            b'{' | b'[' | b'(' => self.brackets += 1,
            b'}' | b']' | b')' if self.brackets > 0 => self.brackets -= 1,
            b'}' | b']' => self.surplus += 1,
            _ => {}
        }
    }
}

impl Scan<'_> {
    /// Whether a quote that stops right before `after` ends a string that stands in `place`.
    pub(super) fn ends_string(&self, after: usize, place: Place, inside: Inside) -> bool {
        let next = self.skip_blank(after);
        if self.is_end(next) {
            return true;
        }
        match place {
            Place::Alone => false,
            Place::Key => self.ends_key(after, next),
            Place::Member | Place::Item => self.ends_value(after, next, place, inside),
        }
    }

    fn ends_key(&self, after: usize, next: usize) -> bool {
        let apart = next > after;
        match self.byte(next) {
            b':' | b'=' | b',' | b';' | b'}' | b'{' | b'[' | b'-' | b'0'..=b'9' => true,
            b'/' | b'#' if apart && self.is_comment(next) => true,
            _ if self.after_key_stray(after).is_some() => true,
            _ => match self.mark(next) {
                Some(mark) => apart || self.begins_after_key(next, mark),
                None => apart && is_literal(self.slice(next, self.end_of_word(next))),
            },
        }
    }

    /// Whether a quote right behind a key's quote is its doubled end, or begins the value.
    fn begins_after_key(&self, at: usize, mark: Mark) -> bool {
        self.is_doubled_key_end(at, mark) || self.is_continuation(at)
    }

    /// Whether the quote at `at`, right behind a key's own, is one too many: a colon or a value follows.
    pub(super) fn is_doubled_key_end(&self, at: usize, mark: Mark) -> bool {
        let after = at + mark.width();
        let next = self.skip_blank(after);
        self.byte(next) == b':' || (self.mark(next).is_some() && next > after) || self.begins_apart(after)
    }

    /// Where the value or its colon begins behind a character or two that slipped in after the key's quote.
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

    /// Whether blanks and then a value other than a string stand at `at`.
    fn begins_apart(&self, at: usize) -> bool {
        let next = self.skip_blank(at);
        let is_value = matches!(self.byte(next), b'{' | b'[' | b'-' | b'0'..=b'9')
            || is_literal(self.slice(next, self.end_of_word(next)));
        next > at && is_value
    }

    fn ends_value(&self, after: usize, next: usize, place: Place, inside: Inside) -> bool {
        let apart = next > after;
        let byte = self.byte(next);
        if inside.is_quoting && inside.brackets > 0 {
            // Code such as `f("a", "b")`: only the very end of the text can end the string here.
            return matches!(byte, b'}' | b']') && self.closes_everything(next);
        }
        let calm = !inside.is_quoting;
        match byte {
            b',' | b';' => self.follows_comma(next + 1, place, inside),
            b'}' | b']' | b')' => self.follows_brackets(next, inside),
            _ if calm && self.after_stray(after, place, inside).is_some() => true,
            b':' => place == Place::Item && inside.quotes == 0,
            b'+' => inside.quotes == 0 && self.mark(self.skip_blank(next + 1)).is_some(),
            b'/' | b'#' => apart && calm && self.is_comment(next),
            b'{' if place == Place::Member => {
                inside.quotes == 0 && self.parent() == Some(b'[') && self.has_colon(self.skip_blank(next + 1))
            }
            b'{' | b'[' => place == Place::Item && calm,
            b'0'..=b'9' | b'-' => place == Place::Item && apart && inside.quotes == 0,
            _ if self.mark(next).is_some() => match place {
                Place::Member => {
                    ((calm || apart) && self.is_quoted_key(next))
                        || (apart && inside.quotes == 0 && self.is_continuation(next))
                }
                Place::Item | Place::Key | Place::Alone => calm && self.is_whole_string(next),
            },
            _ if !apart || !calm => false,
            _ if inside.quotes == 0 && self.is_last_word(next) => true,
            _ => match place {
                Place::Member => self.is_bare_key(next),
                Place::Item => inside.quotes == 0 && is_literal(self.slice(next, self.end_of_word(next))),
                Place::Key | Place::Alone => false,
            },
        }
    }

    /// Whether what stands after a comma could be the next member or item.
    fn follows_comma(&self, at: usize, place: Place, inside: Inside) -> bool {
        let next = self.skip_blank(at);
        let calm = !inside.is_quoting;
        let untouched = inside.quotes == 0;
        if self.is_end(next) || self.is_ellipsis(next) {
            return true;
        }
        match self.byte(next) {
            b'}' | b']' | b')' | b',' => return calm,
            b'/' | b'#' if self.is_comment(next) => return calm,
            b'{' => return if place == Place::Item { calm } else { untouched },
            _ => {}
        }
        let is_quote = self.mark(next).is_some();
        match place {
            Place::Item if is_quote => calm || self.is_whole_string(next),
            Place::Item => match self.byte(next) {
                b'[' | b'-' | b'0'..=b'9' => calm,
                _ => untouched,
            },
            Place::Member | Place::Key | Place::Alone if is_quote => {
                self.is_quoted_key(next) || (untouched && self.is_lone_key(next))
            }
            Place::Member | Place::Key | Place::Alone => {
                self.is_bare_key(next)
                    || (untouched && self.is_bare_key_behind_sign(next))
                    || (calm && self.is_wordy_key(next))
                    || (untouched && (self.is_assigned_key(next) || self.is_stray_before_key(next)))
            }
        }
    }

    /// Where a few characters end that slipped in between a string and what follows it.
    pub(super) fn after_stray(&self, after: usize, place: Place, inside: Inside) -> Option<usize> {
        // With a blank before it and none behind it, a quote opens something.
        let opens = after >= 2 && self.byte(after - 2) <= b' ' && self.byte(after) > b' ';
        if place == Place::Item && self.byte(after) <= b' ' {
            return None; // more likely the next item
        }
        let end = self.end.min(after + LONGEST_STRAY);
        let is_stop = |at: &usize| matches!(self.byte(*at), b',' | b'}' | b']' | b'"' | b'\n');
        let stop = (after..end).find(is_stop).or((end == self.end).then_some(end)).filter(|_| !opens)?;
        let stray = self.slice(after, stop).trim();
        let is_string = stray.len() > 1 && stray.starts_with('\'') && stray.ends_with('\'');
        if is_string || (stray.contains(':') && (stray != ":" || place == Place::Item)) {
            return None;
        }
        let untouched = inside.quotes == 0;
        let next = self.skip_blank(stop + 1);
        let is_string = self.mark(next) == Some(Mark::Double);
        let goes_on = match (self.byte(stop), place) {
            (b',' | b'\n', Place::Member) => is_string && self.has_colon(next),
            (b',' | b'\n', Place::Item) => {
                let is_next =
                    if is_string { self.is_whole_string(next) } else { matches!(self.byte(next), b'{' | b'[') };
                untouched && is_next
            }
            (0, Place::Member | Place::Item) => untouched && stop == self.end,
            (b'"', Place::Member) => untouched && !stray.is_empty() && self.has_colon(stop),
            (b'}' | b']', Place::Member | Place::Item) => {
                let is_after = |(next, _)| self.is_end(next) || self.byte(next) == b',';
                untouched && self.walk_out(stop).is_some_and(is_after)
            }
            _ => false,
        };
        goes_on.then_some(stop)
    }

    /// Whether a member ends before `at`: a comma and a quoted key follow, or brackets that close everything.
    pub(super) fn closes_member(&self, at: usize) -> bool {
        let next = self.skip_blank(at);
        match self.byte(next) {
            b',' => self.has_colon(self.skip_blank(next + 1)),
            b'}' | b']' => self.walk_out(next).is_some_and(|(next, _)| self.is_end(next) || self.byte(next) == b','),
            _ => false,
        }
    }

    /// Where the string quoted at `at` ends, behind its quote.
    pub(super) fn end_of_quoted(&self, at: usize) -> Option<usize> {
        match self.quoted(at) {
            Quoted::Ends { after, .. } => Some(after),
            Quoted::CutOff | Quoted::TooLong => None,
        }
    }

    /// The text of the key quoted at `at`, as it is written.
    pub(super) fn key_at(&self, at: usize) -> Option<&str> {
        match self.quoted(at) {
            Quoted::Ends { inner_end, .. } => Some(self.slice(at + self.mark(at)?.width(), inner_end)),
            Quoted::CutOff | Quoted::TooLong => None,
        }
    }

    /// Whether a quoted key with both its quotes and its colon stands at `at`.
    pub(super) fn has_colon(&self, at: usize) -> bool {
        if self.byte(at) == b'\'' && self.byte(at + 1) == b'"' {
            return false;
        }
        match self.quoted(at) {
            Quoted::Ends { after, .. } => self.byte(self.skip_blank(after)) == b':',
            Quoted::CutOff | Quoted::TooLong => false,
        }
    }

    /// Whether the brackets at `at` close what is open, and something sensible follows them.
    fn follows_brackets(&self, at: usize, inside: Inside) -> bool {
        let calm = !inside.is_quoting;
        let Some((next, depth)) = self.walk_out(at) else { return calm && self.byte(at) != b')' };
        if self.is_end(next) {
            return true;
        }
        let has_line_end = self.slice(at, next).contains('\n');
        let Some(outer) = depth.checked_sub(1).and_then(|d| self.open.get(d)) else {
            return calm || has_line_end || matches!(self.byte(next), b'{' | b'[' | b'<');
        };
        match self.byte(next) {
            b',' => {
                let place = if *outer == b'{' { Place::Member } else { Place::Item };
                calm || self.follows_comma(next + 1, place, inside)
            }
            _ => calm,
        }
    }

    fn closes_everything(&self, at: usize) -> bool {
        self.walk_out(at).is_some_and(|(next, depth)| depth == 0 && self.is_end(next))
    }

    /// Follows closing brackets from `at` on. Gives what stands behind them and how many brackets remain open,
    /// or nothing when one of them closes nothing.
    pub(super) fn walk_out(&self, at: usize) -> Option<(usize, usize)> {
        let mut next = at;
        let mut depth = self.open.len();
        loop {
            let opener = match self.byte(next) {
                b'}' => b'{',
                b']' => b'[',
                b')' => b'(',
                _ => return Some((next, depth)),
            };
            match self.open.get(..depth)?.iter().rposition(|o| *o == opener) {
                Some(at) => depth = at,
                // A bracket too many behind the last one is no reason to doubt the string.
                None if depth == 0 => return Some((next, 0)),
                None => return None,
            }
            next = self.skip_blank(next + 1);
        }
    }

    /// Whether a quoted key and its colon stand at `at`.
    pub(super) fn is_quoted_key(&self, at: usize) -> bool {
        match self.quoted(at) {
            Quoted::Ends { inner_end, after } => {
                let after = if self.byte(after) == b'"' { after + 1 } else { after };
                let next = self.skip_blank(after);
                self.byte(next) == b':'
                    || (self.byte(next) == b'=' && self.byte(next + 1) != b'=')
                    || self.after_key_stray(after).is_some()
                    || (self.begins_word(at)
                        && (is_unended_key(self.slice(at, inner_end)) || self.has_quote_in_key(after)))
            }
            Quoted::CutOff => true,
            Quoted::TooLong => false,
        }
    }

    fn begins_word(&self, quote: usize) -> bool {
        let first = self.byte(quote + self.mark(quote).map_or(1, Mark::width));
        first.is_ascii_alphanumeric() || matches!(first, b'_' | b'$' | b'@' | 0x80..)
    }

    /// Whether a key goes on behind a quote within it: `"ke"y": 1`.
    fn has_quote_in_key(&self, after: usize) -> bool {
        let quote = self.end_of_word(after);
        quote > after
            && quote < after + LONGEST_STRAY
            && self.byte(quote) == b'"'
            && self.byte(self.skip_blank(quote + 1)) == b':'
    }

    /// Whether a quoted text that could be a key without a value, or without a colon, stands at `at`.
    fn is_lone_key(&self, at: usize) -> bool {
        match self.quoted(at) {
            Quoted::Ends { after, .. } => {
                let next = self.skip_blank(after);
                self.is_end(next) || matches!(self.byte(next), b',' | b'}' | b'{' | b'[' | b'0'..=b'9' | b'"')
            }
            Quoted::CutOff => true,
            Quoted::TooLong => false,
        }
    }

    /// Whether a whole string stands at `at` that goes on with the value before it, as Python joins strings.
    pub(super) fn is_continuation(&self, at: usize) -> bool {
        match self.quoted(at) {
            Quoted::Ends { inner_end, after } => {
                let next = self.skip_blank(after);
                let is_more = self.mark(next).is_some() && self.slice(after, next).contains('\n');
                let is_ended = matches!(self.byte(next), b',' | b'}');
                let inner = self.slice(at + 1, inner_end);
                (is_ended || is_more) && !inner.trim().is_empty() && !inner.starts_with([',', ':'])
            }
            Quoted::CutOff | Quoted::TooLong => false,
        }
    }

    /// Whether the text quoted at `at` is followed by something that may follow a string in an array.
    pub(super) fn is_whole_string(&self, at: usize) -> bool {
        match self.quoted(at) {
            Quoted::Ends { inner_end, after } => {
                let next = self.skip_blank(after);
                let is_comma = self.slice(at, inner_end).trim_start_matches(['"', '\'']).trim() == ",";
                !is_comma
                    && (self.is_end(next)
                        || matches!(self.byte(next), b',' | b']' | b'}' | b':')
                        || (next > after && matches!(self.byte(next), b'{' | b'[' | b'-' | b'0'..=b'9'))
                        || self.mark(next).is_some())
            }
            Quoted::CutOff | Quoted::TooLong => true,
        }
    }

    /// Whether a key without quotes, or with only its last, stands at `at`, with its colon.
    pub(super) fn is_bare_key(&self, at: usize) -> bool {
        let word = self.end_of_word(at);
        if word == at {
            return false;
        }
        let quote = self.mark(word).map_or(0, Mark::width);
        let next = self.skip_blank(word + quote);
        // A colon as in `http://` or `12:30` is no sign of a key, and a word cut off may be one.
        (self.byte(next) == b':' && !self.starts(next, "://")) || next >= self.end
    }

    /// Whether another sign stands at `at` instead of a key's first quote: `\key": 1`.
    fn is_bare_key_behind_sign(&self, at: usize) -> bool {
        let word = self.end_of_word(at + 1);
        self.byte(at).is_ascii_punctuation()
            && word > at + 1
            && self.byte(word) == b'"'
            && self.byte(self.skip_blank(word + 1)) == b':'
    }

    /// Whether a key without quotes and `=` or `=>` stand at `at`.
    pub(super) fn is_assigned_key(&self, at: usize) -> bool {
        let word = self.end_of_word(at);
        let next = self.skip_blank(word);
        word > at && self.byte(next) == b'=' && self.byte(next + 1) != b'='
    }

    /// Whether a key of several words without quotes stands at `at`, with its colon and a value that is no text.
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

    /// Whether a word that belongs to nothing stands at `at`, and a quoted key behind it.
    pub(super) fn is_stray_before_key(&self, at: usize) -> bool {
        let word = self.end_of_word(at);
        let next = self.skip_blank(word);
        let is_word = word > at && next > word && self.byte(next) == b'"' && self.is_quoted_key(next);
        is_word || {
            let quote = (at..self.end.min(at + LONGEST_STRAY)).find(|at| matches!(self.byte(*at), b'"' | b'\n'));
            quote.is_some_and(|quote| self.byte(quote) == b'"' && self.has_colon(quote))
        }
    }

    /// Whether a word stands at `at` with nothing between it and a closing bracket.
    fn is_last_word(&self, at: usize) -> bool {
        let word = self.end_of_word(at);
        word > at && matches!(self.byte(self.skip_blank(word)), b'}' | b']')
    }

    fn quoted(&self, at: usize) -> Quoted {
        let Some(mark) = self.mark(at) else { return Quoted::TooLong };
        let mut begin = at + mark.width();
        if self.mark(begin) == Some(mark) && self.byte(begin + 1).is_ascii_alphanumeric() {
            begin += mark.width(); // doubled quotes
        }
        let mut i = begin;
        while i < self.end && i - begin < LOOK_AHEAD {
            match self.mark(i) {
                Some(other) if mark.ends_with(other) || (i > begin && other == Mark::Double) => {
                    return Quoted::Ends { inner_end: i, after: i + other.width() };
                }
                Some(_) | None => i += if self.byte(i) == b'\\' { 2 } else { 1 },
            }
        }
        if i >= self.end { Quoted::CutOff } else { Quoted::TooLong }
    }
}

enum Quoted {
    Ends { inner_end: usize, after: usize },
    CutOff,
    TooLong,
}

/// Whether a key, its colon and perhaps a plain value stand in `text` up to the next quote: the key's own is missing.
fn is_unended_key(text: &str) -> bool {
    let Some((_, value)) = text.split_once(':') else { return false };
    let word = value.split([',', '}', '\n']).next().map_or("", str::trim);
    value.trim_end_matches([' ', '\n', '[', '{']).is_empty() || is_plain(word)
}
