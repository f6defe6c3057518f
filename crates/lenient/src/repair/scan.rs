//! A position in a text, and small checks of what is at that position.

use super::{JsonFault, Repair};

/// How many reports are kept: more would not help anyone, and a megabyte of faults would cost far more than the text.
const MOST_REPORTS: usize = 256;

/// How far to look ahead for the end of a key. Longer keys are text; the limit keeps reading linear.
pub(super) const LOOK_AHEAD: usize = 256;

/// A text being read.
pub(super) struct Scan<'t> {
    pub(super) text: &'t str,
    pub(super) pos: usize,
    /// Where reading stops: the end of the text, or a closing fence before it.
    pub(super) end: usize,
    /// The brackets open at `pos`, outermost first: `{`, `[` or `(`.
    pub(super) open: Vec<u8>,
    pub(super) repairs: Vec<Repair>,
    /// Whether any of them is risky.
    is_risky: bool,
    /// The keys in the schema.
    pub(super) keys: &'t [&'t str],
    /// The last line end. A line comment after it ends at a bracket, because no line end follows.
    last_newline: usize,
    /// Up to this position, backslashes are part of a path.
    pub(super) path_end: usize,
    /// Set once a search for tripled quotes found none, so that it is not repeated.
    pub(super) no_more_triples: bool,
}

impl<'t> Scan<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self {
            text,
            pos: 0,
            end: text.len(),
            open: Vec::new(),
            repairs: Vec::new(),
            is_risky: false,
            keys: &[],
            last_newline: text.rfind('\n').unwrap_or(0),
            path_end: 0,
            no_more_triples: false,
        }
    }

    #[inline]
    pub(super) fn report(&mut self, at: usize, what: JsonFault) {
        if self.repairs.last() == Some(&Repair { at, what }) {
            return;
        }
        let is_first_risk = what.is_risky() && !self.is_risky;
        if self.repairs.len() < MOST_REPORTS || is_first_risk {
            self.repairs.push(Repair { at, what });
            self.is_risky |= is_first_risk;
        }
    }

    /// Drops all reports except the first `count`, because the text they are about is read again.
    pub(super) fn forget_reports(&mut self, count: usize) {
        if count < self.repairs.len() {
            self.repairs.truncate(count);
            self.is_risky = self.is_risky && self.repairs.iter().any(|r| r.what.is_risky());
        }
    }

    /// Takes the reports out and starts with an empty list.
    pub(super) fn take_reports(&mut self) -> Vec<Repair> {
        self.is_risky = false;
        std::mem::take(&mut self.repairs)
    }

    /// The byte at `at`, or 0 past the end.
    #[inline]
    pub(super) fn byte(&self, at: usize) -> u8 {
        #[cfg(test)]
        super::step_count::count(1);
        if at >= self.end { 0 } else { self.text.as_bytes().get(at).copied().unwrap_or(0) }
    }

    #[inline]
    pub(super) fn here(&self) -> u8 {
        self.byte(self.pos)
    }

    #[inline]
    pub(super) fn slice(&self, from: usize, to: usize) -> &'t str {
        self.text.get(from..to.min(self.end)).unwrap_or("")
    }

    #[inline]
    pub(super) fn starts(&self, at: usize, what: &str) -> bool {
        self.text.as_bytes().get(at..self.end).is_some_and(|rest| rest.starts_with(what.as_bytes()))
    }

    /// The first position of `what` from `at` on.
    pub(super) fn find(&self, at: usize, what: &str) -> Option<usize> {
        let found = self.slice(at, self.end).find(what).map(|length| at + length);
        #[cfg(test)]
        super::step_count::count(found.unwrap_or(self.end).saturating_sub(at));
        found
    }

    /// The last position of `what` from `at` on.
    pub(super) fn find_last(&self, at: usize, what: &str) -> Option<usize> {
        let found = self.slice(at, self.end).rfind(what).map(|length| at + length);
        #[cfg(test)]
        super::step_count::count(self.end.saturating_sub(found.unwrap_or(at)));
        found
    }

    /// Whether the value ends at `at`: the text ends there, or a fence closes it.
    #[inline]
    pub(super) fn is_end(&self, at: usize) -> bool {
        at >= self.end || (self.byte(at) == b'`' && self.starts(at, "```"))
    }

    /// How many bytes the character at `at` takes; at least one.
    pub(super) fn width(&self, at: usize) -> usize {
        self.slice(at, self.end).chars().next().map_or(1, char::len_utf8)
    }

    /// The first position from `at` on that is not blank. All white space and invisible characters are blank.
    #[inline]
    pub(super) fn skip_blank(&self, mut at: usize) -> usize {
        while at < self.end {
            let byte = self.byte(at);
            if byte <= b' ' {
                at += 1;
                continue;
            }
            if byte < 0x80 {
                break;
            }
            match self.slice(at, self.end).chars().next() {
                Some(c) if c.is_whitespace() || is_invisible(c) => at += c.len_utf8(),
                Some(_) | None => break,
            }
        }
        at
    }

    /// The end of the last character before `at` that is not ASCII white space.
    pub(super) fn blank_before(&self, mut at: usize) -> usize {
        while at > 0 && self.byte(at - 1) <= b' ' {
            at -= 1;
        }
        at
    }

    #[inline]
    pub(super) fn is_comment(&self, at: usize) -> bool {
        match self.byte(at) {
            b'#' => true,
            b'/' => matches!(self.byte(at + 1), b'/' | b'*'),
            b'<' => self.starts(at, "<!--"),
            _ => false,
        }
    }

    #[inline]
    pub(super) fn is_ellipsis(&self, at: usize) -> bool {
        match self.byte(at) {
            b'.' => self.starts(at, "..."),
            0xE2 => self.starts(at, "\u{2026}"),
            _ => false,
        }
    }

    /// Moves past blanks and comments.
    #[inline]
    pub(super) fn skip_space(&mut self) {
        loop {
            self.pos = self.skip_blank(self.pos);
            if !self.is_comment(self.pos) {
                return;
            }
            self.report(self.pos, JsonFault::Comment);
            self.pos = self.end_of_comment(self.pos);
        }
    }

    fn end_of_comment(&self, at: usize) -> usize {
        let end = if self.starts(at, "/*") {
            self.find(at, "*/").map(|end| end + 2)
        } else if self.starts(at, "<!--") {
            self.find(at, "-->").map(|end| end + 3)
        } else if at < self.last_newline {
            self.find(at, "\n")
        } else {
            (at..self.end).find(|end| matches!(self.byte(*end), b'}' | b']'))
        };
        end.unwrap_or(self.end)
    }

    /// The end of a run of letters, digits and `_`, `-`, `.`, `$` from `at` on.
    pub(super) fn end_of_word(&self, at: usize) -> usize {
        let mut end = at;
        while end < self.end {
            match self.byte(end) {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' | b'.' | b'$' => end += 1,
                0x80.. => match self.slice(end, self.end).chars().next() {
                    Some(c) if c.is_alphanumeric() => end += c.len_utf8(),
                    Some(_) | None => break,
                },
                _ => break,
            }
        }
        end
    }
}

/// The text without blanks and invisible characters at its ends.
pub(super) fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || c.is_control() || is_invisible(c))
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{FEFF}' | '\u{200B}'..='\u{200D}' | '\u{2060}' | '\u{7F}')
}
