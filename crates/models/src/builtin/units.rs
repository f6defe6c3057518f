//! Splits a file into units that can be quoted: sentences, lines of code and table rows, each with the headings above
//! it.

use super::rank::{self, FileCategory};
use super::sentences;

/// A unit that can be quoted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct QuotableUnit {
    pub(super) line: u32,
    pub(super) end_line: u32,
    /// As in the file, but with line breaks replaced by one space.
    pub(super) text: String,
    pub(super) form: UnitKind,
    /// From the outermost to the nearest.
    pub(super) headings: Vec<Heading>,
    /// Whether it is one of the first sentences of the file.
    pub(super) opens_file: bool,
}

/// The kind of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnitKind {
    Prose,
    Heading,
    Code,
    Row,
}

/// What is above a unit: a heading, a section name or the head of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Heading {
    pub(super) line: u32,
    level: usize,
    pub(super) text: String,
}

/// Sentences at the beginning of a file that count as its introduction.
const OPENING_SENTENCES: usize = 4;

/// Splits a text whose first line has this number in its file.
pub(super) fn units(path: &str, text: &str, first_line: u32) -> Vec<QuotableUnit> {
    let mut cutter = UnitSplitter::default();
    let lines = text.lines().zip(first_line..);
    match rank::kind(path) {
        FileCategory::Prose => lines.for_each(|(line, number)| cutter.prose(line, number)),
        FileCategory::Data if is_table(path) => lines.for_each(|(line, number)| cutter.record(line, number)),
        FileCategory::Data | FileCategory::Generated | FileCategory::Binary => {
            lines.for_each(|(line, number)| cutter.setting(line, number));
        }
        FileCategory::Code => lines.for_each(|(line, number)| cutter.code(line, number)),
    }
    cutter.flush();
    if first_line == 1 {
        let is_sentence =
            |unit: &&mut QuotableUnit| unit.form == UnitKind::Prose && unit.text.split_whitespace().count() >= 5;
        cutter.units.iter_mut().filter(is_sentence).take(OPENING_SENTENCES).for_each(|unit| unit.opens_file = true);
    }
    cutter.units
}

fn is_table(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, extension)| ["csv", "tsv"].contains(&extension.to_lowercase().as_str()))
}

#[derive(Default)]
struct UnitSplitter {
    units: Vec<QuotableUnit>,
    headings: Vec<Heading>,
    /// Consecutive lines that may share sentences, with the number of the first line.
    block: Vec<String>,
    block_line: u32,
    in_fence: bool,
}

/// The level of a table's head, below every heading.
const TABLE_HEAD: usize = 1_000;

impl UnitSplitter {
    fn prose(&mut self, line: &str, number: u32) {
        let trimmed = line.trim();
        if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            self.flush();
            self.in_fence = !self.in_fence;
            return;
        }
        if self.in_fence {
            self.single(trimmed, number, UnitKind::Code);
            return;
        }
        if !trimmed.starts_with('|') {
            self.headings.retain(|heading| heading.level != TABLE_HEAD);
        }
        let level = trimmed.len() - trimmed.trim_start_matches('#').len();
        if trimmed.is_empty() {
            self.flush();
        } else if (1..=6).contains(&level) && trimmed[level..].starts_with(' ') {
            self.flush();
            self.heading(trimmed, number, level);
        } else if is_underline(trimmed) {
            self.underlined(trimmed);
        } else if trimmed.starts_with('|') {
            self.flush();
            self.row(trimmed, number);
        } else {
            if begins_item(trimmed) {
                self.flush();
            }
            self.extend(trimmed, number);
        }
    }

    /// `===` below a line makes it a heading; alone it is a horizontal rule.
    fn underlined(&mut self, trimmed: &str) {
        if let [title] = self.block.as_slice() {
            let (title, line) = (title.clone(), self.block_line);
            self.block.clear();
            self.heading(&title, line, if trimmed.starts_with('=') { 1 } else { 2 });
        } else {
            self.flush();
        }
    }

    fn row(&mut self, trimmed: &str, number: u32) {
        if trimmed.chars().all(|c| matches!(c, '|' | '-' | ':' | ' ')) {
            return;
        }
        if self.headings.last().is_some_and(|heading| heading.level == TABLE_HEAD) {
            self.single(trimmed, number, UnitKind::Row);
        } else {
            self.headings.push(Heading { line: number, level: TABLE_HEAD, text: trimmed.to_owned() });
        }
    }

    fn record(&mut self, line: &str, number: u32) {
        let trimmed = line.trim();
        if number == 1 && !trimmed.chars().any(|c| c.is_ascii_digit()) {
            self.heading(trimmed, number, TABLE_HEAD);
        } else {
            self.single(trimmed, number, UnitKind::Row);
        }
    }

    /// A line of TOML, YAML, JSON and similar formats; indentation and sections say what it belongs to.
    fn setting(&mut self, line: &str, number: u32) {
        let trimmed = line.trim();
        let indent = line.len() - line.trim_start().len();
        if trimmed.is_empty() {
            self.flush();
        } else if let Some(comment) = comment(trimmed) {
            if comment.is_empty() { self.flush() } else { self.extend(trimmed, number) }
        } else if trimmed.starts_with('[') && trimmed.ends_with(']') && !trimmed.contains([',', '"']) {
            self.flush();
            self.headings.clear();
            self.heading(trimmed, number, 0);
        } else {
            self.flush();
            self.headings.retain(|heading| heading.level <= indent);
            if trimmed.ends_with([':', '{', '[']) && trimmed.chars().any(char::is_alphanumeric) {
                self.heading(trimmed, number, indent + 1);
            } else {
                self.single(trimmed, number, UnitKind::Code);
            }
        }
    }

    fn code(&mut self, line: &str, number: u32) {
        let trimmed = line.trim();
        match comment(trimmed) {
            Some("") => self.flush(),
            Some(_) => self.extend(trimmed, number),
            None => {
                self.flush();
                self.single(trimmed, number, UnitKind::Code);
            }
        }
    }

    fn heading(&mut self, text: &str, line: u32, level: usize) {
        self.headings.retain(|heading| heading.level < level);
        self.single(text, line, UnitKind::Heading);
        self.headings.push(Heading { line, level, text: text.to_owned() });
    }

    fn single(&mut self, text: &str, line: u32, form: UnitKind) {
        if text.chars().any(char::is_alphanumeric) {
            self.push(text, line, line, form);
        }
    }

    fn extend(&mut self, trimmed: &str, number: u32) {
        if self.block.is_empty() {
            self.block_line = number;
        }
        self.block.push(trimmed.to_owned());
    }

    fn flush(&mut self) {
        let block = std::mem::take(&mut self.block);
        for piece in sentences::pieces(&block) {
            self.push(
                &piece.text,
                self.block_line + piece.first as u32,
                self.block_line + piece.last as u32,
                UnitKind::Prose,
            );
        }
    }

    fn push(&mut self, text: &str, line: u32, end_line: u32, form: UnitKind) {
        let headings = self.headings.clone();
        self.units.push(QuotableUnit { line, end_line, text: text.to_owned(), form, headings, opens_file: false });
    }
}

fn is_underline(trimmed: &str) -> bool {
    trimmed.len() >= 3 && (trimmed.chars().all(|c| c == '=') || trimmed.chars().all(|c| c == '-'))
}

fn begins_item(trimmed: &str) -> bool {
    let after_number = trimmed.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered =
        after_number.len() < trimmed.len() && (after_number.starts_with(". ") || after_number.starts_with(") "));
    is_numbered || ["- ", "* ", "+ ", "> ", "• "].iter().any(|mark| trimmed.starts_with(mark))
}

/// The text of a comment line, without the comment marker.
fn comment(trimmed: &str) -> Option<&str> {
    let marks = ["///", "//!", "//", "/**", "/*", "*/", "* ", "# ", "--", ";;", "; ", "<!--", "\"\"\""];
    if matches!(trimmed, "#" | "*" | ";") {
        return Some("");
    }
    marks.iter().find_map(|mark| trimmed.strip_prefix(mark)).map(str::trim)
}
