//! Decides which quote ends a string, by looking a few tokens ahead.
//!
//! Models forget to escape quotes, so a quote ends a string only if what follows makes sense after a string.
//! Every look ahead ends at the next quote, comma or bracket, or after a fixed number of bytes, so reading stays linear.

use super::literal::is_literal;
use super::quote_mark::QuoteMark;
use super::scan::Scan;

/// Where a string occurs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum StringPlace {
    Key,
    /// The value of a key.
    Member,
    /// An item of an array.
    Item,
    /// The only thing in the text.
    Alone,
}

/// What has been seen inside a string so far.
#[derive(Clone, Copy, Default)]
pub(super) struct StringContents {
    /// Quotes that did not end the string.
    pub(super) quotes: usize,
    /// Whether the last of them opened a quotation that is not closed yet.
    pub(super) is_quoting: bool,
    /// Brackets opened in the string and not closed in it.
    pub(super) brackets: usize,
    /// Brackets closed in the string and not opened in it.
    pub(super) surplus: usize,
}

impl StringContents {
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
    /// Whether a quote that ends right before `after` closes a string in `place`.
    pub(super) fn ends_string(&self, after: usize, place: StringPlace, inside: StringContents) -> bool {
        let next = self.skip_blank(after);
        if self.is_end(next) {
            return true;
        }
        match place {
            StringPlace::Alone => false,
            StringPlace::Key => self.ends_key(after, next),
            StringPlace::Member | StringPlace::Item => self.ends_value(after, next, place, inside),
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

    /// Whether a quote directly after a key's quote is a doubled closing quote, or begins the value.
    fn begins_after_key(&self, at: usize, mark: QuoteMark) -> bool {
        self.is_doubled_key_end(at, mark) || self.is_continuation(at)
    }

    fn ends_value(&self, after: usize, next: usize, place: StringPlace, inside: StringContents) -> bool {
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
            b':' => place == StringPlace::Item && inside.quotes == 0,
            b'+' => inside.quotes == 0 && self.mark(self.skip_blank(next + 1)).is_some(),
            b'/' | b'#' => apart && calm && self.is_comment(next),
            b'{' if place == StringPlace::Member => {
                inside.quotes == 0 && self.parent() == Some(b'[') && self.has_colon(self.skip_blank(next + 1))
            }
            b'{' | b'[' => place == StringPlace::Item && calm,
            b'0'..=b'9' | b'-' => place == StringPlace::Item && apart && inside.quotes == 0,
            _ if self.mark(next).is_some() => match place {
                StringPlace::Member => {
                    ((calm || apart) && self.is_quoted_key(next))
                        || (apart && inside.quotes == 0 && self.is_continuation(next))
                }
                StringPlace::Item | StringPlace::Key | StringPlace::Alone => calm && self.is_whole_string(next),
            },
            _ if !apart || !calm => false,
            _ if inside.quotes == 0 && self.is_last_word(next) => true,
            _ => match place {
                StringPlace::Member => self.is_bare_key(next),
                StringPlace::Item => inside.quotes == 0 && is_literal(self.slice(next, self.end_of_word(next))),
                StringPlace::Key | StringPlace::Alone => false,
            },
        }
    }

    /// Whether what follows a comma could be the next member or item.
    fn follows_comma(&self, at: usize, place: StringPlace, inside: StringContents) -> bool {
        let next = self.skip_blank(at);
        let calm = !inside.is_quoting;
        let untouched = inside.quotes == 0;
        if self.is_end(next) || self.is_ellipsis(next) {
            return true;
        }
        match self.byte(next) {
            b'}' | b']' | b')' | b',' => return calm,
            b'/' | b'#' if self.is_comment(next) => return calm,
            b'{' => return if place == StringPlace::Item { calm } else { untouched },
            _ => {}
        }
        let is_quote = self.mark(next).is_some();
        match place {
            StringPlace::Item if is_quote => calm || self.is_whole_string(next),
            StringPlace::Item => match self.byte(next) {
                b'[' | b'-' | b'0'..=b'9' => calm,
                _ => untouched,
            },
            StringPlace::Member | StringPlace::Key | StringPlace::Alone if is_quote => {
                self.is_quoted_key(next) || (untouched && self.is_lone_key(next))
            }
            StringPlace::Member | StringPlace::Key | StringPlace::Alone => {
                self.is_bare_key(next)
                    || (untouched && self.is_bare_key_behind_sign(next))
                    || (calm && self.is_wordy_key(next))
                    || (untouched && (self.is_assigned_key(next) || self.is_stray_before_key(next)))
            }
        }
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

    /// Whether the brackets at `at` close what is open and are followed by something plausible.
    fn follows_brackets(&self, at: usize, inside: StringContents) -> bool {
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
                let place = if *outer == b'{' { StringPlace::Member } else { StringPlace::Item };
                calm || self.follows_comma(next + 1, place, inside)
            }
            _ => calm,
        }
    }

    fn closes_everything(&self, at: usize) -> bool {
        self.walk_out(at).is_some_and(|(next, depth)| depth == 0 && self.is_end(next))
    }
}
