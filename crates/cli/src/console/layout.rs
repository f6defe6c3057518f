//! What the console draws below the scrollback: the open block, the work under way, the composer, a line of help.

use std::time::Duration;

use updraft_run::Millis;

use super::state::{ConsoleMode, ConsoleState, FrameContext};
use crate::{time_format, view};

const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// How long each of its marks is shown.
const SPIN: Duration = Duration::from_millis(120);
/// Most rows of the composer.
pub(super) const MOST_COMPOSED: usize = 10;

/// Said while a question waits for the user to finish a message.
pub(super) const HELD_QUESTION: &str = "a question waits: send what you write, or delete it with Ctrl-U";

/// The rows below the scrollback, and the place of the cursor in them.
#[derive(Debug)]
pub(super) struct ConsoleLayout {
    pub(super) rows: Vec<String>,
    pub(super) cursor: (usize, usize),
}

/// How many rows the work under way may take.
pub(super) fn strip_rows(rows: usize) -> usize {
    (rows / 2).clamp(4, 24)
}

impl ConsoleState {
    /// Lays out all rows; `strip` is the work under way, already fitted.
    pub(super) fn layout(&self, strip: &[String], frame: FrameContext) -> ConsoleLayout {
        let FrameContext { columns, rows: height, .. } = frame;
        let most = height.saturating_sub(2).max(3);
        let mut composer = self.input_rows(columns, most.min(MOST_COMPOSED));
        let mut below = self.footer(frame);
        below.truncate(most.saturating_sub(composer.rows.len()));
        let mut rows = self.transcript.open_lines((height / 3).clamp(2, 12));
        if self.is_working {
            if !strip.is_empty() && (!rows.is_empty() || !self.talks) {
                rows.push(String::new());
            }
            rows.extend(strip.iter().cloned());
            if self.prompt.is_none() && self.mode != ConsoleMode::Ask {
                rows.push(self.working(frame));
            }
        }
        rows.push(String::new());
        let room = most.saturating_sub(composer.rows.len() + below.len());
        rows.drain(..rows.len().saturating_sub(room));
        composer.cursor.0 += rows.len();
        rows.append(&mut composer.rows);
        rows.append(&mut below);
        ConsoleLayout { rows, cursor: composer.cursor }
    }

    /// The composer, or the question that it answers, or the search.
    pub(super) fn input_rows(&self, columns: usize, most: usize) -> ConsoleLayout {
        let paint = self.paint;
        if let Some(search) = &self.search {
            let found = self.history.find(&search.words, search.skipped).unwrap_or("nothing found");
            let before = format!("search: {}", search.words);
            let text = view::cut(&before, columns.saturating_sub(1));
            let cursor = (0, view::width(&text));
            let room = columns.saturating_sub(3);
            return ConsoleLayout { rows: vec![text, paint.dim(&format!("  {}", view::cut(found, room)))], cursor };
        }
        let mut rows = Vec::new();
        if let Some(prompt) = &self.prompt {
            let text = prompt.text.trim();
            if text != ">" {
                let asked = view::wrap(text, columns.saturating_sub(1));
                rows.extend(asked.iter().map(|line| paint.yellow(line)));
            }
        }
        let mark = if self.prompt.is_some() { "? " } else { "› " };
        let composer = self.composer.rows(mark, columns, most.saturating_sub(rows.len()).max(1));
        let cursor = (composer.cursor.0 + rows.len(), composer.cursor.1);
        let composed = composer.rows.into_iter().enumerate();
        rows.extend(composed.map(|(n, row)| match row.strip_prefix(mark) {
            Some(text) if n == 0 => format!("{}{text}", paint.cyan(mark)),
            _ => row,
        }));
        ConsoleLayout { rows, cursor }
    }

    /// That something is being done, and for how long.
    fn working(&self, frame: FrameContext) -> String {
        let paint = self.paint;
        // Text that arrives shows by itself that something is done.
        let mark = if self.transcript.is_streaming() {
            "●"
        } else {
            SPINNER[(frame.elapsed.as_millis() / SPIN.as_millis()) as usize % SPINNER.len()]
        };
        let seconds = frame.elapsed.as_secs();
        let time = if seconds < 60 { format!("{seconds} s") } else { time_format::length(Millis(seconds * 1_000)) };
        let word = if self.is_stopping { "stopping" } else { "working" };
        let hint = match self.mode {
            _ if self.is_stopping => "",
            ConsoleMode::Talk | ConsoleMode::Ask => " · Esc stops",
            ConsoleMode::Watch | ConsoleMode::Look => " · Esc leaves",
        };
        let text = format!("{word} · {time}{hint}");
        format!("{} {}", paint.cyan(mark), paint.dim(&view::cut(&text, frame.columns.saturating_sub(3))))
    }

    /// Completions, or one line about the conversation and the keys.
    pub(super) fn footer(&self, frame: FrameContext) -> Vec<String> {
        let (paint, columns) = (self.paint, frame.columns.saturating_sub(1));
        if let Some(completion) = &self.completion {
            let widest = completion.candidates().map(|(_, text, _)| view::width(text)).max().unwrap_or_default();
            let row = |(is_chosen, text, what): (bool, &str, &str)| {
                let text = view::column(text, widest.min(columns.saturating_sub(2)));
                let room = columns.saturating_sub(view::width(&text) + 4);
                let what = if room > 8 { paint.dim(&view::cut(what, room)) } else { String::new() };
                let text = if is_chosen { paint.with("7", &text) } else { text };
                format!("  {text}  {what}")
            };
            return completion.candidates().map(row).collect();
        }
        let text = if self.is_quitting {
            "Ctrl-C again quits".to_owned()
        } else if self.prompt.is_some() {
            let keys = "Enter answers · Esc leaves it open";
            let more = format!("{keys} · /tell TEXT tells the agents something");
            let fits = view::width(&more) <= columns.saturating_sub(2);
            if fits && self.is_working { more } else { keys.to_owned() }
        } else if self.has_held_question() {
            HELD_QUESTION.to_owned()
        } else if self.search.is_some() {
            "Enter sends it · Tab takes it · Ctrl-R finds an older one · Esc ends the search".to_owned()
        } else if self.is_working {
            match self.mode {
                ConsoleMode::Talk | ConsoleMode::Ask => "agents read what you send".to_owned(),
                ConsoleMode::Watch | ConsoleMode::Look => {
                    "agents read what you send · /cancel stops the run".to_owned()
                }
            }
        } else {
            let parts = [self.model.as_str(), &self.folder, &self.cost, "/help"];
            let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            let whole = parts.join(" · ");
            // Without room for all, the folder is left out, and the model's name is cut.
            if view::width(&whole) <= columns.saturating_sub(2) {
                whole
            } else {
                let rest: Vec<&str> =
                    [self.cost.as_str(), "/help"].into_iter().filter(|part| !part.is_empty()).collect();
                let rest = rest.join(" · ");
                let room = columns.saturating_sub(view::width(&rest) + 5);
                format!("{} · {rest}", view::cut(&self.model, room))
            }
        };
        vec![paint.dim(&format!("  {}", view::cut(&text, columns.saturating_sub(2))))]
    }
}

#[cfg(test)]
#[path = "layout_tests.rs"]
mod tests;
