//! Markdown: headings, paragraphs, list items, tables and fences as they stand, with their lines.

use crate::blocks::Blocks;
use crate::document::{BlockKind, DocumentKind, SourcePlace};
use crate::options::ReadLimits;

/// Reads a Markdown file.
pub(crate) fn read(text: &str, limits: &ReadLimits) -> Blocks {
    let mut blocks = Blocks::new(DocumentKind::Markdown, limits);
    let scan = Scan { blocks: &mut blocks, place: SourcePlace::default(), piece: Vec::new(), first: 1 };
    scan.run(text);
    blocks
}

/// Adds Markdown from a part of another file, such as a cell of a notebook.
pub(crate) fn add_part(blocks: &mut Blocks, text: &str, part: &str) {
    let scan = Scan { blocks, place: SourcePlace::part(part), piece: Vec::new(), first: 1 };
    scan.run(text);
}

struct Scan<'b, 't> {
    blocks: &'b mut Blocks,
    place: SourcePlace,
    piece: Vec<&'t str>,
    first: u32,
}

impl<'t> Scan<'_, 't> {
    fn run(mut self, text: &'t str) {
        let mut kind = BlockKind::Paragraph;
        let mut fence: Option<&str> = None;
        for (line, number) in text.lines().zip(1u32..) {
            if self.blocks.is_full() {
                return;
            }
            let trimmed = line.trim();
            if let Some(open) = fence {
                self.piece.push(line);
                if trimmed.starts_with(open) && trimmed.trim_matches(['`', '~', '-', '+']).is_empty() {
                    self.flush(kind);
                    fence = None;
                }
                continue;
            }
            let opening = fence_of(trimmed).or_else(|| front_matter(trimmed, number));
            let next = opening.map_or_else(|| kind_of(line), |(_, kind)| Some(kind));
            let Some(next) = next else {
                self.flush(kind);
                continue;
            };
            // A paragraph under an item goes on with the item; an underline makes the paragraph a heading.
            if let Some(level) = underline(trimmed, &self.piece, kind) {
                self.piece.push(line);
                self.flush(BlockKind::Heading(level));
                continue;
            }
            let goes_on = match (kind, next) {
                (BlockKind::ListItem | BlockKind::Paragraph, BlockKind::Paragraph)
                | (BlockKind::Table, BlockKind::Table) => !self.piece.is_empty(),
                _ => false,
            };
            if !goes_on {
                self.flush(kind);
                (kind, self.first) = (next, number);
            }
            self.piece.push(line);
            fence = opening.map(|(mark, _)| mark);
            if matches!(next, BlockKind::Heading(_)) {
                self.flush(next);
            }
        }
        self.flush(kind);
    }

    fn flush(&mut self, kind: BlockKind) {
        if self.piece.is_empty() {
            return;
        }
        let last = self.first + self.piece.len() as u32 - 1;
        if kind == BlockKind::Heading(1) {
            self.blocks.title(self.piece[0].trim_start_matches('#'));
        }
        let place = SourcePlace { lines: Some((self.first, last)), ..self.place.clone() };
        self.blocks.push(place, kind, self.piece.join("\n"));
        self.piece.clear();
    }
}

/// The mark that a fence opened by this line is closed by.
fn fence_of(line: &str) -> Option<(&str, BlockKind)> {
    ["```", "~~~"].into_iter().find(|mark| line.starts_with(mark)).map(|mark| (mark, BlockKind::Code))
}

fn front_matter(line: &str, number: u32) -> Option<(&'static str, BlockKind)> {
    (number == 1)
        .then(|| ["---", "+++"].into_iter().find(|mark| line == *mark))
        .flatten()
        .map(|mark| (mark, BlockKind::Metadata))
}

/// What a line begins or continues; nothing for an empty line.
fn kind_of(line: &str) -> Option<BlockKind> {
    let trimmed = line.trim_start();
    if trimmed.is_empty() {
        return None;
    }
    let hashes = trimmed.bytes().take_while(|byte| *byte == b'#').count();
    if (1..=6).contains(&hashes) && trimmed[hashes..].starts_with([' ', '\t']) {
        return Some(BlockKind::Heading(hashes as u8));
    }
    let after_digits = trimmed.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = after_digits.len() < trimmed.len() && after_digits.starts_with([')', '.']);
    let marker = if is_numbered { &after_digits[1..] } else { trimmed.strip_prefix(['-', '*', '+']).unwrap_or("") };
    if marker.starts_with([' ', '\t']) {
        return Some(BlockKind::ListItem);
    }
    Some(if trimmed.starts_with('|') { BlockKind::Table } else { BlockKind::Paragraph })
}

/// The level of a heading that is underlined by this line.
fn underline(line: &str, above: &[&str], kind: BlockKind) -> Option<u8> {
    if kind != BlockKind::Paragraph || above.is_empty() || line.len() < 2 {
        return None;
    }
    match line.as_bytes()[0] {
        b'=' if line.bytes().all(|byte| byte == b'=') => Some(1),
        b'-' if line.bytes().all(|byte| byte == b'-') => Some(2),
        _ => None,
    }
}
