//! The lines found by a search, as text and as data.

use std::fmt::Write;

use regex::bytes::Regex;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use updraft_run::Output;

use crate::place::Inside;

/// Bytes shown of a line.
const SHOWN: usize = 300;
/// Bytes of a line that are searched: a minified file is one line, and a search in a line cannot be stopped.
const SEARCHED: usize = 64 << 10;

pub(super) struct Hits {
    limit: usize,
    context: usize,
    text: String,
    found: Vec<Value>,
    files: usize,
    more: bool,
}

impl Hits {
    pub(super) fn new(limit: usize, context: usize) -> Self {
        Self { limit, context, text: String::new(), found: Vec::new(), files: 0, more: false }
    }

    /// Whether no further match would be taken.
    pub(super) fn is_full(&self) -> bool {
        self.more
    }

    /// Remembers that not everything was searched.
    pub(super) fn cut_short(&mut self) {
        self.more = true;
    }

    pub(super) fn search(&mut self, path: &Inside, content: &[u8], regex: &Regex, cancel: &CancellationToken) {
        self.files += 1;
        let lines: Vec<&[u8]> = lines(content).collect();
        // The next line that has not been shown.
        let mut next = 0;
        for (index, line) in lines.iter().enumerate() {
            if cancel.is_cancelled() {
                return;
            }
            let Some(found) = regex.find(&line[..line.len().min(SEARCHED)]) else { continue };
            if self.found.len() == self.limit {
                self.more = true;
                break;
            }
            let from = index.saturating_sub(self.context);
            if self.context > 0 && from > next && !self.text.is_empty() {
                self.text.push_str("--\n");
            }
            self.show(path, &lines, from.max(next)..index);
            let shown = excerpt(line, found.start());
            let _ = writeln!(self.text, "{path}:{}: {shown}", index + 1);
            self.found.push(json!({ "path": path.as_str(), "line": index + 1, "text": shown }));
            next = index + 1;
            // Lines after a match are shown up to the next match, which shows itself.
            let after = (next + self.context).min(lines.len());
            let is_hit = |line: &&[u8]| regex.is_match(&line[..line.len().min(SEARCHED)]);
            let until = lines[next..after].iter().position(is_hit).map_or(after, |offset| next + offset);
            self.show(path, &lines, next..until);
            next = until;
        }
    }

    /// Shows lines of context.
    fn show(&mut self, path: &Inside, lines: &[&[u8]], range: std::ops::Range<usize>) {
        for index in range {
            let _ = writeln!(self.text, "{path}-{}- {}", index + 1, excerpt(lines[index], 0));
        }
    }

    pub(super) fn output(mut self) -> Output {
        if self.found.is_empty() {
            let _ = writeln!(self.text, "[no line matches in {} files]", self.files);
        }
        if self.more {
            self.text.push_str("[there is more; narrow the pattern or the path]\n");
        }
        let value = json!({ "matches": self.found, "files_searched": self.files, "more": self.more });
        Output { text: self.text, value: Some(value), ..Output::default() }
    }
}

/// The lines of a text without their ends.
fn lines(content: &[u8]) -> impl Iterator<Item = &[u8]> {
    content.split_inclusive(|byte| *byte == b'\n').map(|line| {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        line.strip_suffix(b"\r").unwrap_or(line)
    })
}

/// A line cut to size, so that what begins at `at` can be seen.
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
