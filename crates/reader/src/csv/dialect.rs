//! Guesses how a table is written: the dialect under which rows are equally long and cells look like values.

use std::collections::BTreeMap;

use super::records::Records;

/// How cells are separated and quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CsvDialect {
    pub(super) delimiter: char,
    pub(super) quote: Option<char>,
    /// Whether `\"` is a quote inside a quoted cell.
    pub(super) has_backslash: bool,
}

const DELIMITERS: [char; 6] = [',', ';', '\t', '|', ':', ' '];
const SAMPLE: usize = 100;

impl CsvDialect {
    /// Tries every delimiter with every quote, and takes the best; commas if nothing is better.
    pub(super) fn guess(sample: &str, is_tabbed: bool) -> Self {
        let has_backslash = sample.contains("\\\"") && !sample.contains("\"\"");
        let plain = Self { delimiter: if is_tabbed { '\t' } else { ',' }, quote: Some('"'), has_backslash };
        let mut best = (plain, plain.score(sample) * if is_tabbed { 2.0 } else { 1.0 });
        for delimiter in DELIMITERS {
            for quote in ['"', '\''] {
                if quote == '\'' && !is_quoting(sample, delimiter, quote) {
                    continue;
                }
                let dialect = Self { delimiter, quote: Some(quote), has_backslash };
                let score = dialect.score(sample) * weight(delimiter);
                if score > best.1 + 1e-9 {
                    best = (dialect, score);
                }
            }
        }
        best.0
    }

    /// Between 0 and 1: how regular the rows are, times how many cells look like values.
    fn score(self, sample: &str) -> f64 {
        let mut widths: BTreeMap<usize, usize> = BTreeMap::new();
        let (mut rows, mut cells, mut values) = (0usize, 0usize, 0usize);
        for record in Records::new(sample, self).take(SAMPLE) {
            if record.cells.iter().all(|cell| cell.trim().is_empty()) {
                continue;
            }
            *widths.entry(record.cells.len()).or_default() += 1;
            rows += 1;
            cells += record.cells.len();
            values += record.cells.iter().filter(|cell| is_value(cell)).count();
        }
        let common = widths.iter().filter(|(width, _)| **width > 1).max_by_key(|(_, count)| **count);
        let Some((width, count)) = common else { return 0.0 };
        let regular = *count as f64 / rows as f64;
        let gain = (*width as f64 - 1.0) / *width as f64;
        regular * gain.sqrt() * (values as f64 / cells as f64)
    }
}

/// A colon or a space separates cells more seldom than it stands inside them.
fn weight(delimiter: char) -> f64 {
    match delimiter {
        ':' => 0.6,
        ' ' => 0.5,
        _ => 1.0,
    }
}

/// Whether this quote stands next to the delimiter, at both ends of cells.
fn is_quoting(sample: &str, delimiter: char, quote: char) -> bool {
    sample.contains(&format!("{delimiter}{quote}")) && sample.contains(&format!("{quote}{delimiter}"))
}

/// Whether a cell is something a table has: empty, a number, a date, a word, some words; not half of something.
fn is_value(cell: &str) -> bool {
    let cell = cell.trim();
    if cell.is_empty() || is_number(cell) {
        return true;
    }
    let has_separator = cell.contains([';', '\t', '|']);
    let is_half = cell.starts_with(['"', '\'']) != cell.ends_with(['"', '\'']);
    !has_separator && !is_half
}

/// `1`, `-2.5`, `1,234.50`, `12 %`, `$3`, `1e-3`, `2024-01-31`.
pub(super) fn is_number(cell: &str) -> bool {
    let cell = cell.trim().trim_matches(['$', '€', '£', '%', ' ', '+']);
    cell.contains(|c: char| c.is_ascii_digit())
        && cell.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | '-' | '/' | ':' | ' ' | 'e' | 'E' | '+'))
}
