//! Reads what a backslash begins.

use super::Fault;
use super::scan::Scan;

impl Scan<'_> {
    /// Reads the escape at `at` into `out` and gives the position behind it.
    pub(super) fn escape(&mut self, at: usize, out: &mut String) -> usize {
        let plain = match self.byte(at + 1) {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'\'' => {
                self.report(at, Fault::NeedlessEscape);
                '\''
            }
            b'u' => return self.unicode(at, out),
            b'x' => return self.hex(at, out),
            // The text stops within the escape, and whoever reads the string says that it is cut off.
            _ if at + 1 >= self.end => return self.end,
            _ => return self.keep(at, out),
        };
        out.push(plain);
        at + 2
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
        let second = if self.starts(at + 6, "\\u") { self.digits(at + 8, 4) } else { None };
        if let Some(low @ 0xDC00..=0xDFFF) = second
            && first < 0xDC00
            && let Some(c) = char::from_u32(0x1_0000 + ((first - 0xD800) << 10) + (low - 0xDC00))
        {
            out.push(c);
            return at + 12;
        }
        self.report(at, Fault::BadEscape);
        out.push(char::REPLACEMENT_CHARACTER);
        at + 6
    }

    fn hex(&mut self, at: usize, out: &mut String) -> usize {
        let Some(c) = self.digits(at + 2, 2).and_then(char::from_u32) else { return self.keep(at, out) };
        self.report(at, Fault::BadEscape);
        out.push(c);
        at + 4
    }

    fn digits(&self, at: usize, count: usize) -> Option<u32> {
        let digits = self.slice(at, at + count);
        let is_hex = digits.len() == count && digits.bytes().all(|b| b.is_ascii_hexdigit());
        if is_hex { u32::from_str_radix(digits, 16).ok() } else { None }
    }

    fn keep(&mut self, at: usize, out: &mut String) -> usize {
        self.report(at, Fault::BadEscape);
        out.push('\\');
        at + 1
    }
}
