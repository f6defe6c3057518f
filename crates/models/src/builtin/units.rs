//! Splits a passage into what can be quoted: sentences, rows of tables and lines of code, each with what stands around it.

use super::passages::Passage;
use super::sentences;

/// Something that can be quoted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct QuotableUnit {
    /// As in the passage, but lines are joined by one space.
    pub(super) text: String,
    /// What is quoted: the text, and the sentence after it or the header of its table.
    pub(super) quoted: String,
    pub(super) form: UnitForm,
    /// The lines in the file, if known.
    pub(super) lines: Option<(u32, u32)>,
    /// What stands around it and may name what it is about: the header of its table, the lines of its block.
    pub(super) around: String,
    /// Whether it is among the first sentences of a file.
    pub(super) opens_file: bool,
}

/// The form of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnitForm {
    Prose,
    Code,
    Row,
}

/// Sentences at the beginning of a file that introduce it.
const OPENING_SENTENCES: usize = 4;

/// Two sentences are quoted together up to this length.
const LONGEST_PAIR: usize = 260;

/// Files whose lines are settings or code, unless they are comments.
const CODE: &str = "rs py js ts jsx tsx c h cc cpp hpp go java kt rb php sh bash zsh sql swift scala cs lua r toml yaml yml json jsonl ini cfg conf \
                    css xml proto gradle cmake mk lock orig";

/// Other files that can be read.
const DOCUMENTS: &str = "md markdown txt rst adoc org tex csv tsv html htm log pdf docx xlsx pptx epub ipynb eml";

/// Whether a word is the name of a file, as far as its ending tells.
pub(super) fn is_file_name(word: &str) -> bool {
    let ending = word.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, ending)| ending.to_lowercase());
    let mut known = CODE.split_whitespace().chain(DOCUMENTS.split_whitespace());
    !word.contains("://") && ending.is_some_and(|ending| known.any(|one| one == ending))
}

/// Whether a file's lines are code or settings.
pub(super) fn is_code(path: &str) -> bool {
    let extension = path.rsplit_once('.').map(|(_, extension)| extension.to_lowercase());
    extension.is_some_and(|extension| CODE.split_whitespace().any(|known| known == extension))
}

/// The units of a passage.
pub(super) fn units(passage: &Passage) -> Vec<QuotableUnit> {
    let is_code = is_code(&passage.path);
    let mut splitter = UnitSplitter { units: Vec::new(), block: Vec::new(), header: None, in_fence: false };
    let lines: Vec<&str> = passage.text.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        splitter.line(line.trim(), at, is_code);
    }
    splitter.flush(is_code);
    let mut units = splitter.units;
    for unit in &mut units {
        unit.lines = place_of(passage, unit, &lines);
    }
    if passage.lines.is_some_and(|(first, _)| first == 1) {
        let is_sentence =
            |unit: &&mut QuotableUnit| unit.form == UnitForm::Prose && unit.text.split_whitespace().count() >= 5;
        units.iter_mut().filter(is_sentence).take(OPENING_SENTENCES).for_each(|unit| unit.opens_file = true);
    }
    units
}

/// The lines of a unit in its file. A passage may lack blank lines, and repeats the header of its table: rows are
/// counted from its end, and other units get the lines of the whole passage.
fn place_of(passage: &Passage, unit: &QuotableUnit, lines: &[&str]) -> Option<(u32, u32)> {
    let ((first, last), (from, to)) = (passage.lines?, unit.lines?);
    let is_row = |line: &&&str| line.trim_start().starts_with('|');
    if lines.len() as u32 == last.saturating_sub(first).saturating_add(1) {
        return Some((first.saturating_add(from), first.saturating_add(to)));
    }
    let below = lines.len() as u32 - 1 - to;
    if unit.form == UnitForm::Row
        && lines.iter().filter(is_row).count() == lines.len()
        && last >= first.saturating_add(below)
    {
        return Some((last - below, last - below));
    }
    Some((first, last))
}

struct UnitSplitter {
    /// Their lines are those of the passage, from 0.
    units: Vec<QuotableUnit>,
    /// Lines without a blank one between them, with their numbers.
    block: Vec<(usize, String)>,
    /// The header of the table at hand.
    header: Option<String>,
    in_fence: bool,
}

impl UnitSplitter {
    fn line(&mut self, line: &str, at: usize, is_code: bool) {
        if line.starts_with("```") || line.starts_with("~~~") {
            self.flush(is_code || self.in_fence);
            self.in_fence = !self.in_fence;
            return;
        }
        let is_code = is_code || self.in_fence;
        if !is_code && line.starts_with('|') {
            self.flush(is_code);
            self.row(line, at);
            return;
        }
        self.header = None;
        let is_heading = !is_code && line.starts_with('#');
        if line.is_empty() || is_heading || (!is_code && begins_item(line)) {
            self.flush(is_code);
        }
        if !line.is_empty() && !is_heading {
            self.block.push((at, line.to_owned()));
        }
    }

    fn row(&mut self, line: &str, at: usize) {
        let is_rule = line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '));
        let cells = line.trim_matches(['|', ' ']).to_owned();
        match &self.header {
            _ if is_rule => {}
            None => self.header = Some(cells),
            Some(header) => {
                let (around, quoted) = (header.clone(), format!("{header} … {cells}"));
                self.push((cells, quoted), UnitForm::Row, (at, at), around);
            }
        }
    }

    /// Ends a block: its comments and prose become sentences, its other lines stand alone.
    fn flush(&mut self, is_code: bool) {
        let block = std::mem::take(&mut self.block);
        let around = block.iter().map(|(_, line)| line.as_str()).collect::<Vec<_>>().join("\n");
        let mut prose: Vec<(usize, String)> = Vec::new();
        let mut in_example = false;
        for (at, line) in block {
            let text = if is_code { comment(&line) } else { Some(line.as_str()) };
            let is_fence = text.is_some_and(|text| text.starts_with("```"));
            in_example ^= is_fence;
            match text {
                Some(text) if text.is_empty() || is_fence || in_example || is_link_definition(text) => {
                    self.sentences(&mut prose, &around);
                }
                Some(text) => prose.push((at, text.to_owned())),
                None => {
                    self.sentences(&mut prose, &around);
                    self.push((line.clone(), line), UnitForm::Code, (at, at), around.clone());
                }
            }
        }
        self.sentences(&mut prose, &around);
    }

    fn sentences(&mut self, prose: &mut Vec<(usize, String)>, around: &str) {
        let Some((start, _)) = prose.first().cloned() else { return };
        let lines: Vec<String> = prose.drain(..).map(|(_, line)| line).collect();
        let pieces = sentences::pieces(&lines);
        for (at, piece) in pieces.iter().enumerate() {
            // A short sentence is quoted with the next one, which often says the rest, unless it begins with what this one ends with.
            let shares_line = |next: &sentences::Piece| {
                let line = &lines[piece.last];
                piece.last == next.first && piece.text.ends_with(line) && next.text.starts_with(line)
            };
            let is_short = |next: &&sentences::Piece| {
                piece.text.len() + next.text.len() < LONGEST_PAIR
                    && !next.text.starts_with(&piece.text)
                    && !shares_line(next)
            };
            let next = pieces.get(at + 1).filter(is_short);
            let quoted = next.map_or_else(|| piece.text.clone(), |next| format!("{} {}", piece.text, next.text));
            let lines = (start + piece.first, start + next.map_or(piece.last, |next| next.last));
            self.push((piece.text.clone(), quoted), UnitForm::Prose, lines, around.to_owned());
        }
    }

    fn push(&mut self, (text, quoted): (String, String), form: UnitForm, lines: (usize, usize), around: String) {
        if text.chars().any(char::is_alphanumeric) {
            let lines = Some((lines.0 as u32, lines.1 as u32));
            self.units.push(QuotableUnit { text, quoted, form, lines, around, opens_file: false });
        }
    }
}

fn begins_item(line: &str) -> bool {
    let after_number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered =
        after_number.len() < line.len() && (after_number.starts_with(". ") || after_number.starts_with(") "));
    is_numbered || ["- ", "* ", "+ ", "> ", "• "].iter().any(|mark| line.starts_with(mark))
}

/// Whether a line only says where a link leads.
fn is_link_definition(line: &str) -> bool {
    line.starts_with('[') && line.split_once("]: ").is_some_and(|(_, target)| !target.contains(' '))
}

/// The text of a comment line.
fn comment(line: &str) -> Option<&str> {
    if matches!(line, "#" | "*" | ";" | "//" | "///" | "//!") {
        return Some("");
    }
    let marks = ["///", "//!", "//", "/**", "/*", "*/", "* ", "# ", "-- ", ";; ", "; ", "<!--", "\"\"\""];
    marks.iter().find_map(|mark| line.strip_prefix(mark)).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_list_are_not_quoted_twice() {
        let row = |n: u32| format!("2025-03-{n},North,Cog,8,3.25");
        let text = (10..40).map(row).collect::<Vec<_>>().join("\n");
        let passage = Passage { path: "sales.csv".into(), lines: Some((1, 30)), text, ..Passage::default() };
        let quoted: Vec<String> = units(&passage).into_iter().map(|unit| unit.quoted).collect();
        assert_eq!(quoted[0], format!("{} {}", row(10), row(11)));
    }
}
