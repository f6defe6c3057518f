//! The quotation marks that models put around strings.

use super::scan::Scan;

/// A quotation mark.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum QuoteMark {
    Double,
    Single,
    /// As in JavaScript templates.
    Backtick,
    /// `“`
    CurlyOpen,
    /// `”`
    CurlyClose,
    /// `‘`
    CurlySingleOpen,
    /// `’`
    CurlySingleClose,
    /// `„`
    Low,
    /// `«`
    AngleOpen,
    /// `»`
    AngleClose,
}

impl QuoteMark {
    #[inline]
    pub(super) fn width(self) -> usize {
        match self {
            Self::Double | Self::Single | Self::Backtick => 1,
            Self::AngleOpen | Self::AngleClose => 2,
            Self::CurlyOpen | Self::CurlyClose | Self::CurlySingleOpen | Self::CurlySingleClose | Self::Low => 3,
        }
    }

    /// Whether a string begun with `self` usually ends with `other`.
    pub(super) fn ends_with(self, other: Self) -> bool {
        match self {
            Self::Double | Self::Single | Self::Backtick => other == self,
            Self::CurlyOpen | Self::CurlyClose => other == Self::CurlyClose,
            Self::CurlySingleOpen | Self::CurlySingleClose => other == Self::CurlySingleClose,
            Self::Low => matches!(other, Self::CurlyOpen | Self::CurlyClose),
            Self::AngleOpen | Self::AngleClose => other == Self::AngleClose,
        }
    }

    /// Whether a string begun with `self` may end with `other` at all: both single or both double.
    pub(super) fn may_end_with(self, other: Self) -> bool {
        self.family() == other.family()
    }

    /// Whether `other` inside a string begun with `self` may be more than text.
    pub(super) fn minds(self, other: Self) -> bool {
        match other {
            Self::Backtick | Self::AngleOpen | Self::AngleClose => self.may_end_with(other),
            Self::Double
            | Self::Single
            | Self::CurlyOpen
            | Self::CurlyClose
            | Self::CurlySingleOpen
            | Self::CurlySingleClose
            | Self::Low => true,
        }
    }

    pub(super) fn is_curly(self) -> bool {
        match self {
            Self::Double | Self::Single | Self::Backtick => false,
            Self::CurlyOpen
            | Self::CurlyClose
            | Self::CurlySingleOpen
            | Self::CurlySingleClose
            | Self::Low
            | Self::AngleOpen
            | Self::AngleClose => true,
        }
    }

    fn family(self) -> u8 {
        match self {
            Self::Double | Self::CurlyOpen | Self::CurlyClose | Self::Low => b'"',
            Self::Single | Self::CurlySingleOpen | Self::CurlySingleClose => b'\'',
            Self::Backtick => b'`',
            Self::AngleOpen | Self::AngleClose => b'<',
        }
    }
}

impl Scan<'_> {
    /// The quotation mark at `at`. A code fence does not count.
    #[inline]
    pub(super) fn mark(&self, at: usize) -> Option<QuoteMark> {
        match self.byte(at) {
            b'"' => Some(QuoteMark::Double),
            b'\'' => Some(QuoteMark::Single),
            b'`' if !self.starts(at, "```") => Some(QuoteMark::Backtick),
            0xC2 => match self.byte(at + 1) {
                0xAB => Some(QuoteMark::AngleOpen),
                0xBB => Some(QuoteMark::AngleClose),
                _ => None,
            },
            0xE2 if self.byte(at + 1) == 0x80 => match self.byte(at + 2) {
                0x9C => Some(QuoteMark::CurlyOpen),
                0x9D => Some(QuoteMark::CurlyClose),
                0x98 => Some(QuoteMark::CurlySingleOpen),
                0x99 => Some(QuoteMark::CurlySingleClose),
                0x9E => Some(QuoteMark::Low),
                _ => None,
            },
            _ => None,
        }
    }
}
