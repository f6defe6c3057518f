//! A document as Markdown in which a line such as `[page 3]` or `[sheet Sales!A2:D9]` says where what follows stands.

use std::fmt::Write as _;

use crate::document::{Block, BlockKind, Document, DocumentKind, SourcePlace, separator};

/// Rows, or paragraphs of a document without pages, after which the place is said again.
const MOST_TOGETHER: usize = 50;

impl Document {
    /// The whole document as Markdown, with a line that says the place before each page, sheet, table or part.
    pub fn to_placed_markdown(&self) -> String {
        let mut markdown = String::new();
        let mut rest = self.blocks.as_slice();
        while !rest.is_empty() {
            let (group, later) = rest.split_at(self.group_length(rest));
            rest = later;
            if !markdown.is_empty() {
                markdown.push('\n');
            }
            if let Some(place) = place_of(group) {
                let _ = writeln!(markdown, "[{place}]");
            }
            for (index, block) in group.iter().enumerate() {
                if let Some(previous) = index.checked_sub(1).map(|previous| &group[previous]) {
                    markdown.push_str(separator(previous, block));
                }
                markdown.push_str(&block.text);
            }
            markdown.push('\n');
        }
        markdown
    }

    /// How many of the first blocks share one line about their place.
    fn group_length(&self, blocks: &[Block]) -> usize {
        let first = &blocks[0];
        // Every paragraph of a Word document is a part of its own.
        let is_counted = self.kind == DocumentKind::Docx;
        let belongs = |(index, block): &(usize, &Block)| {
            let place = (&block.place.page, &block.place.sheet, block.place.cells.is_some());
            let is_same = place == (&first.place.page, &first.place.sheet, first.place.cells.is_some())
                && (is_counted || block.place.part == first.place.part);
            let is_new_table = first.place.cells.is_some() && (block.kind != first.kind || block.text.contains("\n|"));
            let is_long =
                *index >= MOST_TOGETHER && (first.place.cells.is_some() || (is_counted && first.place.page.is_none()));
            *index == 0 || (is_same && !is_new_table && !is_long)
        };
        blocks.iter().enumerate().take_while(belongs).count()
    }
}

/// The place of all these blocks together; nothing if their text says it, or if it is the whole file.
fn place_of(group: &[Block]) -> Option<String> {
    let (first, last) = (group.first()?, group.last()?);
    if let (Some(from), Some(to)) = (&first.place.cells, &last.place.cells) {
        let (from, to) = (from.split(':').next()?, to.rsplit(':').next()?);
        let cells = if from == to { from.to_owned() } else { format!("{from}:{to}") };
        return Some(SourcePlace { cells: Some(cells), lines: None, ..first.place.clone() }.to_string());
    }
    if first.place.sheet.is_some() && matches!(first.kind, BlockKind::Heading(_)) {
        return None;
    }
    let part = match (&first.place.part, &last.place.part) {
        (Some(from), Some(to)) if from != to => match first.place.page {
            Some(_) => None,
            None => Some(format!("{from} to {to}")),
        },
        (part, _) => part.clone(),
    };
    let place = SourcePlace { part, lines: None, ..first.place.clone() }.to_string();
    (!place.is_empty()).then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(place: SourcePlace, kind: BlockKind, text: &str) -> Block {
        Block { place, kind, text: text.to_owned() }
    }

    fn placed(kind: DocumentKind, blocks: Vec<Block>) -> String {
        Document { kind, title: None, blocks, warnings: Vec::new() }.to_placed_markdown()
    }

    #[test]
    fn each_page_begins_with_its_number() {
        let paragraph = |page, text| block(SourcePlace::page(page), BlockKind::Paragraph, text);
        let text = placed(DocumentKind::Pdf, vec![paragraph(1, "a"), paragraph(1, "b"), paragraph(3, "c")]);
        assert_eq!(text, "[page 1]\na\n\nb\n\n[page 3]\nc\n");
    }

    #[test]
    fn a_table_of_a_sheet_is_named_by_its_cells() {
        let cells = |cells: Option<&str>| SourcePlace {
            sheet: Some("S".into()),
            cells: cells.map(str::to_owned),
            ..SourcePlace::default()
        };
        let row = |at: &str, text: &str| block(cells(Some(at)), BlockKind::Row, text);
        let mut blocks =
            vec![block(cells(None), BlockKind::Heading(2), "## S"), row("A1:B1", "| a | b |\n| --- | --- |")];
        blocks.extend((2..=60).map(|n| row(&format!("A{n}:B{n}"), "| 1 | 2 |")));
        blocks.push(row("D1", "| x |\n| --- |"));
        let text = placed(DocumentKind::Xlsx, blocks);
        assert!(text.starts_with("## S\n\n[sheet S!A1:B50]\n| a | b |\n| --- | --- |\n| 1 | 2 |\n"), "{text}");
        assert!(text.contains("| 1 | 2 |\n\n[sheet S!A51:B60]\n| 1 | 2 |\n"), "{text}");
        assert!(text.ends_with("\n\n[sheet S!D1]\n| x |\n| --- |\n"), "{text}");
    }

    #[test]
    fn paragraphs_are_counted_where_pages_are_not_known() {
        let paragraph = |n: u32| block(SourcePlace::part(format!("paragraph {n}")), BlockKind::Paragraph, "x");
        let text = placed(DocumentKind::Docx, (1..=51).map(paragraph).collect());
        assert!(text.starts_with("[paragraph 1 to paragraph 50]\nx\n\nx"), "{text}");
        assert!(text.ends_with("x\n\n[paragraph 51]\nx\n"), "{text}");
    }
}
