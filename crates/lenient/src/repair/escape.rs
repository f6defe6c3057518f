//! Reads escape sequences.

use super::JsonFault;
use super::scan::Scan;

/// The longest path that is recognised. Paths with backslashes are rarely longer.
const LONGEST_PATH: usize = 260;

/// How far around an escape to look for others.
const LOOK_AROUND: usize = 256;

impl Scan<'_> {
    /// Reads the escape at `at` into `out` and returns the position after it.
    pub(super) fn escape(&mut self, at: usize, out: &mut String) -> usize {
        if self.is_in_path(at) {
            return self.keep(at, out);
        }
        let plain = match self.byte(at + 1) {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' | b'f' if self.is_among_bad_escapes(at) => return self.keep(at, out),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'\'' => {
                self.report(at, JsonFault::NeedlessEscape);
                '\''
            }
            b'u' => return self.unicode(at, out),
            b'x' => return self.hex(at, out),
            // The text ends inside the escape; reading the string reports that it is cut off.
            _ if at + 1 >= self.end => return self.end,
            _ => return self.keep(at, out),
        };
        out.push(plain);
        at + 2
    }

    /// Whether the backslash at `at` is in a Windows path whose backslashes are not escaped: `C:\Users\new`.
    fn is_in_path(&mut self, at: usize) -> bool {
        if at >= self.path_end {
            self.path_end = self.end_of_path(at).unwrap_or(self.path_end);
        }
        at < self.path_end
    }

    /// Where the path ends whose first backslash is at `at`.
    fn end_of_path(&self, at: usize) -> Option<usize> {
        let begins_string = |at: usize| matches!(self.byte(at.wrapping_sub(1)), b'"' | b'\'');
        let is_share = begins_string(at) && self.byte(at + 1) == b'\\' && self.byte(at + 2).is_ascii_alphanumeric();
        let is_drive = at >= 3
            && self.byte(at - 1) == b':'
            && self.byte(at - 2).is_ascii_alphabetic()
            && !(self.byte(at - 3).is_ascii_alphanumeric() || self.byte(at - 3) == b'\\')
            && !matches!(self.byte(at + 1), b'\\' | b'/');
        if !is_share && !is_drive {
            return None;
        }
        // A path that is the whole string may contain blanks; a path in a sentence ends at the first blank.
        let is_whole = is_share || begins_string(at - 2);
        let is_stop = |b: u8| matches!(b, b'"' | b'\'' | b'\n' | b'<' | b'>' | b'|') || (b == b' ' && !is_whole);
        let rest = self.slice(at, self.end).as_bytes();
        let path = rest.get(..rest.iter().take(LONGEST_PATH).position(|b| is_stop(*b))?)?;
        // `B:\n` may be a line break, but a single escape that JSON does not have shows that a path was meant.
        has_bad_escape(path).then_some(at + path.len())
    }

    /// Whether the string around `at` has escapes that JSON does not have, so that `\b` is a word boundary and `\f`
    /// begins `\frac`.
    fn is_among_bad_escapes(&self, at: usize) -> bool {
        let bytes = self.text.as_bytes();
        let before = bytes.get(at.saturating_sub(LOOK_AROUND)..at).unwrap_or(&[]);
        let begin = at - before.iter().rev().take_while(|b| **b != b'"').count();
        has_bad_escape(bytes.get(begin..self.end.min(at + LOOK_AROUND)).unwrap_or(&[]))
    }

    fn unicode(&mut self, at: usize, out: &mut String) -> usize {
        if at + 6 > self.end && self.slice(at + 2, self.end).bytes().all(|b| b.is_ascii_hexdigit()) {
            return self.end;
        }
        let Some(first) = self.digits(at + 2, 4) else { return self.keep(at, out) };
        if let Some(c) = char::from_u32(first) {
            out.push(c);
            return at + 6;
        }
        if at + 6 >= self.end {
            return self.end; // the second half is cut off
        }
        let second = if self.starts(at + 6, "\\u") { self.digits(at + 8, 4) } else { None };
        if let Some(low @ 0xDC00..=0xDFFF) = second
            && first < 0xDC00
            && let Some(c) = char::from_u32(0x1_0000 + ((first - 0xD800) << 10) + (low - 0xDC00))
        {
            out.push(c);
            return at + 12;
        }
        self.report(at, JsonFault::BadEscape);
        out.push(char::REPLACEMENT_CHARACTER);
        at + 6
    }

    fn hex(&mut self, at: usize, out: &mut String) -> usize {
        let Some(c) = self.digits(at + 2, 2).and_then(char::from_u32) else { return self.keep(at, out) };
        self.report(at, JsonFault::BadEscape);
        out.push(c);
        at + 4
    }

    fn digits(&self, at: usize, count: usize) -> Option<u32> {
        let digits = self.slice(at, at + count);
        let is_hex = digits.len() == count && digits.bytes().all(|b| b.is_ascii_hexdigit());
        if is_hex { u32::from_str_radix(digits, 16).ok() } else { None }
    }

    fn keep(&mut self, at: usize, out: &mut String) -> usize {
        self.report(at, JsonFault::BadEscape);
        out.push('\\');
        at + 1
    }
}

/// Whether `text` has an escape that JSON does not have before a quote ends it.
fn has_bad_escape(text: &[u8]) -> bool {
    let mut rest = text;
    loop {
        rest = match rest {
            [b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' | b'u' | b'x' | b'\'', rest @ ..] => rest,
            [b'\\', _, ..] => return true,
            [b'"', ..] | [] => return false,
            [_, rest @ ..] => rest,
        };
    }
}
