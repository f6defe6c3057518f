//! Brackets and commas that are missing, too many, or of the wrong kind.

use super::JsonFault;
use super::scan::Scan;

/// What came last within brackets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LastToken {
    Bracket,
    Comma,
    Value,
}

impl Scan<'_> {
    pub(super) fn parent(&self) -> Option<u8> {
        self.open.len().checked_sub(2).and_then(|i| self.open.get(i)).copied()
    }

    pub(super) fn close_bracket(&mut self, last: LastToken) {
        if last == LastToken::Comma {
            self.report(self.pos, JsonFault::ExtraComma);
        }
        self.pos += 1;
    }

    pub(super) fn comma(&mut self, last: LastToken) -> LastToken {
        if last != LastToken::Value {
            self.report(self.pos, JsonFault::ExtraComma);
        } else if self.here() == b';' {
            self.report(self.pos, JsonFault::MissingComma);
        }
        self.pos += 1;
        LastToken::Comma
    }

    /// Handles a bracket of the wrong kind: it closes something further out, or nothing, and is then dropped.
    pub(super) fn leaves_to_parent(&mut self) -> bool {
        let opener = match self.here() {
            b'}' => b'{',
            b']' => b'[',
            _ => b'(',
        };
        if self.open.contains(&opener) && !self.closes_too_much() {
            self.report(self.pos, JsonFault::MissingBracket);
            return true;
        }
        if self.is_mistaken() {
            self.report(self.pos, JsonFault::MissingBracket);
            self.pos += 1;
            return true;
        }
        self.drop_bracket();
        false
    }

    /// Whether the bracket here, which closes nothing, was meant as the right one: `{"a": {"b": 1], "c": 2}`.
    fn is_mistaken(&self) -> bool {
        let before = self.byte(self.blank_before(self.pos).wrapping_sub(1));
        let next = self.skip_blank(self.pos + 1);
        self.open.len() > 1 && before != self.here() && self.byte(next) == b','
    }

    /// Whether the wrong bracket here would close everything, although the right one and then another member follow.
    fn closes_too_much(&self) -> bool {
        let right = match self.open.last() {
            Some(b'{') => b'}',
            Some(b'[') => b']',
            _ => b')',
        };
        let next = self.skip_blank(self.pos + 1);
        let comma = self.skip_blank(next + 1);
        if self.byte(self.pos + 1).is_ascii_digit() {
            return true; // a bracket does not stand right before a number
        }
        let goes_on = self.here() == b'}' && right == b']' && self.open.len() == 2;
        if goes_on && self.byte(next) == b',' && self.byte(comma) == b'[' {
            return true; // the list goes on
        }
        self.byte(next) == right
            && self.open.len() <= 2
            && self.byte(comma) == b','
            && self.has_colon(self.skip_blank(comma + 1))
    }

    pub(super) fn drop_bracket(&mut self) {
        self.report(self.pos, JsonFault::ExtraBracket);
        self.pos += 1;
    }

    /// Moves past an ellipsis and its description of what is left out: `... 7 more ...`.
    pub(super) fn ellipsis(&mut self) {
        self.report(self.pos, JsonFault::Ellipsis);
        self.pos += 3; // three dots, or the three bytes of their one character
        let rest = self.slice(self.pos, self.end);
        let stop =
            rest.bytes().take(64).position(|b| matches!(b, b',' | b']' | b'}' | b'\n' | b'"' | b'\'' | b'{' | b'['));
        if let Some(length) = stop
            && matches!(self.byte(self.pos + length), b',' | b']' | b'}' | b'\n')
        {
            self.pos += length;
        }
    }

    pub(super) fn report_unclosed(&mut self, last: LastToken) {
        let is_cut = match last {
            LastToken::Bracket => true,
            LastToken::Comma => self.pos >= self.end,
            LastToken::Value => false,
        };
        self.report(self.pos, if is_cut { JsonFault::Truncated } else { JsonFault::MissingBracket });
    }

    /// Moves past balanced brackets without reading them.
    pub(super) fn skip_brackets(&mut self) {
        let mut depth = 0_usize;
        let mut in_string = false;
        while self.pos < self.end {
            match self.here() {
                b'\\' if in_string => self.pos += 1,
                b'"' => in_string = !in_string,
                b'{' | b'[' | b'(' if !in_string => depth += 1,
                b'}' | b']' | b')' if !in_string => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.pos += 1;
            if depth == 0 {
                break;
            }
        }
        self.pos = self.pos.min(self.end);
        while !self.text.is_char_boundary(self.pos) {
            self.pos += 1;
        }
    }

    /// Follows closing brackets from `at` on. Returns the position after them and how many brackets remain open, or
    /// `None` if one of them closes nothing.
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
                // An extra bracket after the last one is no reason to doubt the string.
                None if depth == 0 => return Some((next, 0)),
                None => return None,
            }
            next = self.skip_blank(next + 1);
        }
    }
}
