//! Collects the lines that a search found, as text and as data.

use std::fmt::Write;

use regex::bytes::Regex;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use updraft_run::ToolOutput;
use updraft_workspace::WorkspacePath;

/// Most bytes shown of a line.
const SHOWN: usize = 300;
/// Most files named as too large.
const NAMED: usize = 20;
/// Bytes of a line that are searched at a time: a minified file is a single line, and a search can be cancelled
/// between pieces.
const PIECE: usize = 16 << 10;
/// Bytes of the next piece that are searched along with each piece, to find matches that cross the boundary.
const OVERLAP: usize = 1 << 10;

pub(super) struct LineMatches {
    limit: usize,
    context: usize,
    text: String,
    found: Vec<Value>,
    files: usize,
    is_full: bool,
    more: bool,
    too_large: Vec<String>,
}

impl LineMatches {
    pub(super) fn new(limit: usize, context: usize) -> Self {
        let (text, found, too_large) = (String::new(), Vec::new(), Vec::new());
        Self { limit, context, text, found, files: 0, is_full: false, more: false, too_large }
    }

    /// Whether the limit of matches is reached.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Records a file that is too large to be searched.
    pub(super) fn leave_out(&mut self, path: &WorkspacePath) {
        self.too_large.push(path.on_one_line().into_owned());
    }

    /// Records that not everything was searched.
    pub(super) fn cut_short(&mut self) {
        self.more = true;
    }

    pub(super) fn search(&mut self, path: &WorkspacePath, content: &[u8], regex: &Regex, cancel: &CancellationToken) {
        self.files += 1;
        let lines: Vec<&[u8]> = lines(content).collect();
        // The next line that has not been shown.
        let mut next = 0;
        let mut is_first = true;
        for (index, line) in lines.iter().enumerate() {
            if cancel.is_cancelled() {
                return;
            }
            let Some(at) = find(line, regex, cancel) else { continue };
            if self.found.len() == self.limit {
                (self.is_full, self.more) = (true, true);
                break;
            }
            let from = index.saturating_sub(self.context);
            let is_apart = is_first || from > next;
            if self.context > 0 && is_apart && !self.text.is_empty() {
                self.text.push_str("--\n");
            }
            self.show(path, &lines, from.max(next)..index);
            let shown = excerpt(line, at);
            let _ = writeln!(self.text, "{}:{}: {shown}", path.on_one_line(), index + 1);
            self.found.push(json!({ "path": path.as_str(), "line": index + 1, "text": shown }));
            is_first = false;
            next = index + 1;
            // Context lines after a match end at the next match, which has its own entry.
            let after = (next + self.context).min(lines.len());
            let is_hit = |line: &&[u8]| find(line, regex, cancel).is_some();
            let until = lines[next..after].iter().position(is_hit).map_or(after, |offset| next + offset);
            self.show(path, &lines, next..until);
            next = until;
        }
    }

    /// Shows lines of context.
    fn show(&mut self, path: &WorkspacePath, lines: &[&[u8]], range: std::ops::Range<usize>) {
        for index in range {
            let _ = writeln!(self.text, "{}-{}- {}", path.on_one_line(), index + 1, excerpt(lines[index], 0));
        }
    }

    pub(super) fn output(mut self) -> ToolOutput {
        if self.found.is_empty() {
            let _ = writeln!(self.text, "[no line matches in {} files]", self.files);
        }
        if self.more {
            self.text.push_str("[there is more; narrow the pattern or the path]\n");
        }
        let mut value = json!({ "matches": self.found, "files_searched": self.files, "more": self.more });
        if !self.too_large.is_empty() {
            let named: Vec<String> = self.too_large.iter().take(NAMED).map(|path| format!("`{path}`")).collect();
            let others = self.too_large.len() - named.len();
            let others = if others > 0 { format!(" and {others} more") } else { String::new() };
            let _ = writeln!(self.text, "[too large, so not searched: {}{others}]", named.join(", "));
            self.too_large.truncate(NAMED);
            value["too_large"] = self.too_large.into();
        }
        ToolOutput { text: self.text, value: Some(value), ..ToolOutput::default() }
    }
}

/// The lines of a text without their line endings.
fn lines(content: &[u8]) -> impl Iterator<Item = &[u8]> {
    content.split_inclusive(|byte| *byte == b'\n').map(|line| {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        line.strip_suffix(b"\r").unwrap_or(line)
    })
}

/// Where in a line the expression first matches. In a line of several pieces, `$` also matches where a piece ends.
fn find(line: &[u8], regex: &Regex, cancel: &CancellationToken) -> Option<usize> {
    let mut starts = (0..line.len().max(1)).step_by(PIECE).take_while(|_| !cancel.is_cancelled());
    starts.find_map(|start| {
        let end = (start + PIECE + OVERLAP).min(line.len());
        regex.find_at(&line[..end], start).map(|found| found.start())
    })
}

/// A line cut to size so that the match that begins at `at` is visible.
fn excerpt(line: &[u8], at: usize) -> String {
    if line.len() <= SHOWN {
        return String::from_utf8_lossy(line).into_owned();
    }
    let from = if at < SHOWN / 2 { 0 } else { at - SHOWN / 3 };
    let until = (from + SHOWN).min(line.len());
    let before = if from > 0 { "…" } else { "" };
    let after = if until < line.len() { "…" } else { "" };
    // Cutting may split a character at either end, which would show as a replacement character.
    let middle = String::from_utf8_lossy(&line[from..until]);
    format!("{before}{}{after}", middle.trim_matches('\u{FFFD}'))
}
