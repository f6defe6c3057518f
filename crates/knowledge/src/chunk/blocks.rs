//! Chunks of documents made of headings, paragraphs, lists and tables.

use updraft_reader::{Block, BlockKind, Document, SourcePlace};

use super::split::split;
use super::{Chunk, ENOUGH, MOST, joined};

/// Collects blocks until a chunk is complete. A heading, another page, sheet or part always begins a new one.
pub(super) fn chunks(document: &Document) -> Vec<Chunk> {
    let mut builder = Builder::default();
    for block in &document.blocks {
        builder.add(block);
    }
    builder.finish();
    builder.chunks
}

#[derive(Default)]
struct Builder {
    chunks: Vec<Chunk>,
    /// Headings above, with their levels.
    headings: Vec<(u8, String)>,
    text: String,
    place: Option<SourcePlace>,
    last: Option<BlockKind>,
    /// The first row of the table at hand, and the line of dashes below it.
    header: Option<String>,
}

impl Builder {
    fn add(&mut self, block: &Block) {
        if block.text.trim().is_empty() {
            return;
        }
        if self.place.as_ref().is_some_and(|place| is_elsewhere(place, &block.place)) {
            self.finish();
        }
        if let BlockKind::Heading(level) = block.kind {
            self.finish();
            self.headings.retain(|(above, _)| *above < level);
            self.headings.push((level, block.text.trim_start_matches('#').trim().to_owned()));
        }
        match block.kind {
            BlockKind::Row if is_header(&block.text) => self.header = Some(block.text.clone()),
            BlockKind::Row => self.repeat_header(block),
            _ => self.header = None,
        }
        for piece in split(&block.text, &block.place) {
            if self.text.len() + piece.text.len() > MOST
                || (self.text.len() >= ENOUGH / 2 && self.text.len() + piece.text.len() > ENOUGH + ENOUGH / 4)
            {
                self.finish();
                self.repeat_header(block);
            }
            self.push(piece.text, &piece.place, block.kind);
            if self.text.len() >= ENOUGH {
                self.finish();
            }
        }
    }

    /// Begins a chunk of rows with the header of their table, so that a value is found by the name of its column.
    fn repeat_header(&mut self, block: &Block) {
        if self.text.is_empty()
            && block.kind == BlockKind::Row
            && let Some(header) = self.header.as_ref().filter(|header| header.len() < MOST / 2)
        {
            self.text = header.trim_end().to_owned();
            self.last = Some(BlockKind::Row);
        }
    }

    fn push(&mut self, text: &str, place: &SourcePlace, kind: BlockKind) {
        if !self.text.is_empty() {
            let is_same =
                self.last == Some(kind) && matches!(kind, BlockKind::Row | BlockKind::ListItem | BlockKind::Metadata);
            self.text.push_str(if is_same { "\n" } else { "\n\n" });
        }
        self.text.push_str(text);
        self.place = Some(self.place.as_ref().map_or_else(|| place.clone(), |first| joined(first, place)));
        self.last = Some(kind);
    }

    fn finish(&mut self) {
        let text = std::mem::take(&mut self.text);
        // Without a place there is only a repeated header.
        if let Some(place) = self.place.take() {
            let trail = self.headings.iter().map(|(_, heading)| heading.clone()).collect();
            self.chunks.push(Chunk { text, place, trail });
        }
        self.last = None;
    }
}

fn is_header(row: &str) -> bool {
    row.lines().nth(1).is_some_and(|line| line.starts_with('|') && line.contains("---"))
}

fn is_elsewhere(place: &SourcePlace, other: &SourcePlace) -> bool {
    place.page != other.page || place.sheet != other.sheet || place.part != other.part
}
