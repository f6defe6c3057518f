//! Collects the blocks of a document and stops where the limit of the output is reached.

use crate::document::{Block, BlockKind, Document, DocumentKind, SourcePlace};
use crate::options::ReadLimits;

/// More warnings than anybody reads.
const MOST_WARNINGS: usize = 50;

/// A block costs memory beyond its text. This many cost some 200 MB, and hold every row of the largest sheet.
const MOST_BLOCKS: usize = 1 << 20;

/// A document in the making.
#[derive(Debug)]
pub(crate) struct Blocks {
    document: Document,
    limit: usize,
    left: usize,
    is_full: bool,
}

impl Blocks {
    pub(crate) fn new(kind: DocumentKind, limits: &ReadLimits) -> Self {
        Self { document: Document::new(kind), limit: limits.output, left: limits.output, is_full: false }
    }

    /// Adds a block. An empty one is left out; one that does not fit is cut, and nothing is added after it.
    pub(crate) fn push(&mut self, place: SourcePlace, kind: BlockKind, text: impl Into<String>) {
        let mut text = text.into();
        text.truncate(text.trim_end().len());
        if text.is_empty() || self.is_full {
            return;
        }
        if self.document.blocks.len() == MOST_BLOCKS {
            self.is_full = true;
            self.warn(format!("cut off after {MOST_BLOCKS} pieces, at {place}"));
            return;
        }
        if text.len() > self.left {
            text.truncate(text.floor_char_boundary(self.left));
            self.is_full = true;
            let limit = self.limit;
            self.warn(format!("cut off after {limit} bytes of Markdown, at {place}"));
        }
        // An empty line between two blocks counts too.
        self.left = self.left.saturating_sub(text.len() + 2);
        self.document.blocks.push(Block { place, kind, text });
    }

    /// Whether nothing more can be added, so that reading can stop.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full
    }

    pub(crate) fn warn(&mut self, warning: impl Into<String>) {
        let warning = warning.into();
        let warnings = &mut self.document.warnings;
        if warnings.len() < MOST_WARNINGS && !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }

    /// Remembers the title; the first one counts.
    pub(crate) fn title(&mut self, title: &str) {
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        if self.document.title.is_none() && !title.is_empty() {
            self.document.title = Some(title);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.document.blocks.is_empty()
    }

    /// Adds what another reader found in a part of this file.
    pub(crate) fn extend(&mut self, inner: Document, part: &str) {
        for mut block in inner.blocks {
            block.place.part = Some(match block.place.part {
                Some(deeper) => format!("{part}/{deeper}"),
                None => part.to_owned(),
            });
            self.push(block.place, block.kind, block.text);
        }
        for warning in inner.warnings {
            self.warn(format!("{part}: {warning}"));
        }
    }

    pub(crate) fn finish(self) -> Document {
        self.document
    }
}
