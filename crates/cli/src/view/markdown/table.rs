//! Tables: aligned if they fit; with wrapped cells if they do not; one field per line if nothing else fits.

use pulldown_cmark::Alignment;

use super::super::fit;
use super::flow::Flow;
use crate::out::{self, Paint};

/// The separator of columns.
const BETWEEN: &str = " │ ";
/// No column is narrower than this, unless its longest word is.
const NARROWEST: usize = 10;

/// A table: the first row is its head.
#[derive(Default)]
pub(super) struct Table {
    rows: Vec<Vec<Flow>>,
    /// How the cells of each column stand in it.
    alignments: Vec<Alignment>,
}

impl Table {
    pub(super) fn new(alignments: Vec<Alignment>) -> Self {
        Self { rows: Vec::new(), alignments }
    }

    pub(super) fn begin_row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub(super) fn cell(&mut self, cell: Flow) {
        if let Some(row) = self.rows.last_mut() {
            row.push(cell);
        }
    }

    pub(super) fn lines(&self, room: usize, paint: Paint) -> Vec<String> {
        match self.widths(room) {
            Some(widths) => self.aligned(&widths, paint),
            None => self.listed(room, paint),
        }
    }

    /// The width of each column; `None` if they do not fit side by side.
    fn widths(&self, room: usize) -> Option<Vec<usize>> {
        let columns = self.rows.iter().map(Vec::len).max()?;
        let cells = |column: usize| self.rows.iter().filter_map(move |row| row.get(column));
        let most: Vec<usize> = (0..columns).map(|n| cells(n).map(Flow::width).max().unwrap_or_default()).collect();
        let least: Vec<usize> = (0..columns)
            .map(|n| cells(n).map(Flow::longest_word).max().unwrap_or_default().max(most[n].min(NARROWEST)))
            .collect();
        let room = room.checked_sub((columns.checked_sub(1)?) * fit::width(BETWEEN))?;
        let mut widths = most;
        if least.iter().sum::<usize>() > room {
            return None;
        }
        while widths.iter().sum::<usize>() > room {
            // The widest column that can shrink is made narrower.
            let widest = (0..columns).filter(|n| widths[*n] > least[*n]).max_by_key(|n| widths[*n])?;
            widths[widest] -= 1;
        }
        Some(widths)
    }

    fn aligned(&self, widths: &[usize], paint: Paint) -> Vec<String> {
        let mut lines = Vec::new();
        for (n, row) in self.rows.iter().enumerate() {
            let cells: Vec<Vec<String>> = widths
                .iter()
                .enumerate()
                .map(|(at, width)| row.get(at).map_or(Vec::new(), |cell| cell.lines(*width, paint)))
                .collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or_default();
            for at in 0..height.max(1) {
                let parts: Vec<String> = cells
                    .iter()
                    .zip(widths)
                    .enumerate()
                    .map(|(column, (cell, width))| {
                        let text = cell.get(at).map_or("", String::as_str);
                        let space = width.saturating_sub(fit::width(&out::without_colours(text)));
                        let before = match self.alignments.get(column) {
                            Some(Alignment::Right) => space,
                            Some(Alignment::Center) => space / 2,
                            _ => 0,
                        };
                        let text = if n == 0 { paint.bold(text) } else { text.to_owned() };
                        format!("{}{text}{}", " ".repeat(before), " ".repeat(space - before))
                    })
                    .collect();
                lines.push(parts.join(&paint.dim(BETWEEN)).trim_end().to_owned());
            }
            if n == 0 {
                let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                lines.push(paint.dim(&rule.join("─┼─")));
            }
        }
        lines
    }

    /// Each row as a list of its fields.
    fn listed(&self, room: usize, paint: Paint) -> Vec<String> {
        let mut lines = Vec::new();
        let Some((head, rows)) = self.rows.split_first() else { return lines };
        for row in rows {
            if !lines.is_empty() {
                lines.push(String::new());
            }
            for (name, cell) in head.iter().zip(row) {
                let name = name.lines(usize::MAX, Paint::off()).join(" ");
                let left = room.saturating_sub(fit::width(&name) + 2).max(8);
                let mut value = cell.lines(left, paint).into_iter();
                lines.push(format!("{} {}", paint.bold(&format!("{name}:")), value.next().unwrap_or_default()));
                lines.extend(value.map(|line| format!("  {line}")));
            }
        }
        lines
    }
}
