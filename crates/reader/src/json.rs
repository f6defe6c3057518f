//! JSON and JSON Lines, word for word with their lines; a value on one long line is broken into several.

use crate::blocks::Blocks;
use crate::document::{BlockKind, DocumentKind, SourcePlace};
use crate::options::ReadLimits;
use crate::plain;

/// A line longer than this is not meant to be read by people.
const LONG_LINE: usize = 2_000;
const MOST_LINES: usize = 60;

/// Reads one value.
pub(crate) fn read(text: &str, limits: &ReadLimits) -> Blocks {
    let is_long = text.lines().any(|line| line.len() > LONG_LINE);
    if !is_long {
        return plain::read(text, DocumentKind::Json, limits);
    }
    let mut blocks = Blocks::new(DocumentKind::Json, limits);
    let mut piece = String::new();
    let mut lines = 0;
    let mut first = 1;
    for (text, number) in IndentedLines::new(text) {
        piece.push_str(&text);
        piece.push('\n');
        lines += 1;
        if lines == MOST_LINES {
            blocks.push(SourcePlace::lines(first, number), BlockKind::Code, std::mem::take(&mut piece));
            (lines, first) = (0, number);
        }
        if blocks.is_full() {
            return blocks;
        }
    }
    blocks.push(SourcePlace::lines(first, first), BlockKind::Code, piece);
    blocks
}

/// Reads one value a line; each is a block.
pub(crate) fn read_lines(text: &str, limits: &ReadLimits) -> Blocks {
    let mut blocks = Blocks::new(DocumentKind::JsonLines, limits);
    for (line, number) in text.lines().zip(1..) {
        blocks.push(SourcePlace::lines(number, number), BlockKind::Code, line.trim());
        if blocks.is_full() {
            break;
        }
    }
    blocks
}

/// Lines of JSON, one value each and indented. Works on the text, so that numbers and the order of names stay as they are,
/// and values that are not quite JSON come out too.
struct IndentedLines<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
    line: u32,
}

impl<'t> IndentedLines<'t> {
    fn new(text: &'t str) -> Self {
        Self { text, at: 0, depth: 0, line: 1 }
    }
}

impl Iterator for IndentedLines<'_> {
    /// A line, and the line of the file it is on.
    type Item = (String, u32);

    fn next(&mut self) -> Option<Self::Item> {
        let bytes = self.text.as_bytes();
        let mut content = Vec::new();
        let (mut in_string, mut escaped) = (false, false);
        let mut depth = self.depth;
        while let Some(&byte) = bytes.get(self.at) {
            self.at += 1;
            self.line += u32::from(byte == b'\n');
            if in_string {
                content.push(byte);
                in_string = escaped || byte != b'"';
                escaped = byte == b'\\' && !escaped;
                continue;
            }
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' => continue,
                b'"' => in_string = true,
                b'}' | b']' if !content.is_empty() && !matches!(content.last(), Some(b'{' | b'[')) => {
                    self.at -= 1;
                    break;
                }
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if content.is_empty() {
                        depth = self.depth;
                    }
                }
                b'{' | b'[' => self.depth += 1,
                _ => {}
            }
            content.push(byte);
            match byte {
                b',' => break,
                b':' => content.push(b' '),
                b'{' | b'[' if !matches!(bytes.get(self.at), Some(b'}' | b']')) => break,
                b'}' | b']' if bytes.get(self.at) != Some(&b',') => break,
                _ => {}
            }
        }
        if content.is_empty() {
            return None;
        }
        let text = String::from_utf8_lossy(&content);
        Some((format!("{}{text}", "  ".repeat(depth.min(40))), self.line))
    }
}
