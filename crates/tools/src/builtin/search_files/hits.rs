//! Collects what a search found, as text and as data: lines below the path of their file, paths, or counts.

use std::fmt::Write as _;
use std::ops::Range;

use regex::bytes::Regex;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use updraft_run::ToolOutput;

/// Most bytes shown of a line.
const SHOWN: usize = 300;
/// Most files named as not searched.
const NAMED: usize = 20;
/// Bytes of a line that are searched at a time: a minified file is a single line, and a search can be cancelled
/// between pieces.
const PIECE: usize = 16 << 10;
/// Bytes of the next piece that are searched along with each piece, to find matches that cross the boundary.
const OVERLAP: usize = 1 << 10;
/// Bytes for remarks about what is left out.
const REMARKS: usize = 2 << 10;

/// What is shown of the matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ShownMatches {
    /// The matching lines.
    #[default]
    Lines,
    /// The paths of the files that have any.
    Files,
    /// How many each file has.
    Count,
}

/// How matches are shown, and how many.
#[derive(Clone, Copy, Debug)]
pub(super) struct MatchForm {
    pub(super) shown: ShownMatches,
    /// Lines around each match.
    pub(super) context: usize,
    /// Most matching lines, or files.
    pub(super) most: usize,
    /// Most bytes of the text.
    pub(super) bytes: usize,
}

pub(super) struct SearchMatches {
    form: MatchForm,
    text: String,
    found: Vec<Value>,
    /// Files that were searched.
    files: usize,
    /// All matching lines that were counted.
    lines: usize,
    is_full: bool,
    more: bool,
    too_large: Vec<String>,
    documents: Vec<String>,
}

impl SearchMatches {
    pub(super) fn new(form: MatchForm) -> Self {
        let form = MatchForm { bytes: form.bytes.saturating_sub(REMARKS), ..form };
        let (text, found) = (String::new(), Vec::new());
        let (too_large, documents) = (Vec::new(), Vec::new());
        Self { form, text, found, files: 0, lines: 0, is_full: false, more: false, too_large, documents }
    }

    /// Whether nothing more can be shown.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Records a file that is too large to be searched.
    pub(super) fn leave_out_large(&mut self, path: String) {
        self.too_large.push(path);
    }

    /// Records a document, whose text has to be unpacked.
    pub(super) fn leave_out_document(&mut self, path: String) {
        self.documents.push(path);
    }

    /// Records that not everything was searched.
    pub(super) fn cut_short(&mut self) {
        self.more = true;
    }

    /// Searches the content of a file; `path` is its path on one line.
    pub(super) fn search(&mut self, path: &str, content: &[u8], regex: &Regex, cancel: &CancellationToken) {
        self.files += 1;
        let lines: Vec<&[u8]> = lines(content).collect();
        match self.form.shown {
            ShownMatches::Lines => self.show_lines(path, &lines, regex, cancel),
            ShownMatches::Files => {
                if lines.iter().any(|line| find(line, regex, cancel).is_some()) {
                    self.show(&format!("{path}\n"), json!(path));
                }
            }
            ShownMatches::Count => {
                let count = lines.iter().filter(|line| find(line, regex, cancel).is_some()).count();
                if count > 0 && self.show(&format!("{path}: {count}\n"), json!({ "path": path, "lines": count })) {
                    self.lines += count;
                }
            }
        }
    }

    fn show_lines(&mut self, path: &str, lines: &[&[u8]], regex: &Regex, cancel: &CancellationToken) {
        // The next line that has not been shown.
        let mut next = 0;
        let mut is_first = true;
        for (index, line) in lines.iter().enumerate() {
            if cancel.is_cancelled() || self.is_full {
                return;
            }
            let Some(at) = find(line, regex, cancel) else { continue };
            let from = index.saturating_sub(self.form.context);
            let mut block = match (is_first, self.text.is_empty()) {
                (true, true) => format!("{path}\n"),
                (true, false) => format!("\n{path}\n"),
                (false, _) if self.form.context > 0 && from > next => "--\n".to_owned(),
                (false, _) => String::new(),
            };
            add_context(&mut block, lines, from.max(next)..index);
            let shown = excerpt(line, at);
            let _ = writeln!(block, "{}: {shown}", index + 1);
            next = index + 1;
            // Context lines after a match end at the next match, which has its own entry.
            let after = (next + self.form.context).min(lines.len());
            let is_hit = |line: &&[u8]| find(line, regex, cancel).is_some();
            let until = lines[next..after].iter().position(is_hit).map_or(after, |offset| next + offset);
            add_context(&mut block, lines, next..until);
            next = until;
            is_first = false;
            if self.show(&block, json!({ "path": path, "line": index + 1, "text": shown })) {
                self.lines += 1;
            }
        }
    }

    /// Shows one more, if there is room.
    fn show(&mut self, text: &str, data: Value) -> bool {
        if self.found.len() == self.form.most || self.text.len() + text.len() > self.form.bytes {
            (self.is_full, self.more) = (true, true);
            return false;
        }
        self.text.push_str(text);
        self.found.push(data);
        true
    }

    pub(super) fn output(mut self) -> ToolOutput {
        let shown = self.found.len();
        let remark = match (self.form.shown, shown) {
            (_, 0) if !self.is_full => format!("[no line matches in {} files]\n", self.files),
            (ShownMatches::Count, _) => format!("[{} lines in {shown} files]\n", self.lines),
            (ShownMatches::Lines | ShownMatches::Files, _) => String::new(),
        };
        self.text.push_str(&remark);
        if self.is_full {
            let (what, other) = match self.form.shown {
                ShownMatches::Lines => ("matching lines", ", or take show: count"),
                ShownMatches::Files | ShownMatches::Count => ("files", ""),
            };
            let _ =
                writeln!(self.text, "[the first {shown} {what}; there are more: narrow path, glob or pattern{other}]");
        } else if self.more {
            self.text.push_str("[not everything was searched: narrow path or glob]\n");
        }
        let list = match self.form.shown {
            ShownMatches::Lines => "matches",
            ShownMatches::Files => "files",
            ShownMatches::Count => "counts",
        };
        let mut value = json!({ list: self.found, "files_searched": self.files, "more": self.more });
        if !self.too_large.is_empty() {
            let _ = writeln!(self.text, "[too large, so not searched: {}]", named(&self.too_large));
            self.too_large.truncate(NAMED);
            value["too_large"] = self.too_large.into();
        }
        if !self.documents.is_empty() {
            let _ = writeln!(self.text, "[documents are not searched: {}]", named(&self.documents));
        }
        ToolOutput { text: self.text, value: Some(value), ..ToolOutput::default() }
    }
}

fn named(paths: &[String]) -> String {
    let named: Vec<String> = paths.iter().take(NAMED).map(|path| format!("`{path}`")).collect();
    let others = paths.len() - named.len();
    let others = if others > 0 { format!(" and {others} more") } else { String::new() };
    format!("{}{others}", named.join(", "))
}

/// Adds lines of context.
fn add_context(block: &mut String, lines: &[&[u8]], range: Range<usize>) {
    for index in range {
        let _ = writeln!(block, "{}- {}", index + 1, excerpt(lines[index], 0));
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
