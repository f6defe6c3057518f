//! Plain text and source code: pieces of some lines, word for word.

use crate::blocks::Blocks;
use crate::document::{BlockKind, DocumentKind, SourcePlace};
use crate::options::ReadLimits;

/// A piece without an empty line in it is cut here, so that its place still says something.
const MOST_LINES: usize = 60;

/// Reads text paragraph by paragraph, and code in pieces that end before a line that is not indented.
pub(crate) fn read(text: &str, kind: DocumentKind, limits: &ReadLimits) -> Blocks {
    let mut blocks = Blocks::new(kind, limits);
    add(&mut blocks, text, kind);
    blocks
}

fn add(blocks: &mut Blocks, text: &str, kind: DocumentKind) {
    let block_kind = if kind == DocumentKind::Text { BlockKind::Paragraph } else { BlockKind::Code };
    let mut piece: Vec<&str> = Vec::new();
    let mut first = 1;
    for (line, number) in text.lines().zip(1u32..) {
        let is_blank = line.trim().is_empty();
        let after_gap = piece.last().is_some_and(|last| last.trim().is_empty());
        let begins_anew = after_gap && !is_blank && !line.starts_with([' ', '\t', '}', ')', ']']);
        let ends_piece = if block_kind == BlockKind::Code { begins_anew } else { is_blank };
        if ends_piece || piece.len() >= MOST_LINES {
            flush(blocks, &mut piece, first, block_kind);
        }
        if piece.is_empty() {
            if is_blank {
                continue;
            }
            first = number;
        }
        piece.push(line);
        if blocks.is_full() {
            return;
        }
    }
    flush(blocks, &mut piece, first, block_kind);
}

fn flush(blocks: &mut Blocks, piece: &mut Vec<&str>, first: u32, kind: BlockKind) {
    while piece.last().is_some_and(|line| line.trim().is_empty()) {
        piece.pop();
    }
    if !piece.is_empty() {
        let place = SourcePlace::lines(first, first + piece.len() as u32 - 1);
        blocks.push(place, kind, piece.join("\n"));
    }
    piece.clear();
}
