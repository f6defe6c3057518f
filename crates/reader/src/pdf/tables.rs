//! Tables on a page: rows of pieces that stand below each other in columns.

use super::bidi::is_backward;
use super::layout::PageBlock;
use super::lines::TextLine;

/// Fewer rows of several cells than this are chance.
const FEWEST_ROWS: usize = 3;
/// A gap wider than this many times the size of the text lies between two cells; a smaller one between two words.
const CELL_GAP: f64 = 1.2;
const MOST_COLUMNS: usize = 60;
const LONG_RUN: usize = 200;

/// A row of a region: pieces on one base line, from left to right.
type PieceRow = Vec<TextLine>;

/// Splits a region, whose lines go from top to bottom, into tables and other lines.
pub(super) fn split(lines: Vec<TextLine>) -> Vec<PageBlock> {
    let rows = rows(lines);
    let mut blocks = Vec::new();
    let mut plain: Vec<TextLine> = Vec::new();
    let mut index = 0;
    while index < rows.len() {
        let end = table_end(&rows, index).max(index);
        let Some(cells) = table(&rows[index..end]) else {
            // A long run that is no table is not tried again from each of its rows.
            let next = if end - index > LONG_RUN { end } else { index + 1 };
            plain.extend(rows[index..next].iter().map(merged));
            index = next;
            continue;
        };
        if !plain.is_empty() {
            blocks.push(PageBlock::Lines(std::mem::take(&mut plain)));
        }
        blocks.push(PageBlock::Table(cells));
        index = end;
    }
    if !plain.is_empty() {
        blocks.push(PageBlock::Lines(plain));
    }
    blocks
}

fn rows(lines: Vec<TextLine>) -> Vec<PieceRow> {
    let mut rows: Vec<PieceRow> = Vec::new();
    for line in lines {
        match rows.last_mut() {
            Some(row) if (row[0].base - line.base).abs() < 0.4 * line.size.min(row[0].size) => row.push(line),
            _ => rows.push(vec![line]),
        }
    }
    rows.into_iter().map(words_together).collect()
}

/// A row from left to right, with the words of a cell as one piece.
fn words_together(mut row: PieceRow) -> PieceRow {
    row.sort_by(|one, other| one.left.total_cmp(&other.left));
    let mut pieces: PieceRow = Vec::new();
    for piece in row {
        match pieces.last_mut() {
            Some(last) if piece.left - last.right <= CELL_GAP * piece.size.min(last.size) => join(last, &piece),
            _ => pieces.push(piece),
        }
    }
    pieces
}

/// Adds a piece that stands to the right. In text that runs to the left, it comes first.
fn join(line: &mut TextLine, piece: &TextLine) {
    if is_backward(&line.text) && is_backward(&piece.text) {
        line.text = format!("{} {}", piece.text, line.text);
    } else {
        append(&mut line.text, &piece.text);
    }
    line.right = line.right.max(piece.right);
    line.is_bold &= piece.is_bold;
}

/// Where the table that begins with this row ends; the row itself if there is none.
fn table_end(rows: &[PieceRow], start: usize) -> usize {
    if rows[start].len() < 2 {
        return start;
    }
    let mut end = start + 1;
    while let Some(row) = rows.get(end) {
        let previous = &rows[end - 1];
        let gap = previous[0].bottom() - row[0].top();
        if gap > 2.5 * row[0].size || (row.len() < 2 && !is_continuation(rows, start, end)) {
            break;
        }
        end += 1;
    }
    while end > start && rows[end - 1].len() < 2 && !is_continuation(rows, start, end - 1) {
        end -= 1;
    }
    end
}

/// Whether a single piece goes on with a cell of the row above: it is right below it, and no wider than its column.
fn is_continuation(rows: &[PieceRow], start: usize, index: usize) -> bool {
    let piece = &rows[index][0];
    let Some(above) = rows[start..index].last() else { return false };
    let gap = above[0].bottom() - piece.top();
    let touched = rows[start..index].iter().flatten().filter(|cell| cell.left < piece.right && piece.left < cell.right);
    let below_one = above.iter().filter(|cell| cell.left < piece.right && piece.left < cell.right).count() <= 1;
    let is_inside = touched.clone().next().is_some()
        && rows[start..index]
            .iter()
            .all(|row| row.iter().filter(|cell| cell.left < piece.right && piece.left < cell.right).count() <= 1);
    gap < 0.6 * piece.size && below_one && is_inside
}

/// The cells of rows that form a table.
fn table(rows: &[PieceRow]) -> Option<Vec<Vec<String>>> {
    let full = rows.iter().filter(|row| row.len() >= 2).count();
    let columns = columns(rows);
    let is_table = (full >= FEWEST_ROWS && columns.len() >= 2) || (full >= 2 && columns.len() >= 3);
    if !is_table || columns.len() > MOST_COLUMNS {
        return None;
    }
    let mut cells: Vec<Vec<String>> = Vec::new();
    for row in rows {
        let mut line = vec![String::new(); columns.len()];
        for piece in row {
            let middle = f64::midpoint(piece.left, piece.right);
            let column = columns.iter().position(|(left, right)| (*left..=*right).contains(&middle))?;
            append(&mut line[column], &piece.text);
        }
        match cells.last_mut() {
            Some(above) if row.len() == 1 && full >= 2 => {
                above.iter_mut().zip(&line).for_each(|(cell, more)| append(cell, more));
            }
            _ => cells.push(line),
        }
    }
    Some(cells)
}

fn append(cell: &mut String, more: &str) {
    if !cell.is_empty() && !more.is_empty() {
        cell.push(' ');
    }
    cell.push_str(more);
}

/// The columns: spans of pieces that overlap are one.
fn columns(rows: &[PieceRow]) -> Vec<(f64, f64)> {
    let mut spans: Vec<(f64, f64)> = rows.iter().flatten().map(|piece| (piece.left, piece.right)).collect();
    spans.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut columns: Vec<(f64, f64)> = Vec::new();
    for (left, right) in spans {
        match columns.last_mut() {
            Some(last) if left <= last.1 => last.1 = last.1.max(right),
            _ => columns.push((left, right)),
        }
    }
    columns
}

/// A row that is not part of a table, as one line.
fn merged(row: &PieceRow) -> TextLine {
    let mut line = row[0].clone();
    row[1..].iter().for_each(|piece| join(&mut line, piece));
    line
}
