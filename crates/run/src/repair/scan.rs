//! A position in a text, and the small questions the parser asks about what stands there.

use super::{Fault, Repair};

/// More reports than this tell nobody more, and a megabyte of faults would cost far more than the text.
const MOST_REPORTS: usize = 256;

/// How far a look ahead for the end of a key goes. Longer keys are text; a limit keeps the whole linear.
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
    /// A line comment after this ends at a bracket, for there is no line end to end it.
    last_newline: usize,
    /// Set once a search for tripled quotes found none, so that it is not made again.
    pub(super) no_more_triples: bool,
}

/// A quotation mark.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Double,
    Single,
    CurlyOpen,
    CurlyClose,
    CurlySingleOpen,
    CurlySingleClose,
}

impl Mark {
    pub(super) fn width(self) -> usize {
        match self {
            Self::Double | Self::Single => 1,
            Self::CurlyOpen | Self::CurlyClose | Self::CurlySingleOpen | Self::CurlySingleClose => 3,
        }
    }

    /// Whether a string begun with `self` usually ends with `other`.
    pub(super) fn ends_with(self, other: Self) -> bool {
        match self {
            Self::Double => other == Self::Double,
            Self::Single => other == Self::Single,
            Self::CurlyOpen | Self::CurlyClose => other == Self::CurlyClose,
            Self::CurlySingleOpen | Self::CurlySingleClose => other == Self::CurlySingleClose,
        }
    }

    /// Whether a string begun with `self` may end with `other` at all: both single or both double.
    pub(super) fn may_end_with(self, other: Self) -> bool {
        self.is_single() == other.is_single()
    }

    fn is_single(self) -> bool {
        match self {
            Self::Single | Self::CurlySingleOpen | Self::CurlySingleClose => true,
            Self::Double | Self::CurlyOpen | Self::CurlyClose => false,
        }
    }
}

impl<'t> Scan<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self {
            text,
            pos: 0,
            end: text.len(),
            open: Vec::new(),
            repairs: Vec::new(),
            last_newline: text.rfind('\n').unwrap_or(0),
            no_more_triples: false,
        }
    }

    pub(super) fn report(&mut self, at: usize, what: Fault) {
        if self.repairs.last() == Some(&Repair { at, what }) {
            return;
        }
        let is_first_risk = what.is_risky() && !self.repairs.iter().any(|r| r.what.is_risky());
        if self.repairs.len() < MOST_REPORTS || is_first_risk {
            self.repairs.push(Repair { at, what });
        }
    }

    /// The byte at `at`, or 0 past the end.
    pub(super) fn byte(&self, at: usize) -> u8 {
        if at >= self.end { 0 } else { self.text.as_bytes().get(at).copied().unwrap_or(0) }
    }

    pub(super) fn here(&self) -> u8 {
        self.byte(self.pos)
    }

    pub(super) fn slice(&self, from: usize, to: usize) -> &'t str {
        self.text.get(from..to.min(self.end)).unwrap_or("")
    }

    pub(super) fn starts(&self, at: usize, what: &str) -> bool {
        self.slice(at, self.end).starts_with(what)
    }

    /// Whether nothing more belongs to the value at `at`: the end, or a fence that closes it.
    pub(super) fn is_end(&self, at: usize) -> bool {
        at >= self.end || self.starts(at, "```")
    }

    /// How many bytes the character at `at` takes; at least one.
    pub(super) fn width(&self, at: usize) -> usize {
        self.slice(at, self.end).chars().next().map_or(1, char::len_utf8)
    }

    pub(super) fn mark(&self, at: usize) -> Option<Mark> {
        match self.byte(at) {
            b'"' => Some(Mark::Double),
            b'\'' => Some(Mark::Single),
            0xE2 if self.byte(at + 1) == 0x80 => match self.byte(at + 2) {
                0x9C => Some(Mark::CurlyOpen),
                0x9D => Some(Mark::CurlyClose),
                0x98 => Some(Mark::CurlySingleOpen),
                0x99 => Some(Mark::CurlySingleClose),
                _ => None,
            },
            _ => None,
        }
    }

    /// The first position from `at` on that is not blank. Blank is all white space and what shows nothing.
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

    pub(super) fn is_comment(&self, at: usize) -> bool {
        match self.byte(at) {
            b'#' => true,
            b'/' => matches!(self.byte(at + 1), b'/' | b'*'),
            _ => false,
        }
    }

    pub(super) fn is_ellipsis(&self, at: usize) -> bool {
        self.starts(at, "...") || self.starts(at, "\u{2026}")
    }

    /// Moves past blanks and comments.
    pub(super) fn skip_space(&mut self) {
        loop {
            self.pos = self.skip_blank(self.pos);
            if !self.is_comment(self.pos) {
                return;
            }
            self.report(self.pos, Fault::Comment);
            self.pos = self.end_of_comment(self.pos);
        }
    }

    fn end_of_comment(&self, at: usize) -> usize {
        let rest = self.slice(at, self.end);
        let length = if rest.starts_with("/*") {
            rest.find("*/").map(|i| i + 2)
        } else if at < self.last_newline {
            rest.find('\n')
        } else {
            rest.find(['}', ']'])
        };
        length.map_or(self.end, |length| at + length)
    }

    /// The end of a run of letters, digits and `_`, `-`, `.`, `$` from `at` on.
    pub(super) fn end_of_word(&self, at: usize) -> usize {
        let rest = self.slice(at, self.end);
        let length = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '$')));
        at + length.unwrap_or(rest.len())
    }
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{FEFF}' | '\u{200B}'..='\u{200D}' | '\u{2060}' | '\u{7F}')
}
