//! Cuts a document into chunks along its structure: sections, functions, rows, paragraphs.

mod blocks;
mod code;
mod split;

use serde::{Deserialize, Serialize};
use updraft_reader::{Document, DocumentKind, SourcePlace};

/// A chunk that reaches this many bytes is complete. About 250 words: small enough to quote, large enough to be about
/// something, and what most models for vectors read at once.
const ENOUGH: usize = 1_200;

/// No chunk is longer, except for one line that has no place to cut.
const MOST: usize = 2_000;

/// A piece of a document that is found and quoted as one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    /// What it says. A chunk of rows repeats the header of its table.
    pub text: String,
    /// Where it is in the file.
    pub place: SourcePlace,
    /// The headings above it, or the definitions around it, outermost first.
    pub trail: Vec<String>,
}

/// Cuts a document. Every line is in exactly one chunk; headers of tables are in several.
pub fn chunks(document: &Document) -> Vec<Chunk> {
    if document.kind == DocumentKind::Code { code::chunks(document) } else { blocks::chunks(document) }
}

/// The place that begins with one place and ends with another of the same file.
fn joined(first: &SourcePlace, last: &SourcePlace) -> SourcePlace {
    let lines = match (first.lines, last.lines) {
        (Some((start, _)), Some((_, end))) => Some((start, end)),
        (lines, None) | (None, lines) => lines,
    };
    let cells = match (&first.cells, &last.cells) {
        (Some(first), Some(last)) => {
            let start = first.split(':').next().unwrap_or(first);
            let end = last.rsplit(':').next().unwrap_or(last);
            Some(format!("{start}:{end}"))
        }
        (cells, None) | (None, cells) => cells.clone(),
    };
    SourcePlace { lines, cells, ..first.clone() }
}
