//! Values separated by commas or another character: the dialect is guessed, each row keeps its lines.

mod dialect;
mod records;

use dialect::CsvDialect;
use records::{CsvRecord, Records};

use crate::blocks::Blocks;
use crate::document::{BlockKind, DocumentKind, SourcePlace};
use crate::options::ReadLimits;
use crate::table;

/// Rows by which the dialect and the head are guessed.
const SAMPLE_ROWS: usize = 200;
const SAMPLE_BYTES: usize = 64 << 10;

/// Reads a table. `is_tabbed` says that the name of the file promises tabs.
pub(crate) fn read(text: &str, is_tabbed: bool, limits: &ReadLimits) -> Blocks {
    let mut blocks = Blocks::new(DocumentKind::Csv, limits);
    let sample = &text[..text.floor_char_boundary(SAMPLE_BYTES)];
    let dialect = CsvDialect::guess(sample, is_tabbed);
    let is_data = |record: &CsvRecord| record.cells.iter().any(|cell| !cell.trim().is_empty());
    let first: Vec<CsvRecord> = Records::new(sample, dialect).filter(is_data).take(SAMPLE_ROWS).collect();
    let width = common_width(&first);
    let mut head = Some(has_head(&first, width));
    for record in Records::new(text, dialect).filter(is_data) {
        let line = table::row(&record.cells, width);
        let text = match head.take() {
            Some(Head::Present) => format!("{line}\n{}", table::dashes(width.max(record.cells.len()))),
            Some(Head::Missing) => format!("{}\n{}\n{line}", table::row(&[], width), table::dashes(width)),
            None => line,
        };
        blocks.push(SourcePlace::lines(record.first_line, record.last_line), BlockKind::Row, text);
        if blocks.is_full() {
            break;
        }
    }
    blocks
}

enum Head {
    Present,
    Missing,
}

/// The width that most rows have.
fn common_width(records: &[CsvRecord]) -> usize {
    let mut counts = std::collections::BTreeMap::new();
    for record in records {
        *counts.entry(record.cells.len()).or_insert(0usize) += 1;
    }
    counts.into_iter().max_by_key(|(width, count)| (*count, *width)).map_or(1, |(width, _)| width)
}

/// The first row names the columns unless it has a number itself, in a column of numbers. A year may name a column of
/// anything but years.
fn has_head(records: &[CsvRecord], width: usize) -> Head {
    let Some((first, rest)) = records.split_first() else { return Head::Present };
    let is_all = |column: usize, test: fn(&str) -> bool| {
        let cells = rest.iter().filter_map(|record| record.cells.get(column)).filter(|cell| !cell.trim().is_empty());
        let mut cells = cells.peekable();
        cells.peek().is_some() && cells.all(|cell| test(cell))
    };
    let is_value = |column: usize| {
        let cell = first.cells.get(column).map_or("", String::as_str);
        dialect::is_number(cell) && is_all(column, dialect::is_number) && (!is_year(cell) || is_all(column, is_year))
    };
    let is_name = |column: usize| {
        let cell = first.cells.get(column).map_or("", String::as_str);
        !dialect::is_number(cell) && !cell.trim().is_empty() && is_all(column, dialect::is_number)
    };
    if (0..width).any(is_value) && !(0..width).any(is_name) { Head::Missing } else { Head::Present }
}

fn is_year(cell: &str) -> bool {
    cell.trim().parse().is_ok_and(|year: u32| (1900..2100).contains(&year))
}
