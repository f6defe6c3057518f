//! The inline screen: finished lines go to the terminal's own scrollback, and only the rows below them are redrawn.
//!
//! All movements are relative to the cursor, so the terminal is never asked where it is, and nothing outside the rows that
//! were drawn is touched. Each frame is one string, which holds only what has changed.

use std::fmt::Write as _;

use super::row::{RowStyle, ScreenRow};

/// What is on the terminal, as far as it was drawn here.
pub(super) struct InlineScreen {
    columns: usize,
    rows: usize,
    /// The rows that may be drawn over, from the top. Never empty: the cursor is on one of them.
    shown: Vec<ScreenRow>,
    /// The cursor's row among them, and its column if that is known.
    row: usize,
    column: Option<usize>,
    style: RowStyle,
}

impl InlineScreen {
    /// A screen below what the terminal shows; the cursor is at the beginning of an empty line.
    pub(super) fn new(columns: usize, rows: usize) -> Self {
        let shown = vec![ScreenRow::default()];
        Self { columns, rows, shown, row: 0, column: None, style: RowStyle::default() }
    }

    pub(super) fn size(&self) -> (usize, usize) {
        (self.columns, self.rows)
    }

    /// Draws lines that stay above, and the rows below them. The cursor ends at a row and column of the latter.
    pub(super) fn frame(&mut self, above: &[String], below: &[String], cursor: (usize, usize)) -> String {
        let mut out = String::new();
        let hidden = below.len().saturating_sub(self.rows.saturating_sub(1).max(1));
        let below: Vec<ScreenRow> = below[hidden..].iter().map(|line| ScreenRow::cut(line, self.columns)).collect();
        let cursor = (cursor.0.saturating_sub(hidden), cursor.1);
        let finished: Vec<ScreenRow> = above.iter().flat_map(|line| ScreenRow::of_line(line, self.columns)).collect();
        let most = self.rows.saturating_sub(below.len()).max(1);
        let mut parts = finished.chunks(most).peekable();
        loop {
            let part = parts.next().unwrap_or_default();
            self.paint(&mut out, part, &below);
            self.move_to(&mut out, part.len() + cursor.0, cursor.1);
            self.shown.drain(..part.len().min(self.shown.len().saturating_sub(1)));
            self.row -= part.len().min(self.row);
            if parts.peek().is_none() {
                break;
            }
        }
        self.plain(&mut out);
        out
    }

    /// Removes the rows that may be drawn over. What is printed next takes their place.
    pub(super) fn clear(&mut self) -> String {
        let mut out = String::new();
        self.plain(&mut out);
        self.move_to(&mut out, 0, 0);
        out.push_str("\x1b[J");
        self.shown = vec![ScreenRow::default()];
        out
    }

    /// The terminal has another size: removes the rows, which the terminal may have broken into more of them.
    pub(super) fn resize(&mut self, columns: usize, rows: usize) -> String {
        let (columns, rows) = (columns.max(2), rows.max(2));
        let broken = |row: &ScreenRow| row.width().div_ceil(columns).max(1);
        let above: usize = self.shown.iter().take(self.row).map(broken).sum();
        let above = above + self.column.unwrap_or_default() / columns;
        (self.columns, self.rows) = (columns, rows);
        (self.shown, self.row, self.column) = (vec![ScreenRow::default()], 0, Some(0));
        // The cursor cannot go above the first row of the screen.
        let up = if above == 0 { String::new() } else { format!("\x1b[{above}A") };
        format!("\r{up}\x1b[J")
    }

    /// Draws all rows from the top: those that will stay, then the others.
    fn paint(&mut self, out: &mut String, above: &[ScreenRow], below: &[ScreenRow]) {
        let next: Vec<&ScreenRow> = above.iter().chain(below).collect();
        self.make_room(out, &next);
        let mut at = 0;
        while at < next.len() {
            let rows = 1 + next[at + 1..].iter().take_while(|row| row.continues).count();
            if (at..at + rows).any(|n| self.shown[n] != *next[n]) {
                if rows == 1 {
                    self.draw_row(out, at, next[at]);
                } else {
                    self.draw_long_line(out, at, &next[at..at + rows]);
                }
            }
            at += rows;
        }
    }

    /// Makes as many rows as there will be. Rows at the end that stay the same are moved by the terminal.
    fn make_room(&mut self, out: &mut String, next: &[&ScreenRow]) {
        let (old, new) = (self.shown.len(), next.len().max(1));
        let same = self.shown.iter().rev().zip(next.iter().rev()).take_while(|(a, b)| *a == **b).count();
        let same = same.min(old.saturating_sub(1)).min(new.saturating_sub(1));
        if new > old {
            let more = new - old;
            self.move_to(out, old - 1, self.column.unwrap_or_default());
            out.extend(std::iter::repeat_n('\n', more));
            self.row += more;
            let at = old - same;
            if same > 0 {
                self.move_to(out, at, 0);
                let _ = write!(out, "\x1b[{}L", number(more));
                self.column = None;
            }
            self.shown.splice(at..at, std::iter::repeat_n(ScreenRow::default(), more));
        } else if new < old {
            let less = old - new;
            let at = old - same - less;
            self.move_to(out, at, 0);
            let _ = write!(out, "\x1b[{}M", number(less));
            self.column = None;
            self.shown.drain(at..at + less);
        }
    }

    /// Draws what is different in a row.
    fn draw_row(&mut self, out: &mut String, at: usize, next: &ScreenRow) {
        let shown = &self.shown[at];
        let (was, becomes) = (shown.width(), next.width());
        let same = shown.cells.iter().zip(&next.cells).take_while(|(a, b)| a == b).count();
        // With the same width, an end that is the same need not be drawn again.
        let tail = if was == becomes {
            let rest = shown.cells[same..].iter().rev().zip(next.cells[same..].iter().rev());
            rest.take_while(|(a, b)| a == b).count()
        } else {
            0
        };
        let column: usize = next.cells[..same].iter().map(|cell| usize::from(cell.width)).sum();
        self.move_to(out, at, column);
        self.write(out, &next.cells[same..next.cells.len() - tail]);
        if was > becomes {
            // In the last column, the cursor may still be on the last character.
            self.move_to(out, at, becomes);
            out.push_str("\x1b[K");
        }
        self.shown[at] = next.clone();
    }

    /// Draws a line that takes several rows, and leaves it to the terminal to break it, so that it is copied as one line.
    fn draw_long_line(&mut self, out: &mut String, at: usize, rows: &[&ScreenRow]) {
        self.move_to(out, at, 0);
        for (n, row) in rows.iter().enumerate() {
            self.write(out, &row.cells);
            self.shown[at + n] = (*row).clone();
        }
        self.row = at + rows.len() - 1;
        let width = rows.last().map(|row| row.width()).unwrap_or_default();
        self.column = (width < self.columns).then_some(width);
        if width < self.columns {
            out.push_str("\x1b[K");
        }
    }

    fn write(&mut self, out: &mut String, cells: &[super::row::RowCell]) {
        let mut width = 0;
        for cell in cells {
            if cell.style != self.style {
                self.plain(out);
                out.push_str(&cell.style.code());
                self.style = cell.style;
            }
            cell.symbol.write(out);
            width += usize::from(cell.width);
        }
        // After the last column, terminals differ in where the cursor is.
        self.column = self.column.map(|column| column + width).filter(|column| *column < self.columns);
    }

    fn plain(&mut self, out: &mut String) {
        if self.style != RowStyle::default() {
            out.push_str("\x1b[0m");
            self.style = RowStyle::default();
        }
    }

    fn move_to(&mut self, out: &mut String, row: usize, column: usize) {
        if row < self.row {
            let _ = write!(out, "\x1b[{}A", number(self.row - row));
        } else if row > self.row {
            let _ = write!(out, "\x1b[{}B", number(row - self.row));
        }
        if self.column != Some(column) {
            match column {
                0 => out.push('\r'),
                _ => {
                    let _ = write!(out, "\x1b[{}G", column + 1);
                }
            }
        }
        (self.row, self.column) = (row, Some(column));
    }
}

/// The parameter of a movement; one is what terminals take if there is none.
fn number(n: usize) -> String {
    if n == 1 { String::new() } else { n.to_string() }
}

#[cfg(test)]
#[path = "screen_tests.rs"]
mod tests;
