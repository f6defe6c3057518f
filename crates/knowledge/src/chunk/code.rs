//! Chunks of source code: one function, type or paragraph of declarations each.
//!
//! They are found by indentation, empty lines and closing brackets, which works for every language that people indent.

use std::ops::Range;

use updraft_reader::{Document, SourcePlace};

use super::split::split;
use super::{Chunk, MOST};

/// Neighbours below this size share a chunk: constants, imports, one-line functions.
const SMALL: usize = 500;

/// What is kept of a line that names a definition.
const LONGEST_NAME: usize = 200;

/// Cuts the code of a document. Its blocks are put together first: they were cut by the number of lines.
pub(super) fn chunks(document: &Document) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    let Some(first) = document.blocks.first() else { return chunks };
    let start = first.place.lines.map_or(1, |lines| lines.0);
    let mut lines: Vec<&str> = Vec::new();
    for block in &document.blocks {
        let at = block.place.lines.map_or(0, |lines| lines.0.saturating_sub(start) as usize);
        lines.resize(lines.len().max(at), "");
        lines.extend(block.text.lines());
    }
    let mut cutter = Cutter { lines: &lines, first: start, place: &first.place, chunks: &mut chunks };
    cutter.cut(0..lines.len(), &mut Vec::new());
    chunks
}

struct Cutter<'a> {
    lines: &'a [&'a str],
    /// The number of the first line in the file.
    first: u32,
    place: &'a SourcePlace,
    chunks: &'a mut Vec<Chunk>,
}

impl Cutter<'_> {
    /// Cuts a range of lines into items, joins small neighbours, and cuts long items again, inside.
    fn cut(&mut self, range: Range<usize>, trail: &mut Vec<String>) {
        let mut open: Option<Range<usize>> = None;
        for item in self.items(range) {
            let size = self.size(&item);
            match &mut open {
                Some(before) if self.size(before) + size <= SMALL => before.end = item.end,
                _ => {
                    if let Some(before) = open.replace(item.clone()) {
                        self.emit(before, trail);
                    }
                }
            }
        }
        if let Some(last) = open {
            self.emit(last, trail);
        }
    }

    fn emit(&mut self, item: Range<usize>, trail: &mut Vec<String>) {
        let header = self.header(item.clone());
        let depth = trail.len();
        trail.extend(header.map(|at| {
            let line = self.lines[at].trim().trim_end_matches(['{', ':', '(']).trim();
            line[..line.floor_char_boundary(LONGEST_NAME)].to_owned()
        }));
        match header.filter(|header| self.size(&item) > MOST && header + 1 < item.end && depth < 8) {
            // The lines before the body stay with the first part of it.
            Some(header) if self.items(header + 1..item.end).len() > 1 => {
                let inside = self.items(header + 1..item.end);
                let start = inside.first().map_or(item.end, |first| first.end);
                self.push(item.start..start, trail);
                self.cut(start..item.end, trail);
            }
            _ => self.push(item, trail),
        }
        trail.truncate(depth);
    }

    fn push(&mut self, range: Range<usize>, trail: &[String]) {
        let filled = |at: &usize| !self.lines[*at].trim().is_empty();
        let Some(last) = range.clone().rev().find(filled) else { return };
        let range = range.start..last + 1;
        let text = self.lines[range.clone()].join("\n");
        let start = self.first + range.start as u32;
        let place = SourcePlace { lines: Some((start, start + range.len().max(1) as u32 - 1)), ..self.place.clone() };
        for piece in split(&text, &place) {
            self.chunks.push(Chunk { text: piece.text.to_owned(), place: piece.place, trail: trail.to_vec() });
        }
    }

    /// Ranges of lines that each begin at the outermost indentation, after an empty line or after one that closes what began there.
    /// Lines that are indented further belong to the item before them.
    fn items(&self, range: Range<usize>) -> Vec<Range<usize>> {
        let filled = |at: &usize| !self.lines[*at].trim().is_empty() && !is_closing(self.lines[*at]);
        let outermost = range.clone().filter(filled).map(|at| indent(self.lines[at])).min().unwrap_or(0);
        let ends_item = |line: &str| line.trim().is_empty() || is_closing(line) && indent(line) <= outermost;
        let mut items: Vec<Range<usize>> = Vec::new();
        let mut start = range.start;
        for at in range.clone().skip(1) {
            if filled(&at) && indent(self.lines[at]) <= outermost && ends_item(self.lines[at - 1]) {
                items.push(start..at);
                start = at;
            }
        }
        items.push(start..range.end);
        items.retain(|item| item.clone().any(|at| !self.lines[at].trim().is_empty()));
        items
    }

    /// The line that names an item: the first that is no comment, attribute or decorator.
    fn header(&self, mut range: Range<usize>) -> Option<usize> {
        let is_name = |line: &str| {
            let line = line.trim_start();
            line.starts_with(|c: char| c.is_alphanumeric() || c == '_') && line.len() > 1
        };
        range.find(|at| is_name(self.lines[*at]))
    }

    fn size(&self, range: &Range<usize>) -> usize {
        self.lines[range.clone()].iter().map(|line| line.len() + 1).sum()
    }
}

fn indent(line: &str) -> usize {
    line.chars().take_while(|c| c.is_whitespace()).map(|c| if c == '\t' { 4 } else { 1 }).sum()
}

/// A line that only closes what began above.
fn is_closing(line: &str) -> bool {
    line.trim().chars().all(|c| "})];,".contains(c))
}

#[cfg(test)]
mod tests {
    use updraft_reader::{Block, BlockKind, DocumentKind};

    use super::*;

    fn document(text: &str) -> Document {
        let lines = text.lines().count() as u32;
        let block = Block { place: SourcePlace::lines(1, lines), kind: BlockKind::Code, text: text.to_owned() };
        Document { kind: DocumentKind::Code, title: None, blocks: vec![block], warnings: Vec::new() }
    }

    #[test]
    fn long_types_are_cut_into_their_functions() {
        let body = "        let x = compute(1, 2, 3);\n".repeat(22);
        let function = |name: &str| format!("    /// Does {name}.\n    fn {name}(&self) {{\n{body}    }}\n");
        let text = format!(
            "use std::io;\n\nimpl Store {{\n{}\n{}\n{}}}\n",
            function("read"),
            function("write"),
            function("close")
        );
        let found = chunks(&document(&text));
        let names: Vec<_> = found.iter().map(|chunk| chunk.trail.join(" > ")).collect();
        assert_eq!(
            names,
            ["use std::io;", "impl Store", "impl Store > fn write(&self)", "impl Store > fn close(&self)"]
        );
        let lines: Vec<_> = found.iter().filter_map(|chunk| chunk.place.lines).collect();
        assert!(lines.windows(2).all(|pair| pair[0].1 + 2 >= pair[1].0), "{lines:?}");
        assert_eq!(lines.last().map(|lines| lines.1), Some(text.lines().count() as u32));
    }

    #[test]
    fn python_functions_are_chunks_of_their_own() {
        let function =
            |name: &str| format!("def {name}(a):\n    \"\"\"{}\"\"\"\n    return a\n\n\n", "words ".repeat(90));
        let found = chunks(&document(&format!("{}{}", function("first"), function("second"))));
        assert_eq!(
            found.iter().map(|chunk| chunk.trail.join("/")).collect::<Vec<_>>(),
            ["def first(a)", "def second(a)"]
        );
        assert_eq!(found[1].place.lines, Some((6, 8)));
    }

    #[test]
    fn functions_without_empty_lines_between_them_are_cut_at_their_brackets() {
        let function = |name: &str| {
            format!("// About {name}.\nint {name}(int a) {{\n{}  return a;\n}}\n", "  a = a + 1;\n".repeat(60))
        };
        let text = format!("#include <stdio.h>\n\n{}{}", function("first"), function("second"));
        let found = chunks(&document(&text));
        let trails: Vec<_> = found.iter().map(|chunk| chunk.trail.join("/")).collect();
        assert_eq!(trails, ["", "int first(int a)", "int second(int a)"]);
        assert_eq!(found[2].place.lines, Some((67, 130)));
    }
}
