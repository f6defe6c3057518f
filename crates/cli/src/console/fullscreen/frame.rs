//! Puts the panels of the full screen together, and draws what has changed.

use std::fmt::Write as _;

use super::super::ascii;
use super::super::layout::{HELD_QUESTION, MOST_COMPOSED};
use super::super::row::{CellSymbol, RowCell, RowStyle, ScreenRow};
use super::super::state::{ConsoleMode, ConsoleState, FrameContext};
use super::details::PanelSize;
use super::{FullscreenView, Panel, steps};
use crate::{time_format, view};

/// With fewer columns, the steps and the details are not side by side: the one that has the keys is shown.
const SIDE_BY_SIDE: usize = 72;
/// With fewer rows there is no log.
const WITH_LOG: usize = 16;

/// All rows of a frame, and where the cursor is; nowhere if it is hidden.
struct FullFrame {
    rows: Vec<ScreenRow>,
    cursor: Option<(usize, usize)>,
}

impl FullscreenView {
    /// Draws the screen; `log` are the newest lines about what happened.
    pub(in super::super) fn draw(
        &mut self,
        state: &ConsoleState,
        log: &[String],
        frame: FrameContext,
        has_unicode: bool,
    ) -> String {
        let next = self.frame(state, log, frame, has_unicode);
        let mut out = "\x1b[?25l".to_owned();
        if self.shown.len() != next.rows.len() {
            out.push_str("\x1b[H\x1b[2J");
            self.shown = vec![ScreenRow::default(); next.rows.len()];
        }
        for (n, (shown, row)) in self.shown.iter_mut().zip(&next.rows).enumerate() {
            draw_row(&mut out, n, shown, row);
            shown.clone_from(row);
        }
        if let Some((row, column)) = next.cursor {
            let _ = write!(out, "\x1b[{};{}H\x1b[?25h", row + 1, column + 1);
        }
        out
    }

    fn frame(&mut self, state: &ConsoleState, log: &[String], frame: FrameContext, has_unicode: bool) -> FullFrame {
        let FrameContext { columns, rows, .. } = frame;
        let drawable = |line: &str| if has_unicode { line.to_owned() } else { ascii::ascii(line) };
        let row = |line: &str| ScreenRow::cut(&drawable(line), columns);
        let composer = (!self.only_looks).then(|| state.input_rows(columns, (rows / 3).clamp(1, MOST_COMPOSED)));
        let offered = if state.completion.is_some() { state.footer(frame) } else { Vec::new() };
        let below = composer.as_ref().map_or(0, |composer| composer.rows.len()) + offered.len() + 1;
        let below = below + usize::from(!self.only_looks);
        let log_rows = if state.prompt.is_some() {
            // What is asked stands in the log: it gets the screen.
            self.log_back = 0;
            rows.saturating_sub(2 + below)
        } else if rows < WITH_LOG || self.only_looks {
            0
        } else {
            (rows / 4).max(4)
        };
        let body = rows.saturating_sub(1 + below + log_rows).max(1);
        let mut all = vec![row(&self.title(columns))];
        all.extend(self.body(columns, body, has_unicode));
        if log_rows > 0 {
            all.push(row(&self.heading("log", Panel::Log, columns)));
            // A long line, of code or a table, goes on in the next row: nothing of it is lost.
            let lines = self.log_lines(log, log_rows - 1).iter();
            let wrapped: Vec<ScreenRow> = lines.flat_map(|line| ScreenRow::of_line(&drawable(line), columns)).collect();
            let hidden = wrapped.len().saturating_sub(log_rows - 1);
            all.extend(wrapped.into_iter().skip(hidden));
        }
        all.resize_with(rows.saturating_sub(below), ScreenRow::default);
        if !self.only_looks {
            all.push(ScreenRow::default());
        }
        let mut cursor = None;
        if let Some(composer) = composer {
            if self.panel == Panel::Composer {
                cursor = Some((all.len() + composer.cursor.0, composer.cursor.1));
            }
            all.extend(composer.rows.iter().map(|line| row(line)));
        }
        all.extend(offered.iter().map(|line| row(line)));
        all.push(row(&self.paint.dim(&view::cut(self.help(state), columns.saturating_sub(1)))));
        all.truncate(rows);
        FullFrame { rows: all, cursor: cursor.filter(|(row, _)| *row < rows) }
    }

    fn title(&self, columns: usize) -> String {
        let Some(id) = &self.run else { return self.paint.dim("nothing runs yet") };
        let run = self.history.run();
        let figures = if run.is_over() {
            view::figures(run)
        } else {
            let ledger = run.ledger();
            let time = time_format::length(time_format::now().since(self.history.began()));
            format!("{time} · {} · {}", view::count(ledger.requests(), "turn"), view::cost(ledger))
        };
        let about = format!("{} · {figures}", run.status_word());
        let room = columns.saturating_sub(view::width(id.as_str()) + 7);
        format!("run {}  {}", self.paint.bold(id.as_str()), self.paint.dim(&view::cut(&about, room)))
    }

    /// The steps and the details, side by side if there is room.
    fn body(&mut self, columns: usize, rows: usize, has_unicode: bool) -> Vec<ScreenRow> {
        let is_narrow = columns < SIDE_BY_SIDE;
        let shows_steps = !is_narrow || self.panel != Panel::Details;
        let left = if is_narrow { columns } else { (columns * 2 / 5).clamp(26, 60) };
        let right = if is_narrow { columns } else { columns - left - 3 };
        let row = |line: &String, columns: usize| {
            let line = if has_unicode { line.clone() } else { ascii::ascii(line) };
            ScreenRow::cut(&line, columns)
        };
        let mut lines = Vec::new();
        if shows_steps {
            lines.push(self.heading("steps", Panel::Steps, left));
            lines.extend(steps::lines(&self.history, self.chosen.as_ref(), (left, rows - 1), self.paint));
        }
        let mut details = Vec::new();
        if !is_narrow || !shows_steps {
            let name = self.chosen.as_ref().map_or("the run", |step| step.as_str()).to_owned();
            let size =
                PanelSize { columns: right, rows: rows - 1, paint: self.paint, has_keys: self.panel == Panel::Details };
            details.push(self.heading(&name, Panel::Details, right));
            details.extend(self.details.lines(&self.history, self.chosen.as_ref(), size));
        }
        let empty = String::new();
        let beside = |n: usize| {
            if is_narrow {
                return row(lines.get(n).or_else(|| details.get(n)).unwrap_or(&empty), columns);
            }
            let mut whole = row(lines.get(n).unwrap_or(&empty), left);
            let blank = RowCell { symbol: CellSymbol::One(' '), width: 1, style: RowStyle::default() };
            whole.cells.extend(std::iter::repeat_n(blank, left.saturating_sub(whole.width())));
            whole.cells.extend(row(&self.paint.dim(" │ "), 3).cells);
            whole.cells.extend(row(details.get(n).unwrap_or(&empty), right).cells);
            whole
        };
        (0..rows).map(beside).collect()
    }

    /// The name of a panel; the one that has the keys stands out.
    fn heading(&self, name: &str, panel: Panel, columns: usize) -> String {
        let text = format!("── {} ", view::cut(name, columns.saturating_sub(6)));
        let rest = "─".repeat(columns.saturating_sub(view::width(&text)));
        if panel == self.panel {
            self.paint.cyan(&format!("{text}{rest}"))
        } else {
            self.paint.dim(&format!("{text}{rest}"))
        }
    }

    /// The lines of the log that are in view.
    fn log_lines<'a>(&mut self, log: &'a [String], rows: usize) -> &'a [String] {
        self.log_back = self.log_back.min(log.len().saturating_sub(rows));
        let until = log.len() - self.log_back;
        &log[until.saturating_sub(rows)..until]
    }

    fn help(&self, state: &ConsoleState) -> &'static str {
        match self.panel {
            Panel::Composer if state.prompt.is_some() => "Enter answers · Esc leaves it open · Tab: steps",
            _ if state.has_held_question() => HELD_QUESTION,
            Panel::Composer if state.mode == ConsoleMode::Watch => {
                "Enter tells the agents · Tab: steps · Ctrl-G leaves"
            }
            Panel::Composer => "Enter sends · Tab: steps · Ctrl-G leaves",
            Panel::Steps => "↑↓ choose · Enter: details · Tab · q leaves",
            Panel::Details => "↑↓ PgUp PgDn · Enter unfolds · Tab · q leaves",
            Panel::Log => "↑↓ PgUp PgDn · Tab · q leaves",
        }
    }
}

/// Writes what is different in a row.
fn draw_row(out: &mut String, n: usize, shown: &ScreenRow, next: &ScreenRow) {
    let same = shown.cells.iter().zip(&next.cells).take_while(|(a, b)| a == b).count();
    if same == shown.cells.len() && same == next.cells.len() {
        return;
    }
    let column: usize = next.cells[..same].iter().map(|cell| usize::from(cell.width)).sum();
    let _ = write!(out, "\x1b[{};{}H", n + 1, column + 1);
    let mut style = RowStyle::default();
    for cell in &next.cells[same..] {
        if cell.style != style {
            if style != RowStyle::default() {
                out.push_str("\x1b[0m");
            }
            out.push_str(&cell.style.code());
            style = cell.style;
        }
        cell.symbol.write(out);
    }
    if style != RowStyle::default() {
        out.push_str("\x1b[0m");
    }
    if shown.width() > next.width() {
        let _ = write!(out, "\x1b[{};{}H\x1b[K", n + 1, next.width() + 1);
    }
}
