//! The cells of one sheet, read as a stream: sheets are the largest parts of all.

use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

use super::grid::{Grid, cell_position};
use super::values::Values;
use crate::text;

/// More cells than anybody has read.
const MOST_CELLS: usize = 2_000_000;
/// Merged cells are repeated in all they cover, up to this many.
const LARGEST_MERGE: u64 = 2_000;

/// A sheet that was read.
#[derive(Debug, Default)]
pub(super) struct SheetContent {
    pub(super) grid: Grid,
    pub(super) is_cut: bool,
}

/// The cell that is being read.
#[derive(Debug, Default)]
struct OpenCell {
    position: (u32, u32),
    kind: String,
    style: usize,
    text: String,
}

/// Reads the cells; what follows a fault in the markup is left out.
pub(super) fn read(bytes: &[u8], values: &Values) -> SheetContent {
    let text = text::decode(bytes, None);
    let mut reader = Reader::from_str(&text);
    reader.config_mut().check_end_names = false;
    let mut sheet = SheetContent::default();
    let mut cell = OpenCell::default();
    let (mut row, mut column) = (0u32, 0u32);
    let mut is_value = false;
    while let Ok(event) = reader.read_event() {
        match event {
            Event::Eof => break,
            Event::Start(start) | Event::Empty(start) if start.local_name().as_ref() == "row" => {
                row = attribute(&start, "r").and_then(|row| row.parse::<u32>().ok()?.checked_sub(1)).unwrap_or(row);
                column = 0;
            }
            Event::Start(start) if start.local_name().as_ref() == "c" => {
                let position = attribute(&start, "r").and_then(|name| cell_position(&name)).unwrap_or((row, column));
                (row, column) = position;
                let style = attribute(&start, "s").and_then(|style| style.parse().ok()).unwrap_or(0);
                cell =
                    OpenCell { position, kind: attribute(&start, "t").unwrap_or_default(), style, text: String::new() };
            }
            Event::Empty(start) if start.local_name().as_ref() == "c" => column += 1,
            Event::Empty(start) if start.local_name().as_ref() == "mergeCell" => {
                if let Some(range) = attribute(&start, "ref") {
                    merge(&mut sheet.grid, &range);
                }
            }
            Event::Start(start) => is_value = matches!(start.local_name().as_ref(), "v" | "t"),
            Event::Text(text) if is_value => cell.text.push_str(&text.xml10_content()),
            Event::GeneralRef(reference) if is_value => cell.text.push_str(&crate::xml::resolve(&reference)),
            Event::End(end) => {
                is_value = false;
                match end.local_name().as_ref() {
                    "c" => {
                        let (at_row, at_column) = cell.position;
                        sheet.grid.set(at_row, at_column, values.shown(&cell.text, &cell.kind, cell.style));
                        column = at_column + 1;
                    }
                    "row" => row += 1,
                    _ => {}
                }
            }
            Event::Empty(_)
            | Event::Text(_)
            | Event::CData(_)
            | Event::Comment(_)
            | Event::Decl(_)
            | Event::PI(_)
            | Event::DocType(_)
            | Event::GeneralRef(_) => {}
        }
        if sheet.grid.len() > MOST_CELLS {
            sheet.is_cut = true;
            break;
        }
    }
    sheet
}

fn attribute(start: &BytesStart<'_>, name: &str) -> Option<String> {
    let found = start.attributes().with_checks(false).flatten().find(|attribute| attribute.key.as_ref() == name);
    found.map(|attribute| attribute.value.to_string())
}

/// Repeats the first cell of a range in all of it.
fn merge(grid: &mut Grid, range: &str) {
    let Some((first, last)) = range.split_once(':') else { return };
    let (Some((top, left)), Some((bottom, right))) = (cell_position(first), cell_position(last)) else { return };
    if bottom < top || right < left {
        return;
    }
    let area = u64::from(bottom - top + 1) * u64::from(right - left + 1);
    let Some(text) = grid.get(top, left).cloned() else { return };
    if area > LARGEST_MERGE || grid.len() > MOST_CELLS {
        return;
    }
    for row in top..=bottom {
        for column in left..=right {
            grid.set(row, column, text.clone());
        }
    }
}
