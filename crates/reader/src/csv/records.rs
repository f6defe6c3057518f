//! Splits text into records by a dialect. A quote that is never closed ends with its line.

use super::dialect::CsvDialect;

/// A quoted cell longer than this was not meant as one.
const LONGEST_QUOTED: usize = 256 << 10;

/// One row, and the lines it covers.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CsvRecord {
    pub(super) cells: Vec<String>,
    pub(super) first_line: u32,
    pub(super) last_line: u32,
}

/// The rows of a text, one after the other.
#[derive(Debug)]
pub(super) struct Records<'t> {
    rest: &'t str,
    dialect: CsvDialect,
    line: u32,
}

impl<'t> Records<'t> {
    pub(super) fn new(text: &'t str, dialect: CsvDialect) -> Self {
        Self { rest: text, dialect, line: 1 }
    }

    /// Takes a cell, and says whether its row goes on after it.
    fn cell(&mut self) -> (String, bool) {
        let blank = |c: char| c == ' ' && self.dialect.delimiter != ' ';
        let inner = self.rest.trim_start_matches(blank);
        if let Some(quote) = self.dialect.quote
            && let Some(body) = inner.strip_prefix(quote)
            && let Some((cell, after)) = quoted(body, quote, self.dialect)
        {
            self.line += cell.matches('\n').count() as u32;
            self.rest = after;
            let (tail, goes_on) = self.bare();
            return (cell + tail.trim_end(), goes_on);
        }
        let (cell, goes_on) = self.bare();
        (cell.to_owned(), goes_on)
    }

    /// Takes everything to the next delimiter or the end of the line.
    fn bare(&mut self) -> (&'t str, bool) {
        let end = self.rest.find([self.dialect.delimiter, '\n', '\r']).unwrap_or(self.rest.len());
        let cell = &self.rest[..end];
        let rest = &self.rest[end..];
        if let Some(after) = rest.strip_prefix(self.dialect.delimiter) {
            self.rest = after;
            return (cell, true);
        }
        self.rest = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix(['\r', '\n'])).unwrap_or("");
        (cell, false)
    }
}

/// The content of a quoted cell and what follows its closing quote. Nothing if no closing quote stands where a cell can end.
fn quoted(body: &str, quote: char, dialect: CsvDialect) -> Option<(String, &str)> {
    let mut cell = String::new();
    let mut rest = body;
    loop {
        let at = rest.find(quote)?;
        cell.push_str(&rest[..at]);
        if cell.len() > LONGEST_QUOTED {
            return None;
        }
        if dialect.has_backslash && cell.ends_with('\\') {
            cell.pop();
            cell.push(quote);
            rest = &rest[at + quote.len_utf8()..];
            continue;
        }
        rest = &rest[at + quote.len_utf8()..];
        if let Some(after) = rest.strip_prefix(quote) {
            cell.push(quote);
            rest = after;
            continue;
        }
        let next = rest.trim_start_matches(' ');
        let is_end = next.is_empty() || next.starts_with([dialect.delimiter, '\n', '\r']);
        return is_end.then_some((cell, rest));
    }
}

impl Iterator for Records<'_> {
    type Item = CsvRecord;

    fn next(&mut self) -> Option<CsvRecord> {
        if self.rest.is_empty() {
            return None;
        }
        let first_line = self.line;
        let mut cells = Vec::new();
        loop {
            let (cell, goes_on) = self.cell();
            cells.push(cell);
            if !goes_on {
                break;
            }
        }
        let record = CsvRecord { cells, first_line, last_line: self.line };
        self.line += 1;
        Some(record)
    }
}
