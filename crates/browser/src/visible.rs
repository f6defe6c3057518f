//! The visible text of a page, in the order of the document, with a line for each block.

use crate::cut::CutText;
use crate::error::Error;
use crate::snapshot::{DEEPEST, PageTree};
use crate::tab::Tab;

impl Tab {
    /// The visible text of all frames from a character on, cut at the limit.
    pub async fn text(&self, from: usize) -> Result<CutText, Error> {
        self.ready()?;
        let whole = self.visible_text().await?;
        Ok(CutText::of(&whole, from, self.limits().characters))
    }

    pub(crate) async fn visible_text(&self) -> Result<String, Error> {
        Ok(text_of(&self.page_tree(false).await?))
    }
}

fn text_of(tree: &PageTree) -> String {
    let mut text = FlowText::default();
    if !tree.nodes.is_empty() {
        text.add(tree, 0, 0);
    }
    text.out
}

/// Text as it flows: blanks folded, one line for a block, cells apart.
#[derive(Default)]
struct FlowText {
    out: String,
    /// Whether a blank or a line's end is due before the next word.
    blank: bool,
    line: bool,
    cell: bool,
}

impl FlowText {
    fn add(&mut self, tree: &PageTree, at: usize, depth: usize) {
        let node = &tree.nodes[at];
        if node.is_internal || depth > DEEPEST {
            return;
        }
        if node.tag == "#text" {
            if node.is_visible() {
                self.words(&node.text);
            }
            return;
        }
        let display = node.style("display");
        let is_cell = display == "table-cell";
        let is_block = node.tag == "br"
            || !(display.is_empty() || display.starts_with("inline") || display == "contents" || is_cell);
        // Buttons and the like stand apart from their neighbours.
        let is_apart = display.starts_with("inline-");
        self.line |= is_block;
        self.blank |= is_apart;
        self.cell |= is_cell;
        for &child in &node.children {
            self.add(tree, child, depth + 1);
        }
        self.line |= is_block;
        self.blank |= is_apart;
    }

    fn words(&mut self, text: &str) {
        self.blank |= text.starts_with(char::is_whitespace);
        for word in text.split_whitespace() {
            if !self.out.is_empty() {
                if self.line {
                    self.out.push('\n');
                } else if self.cell {
                    self.out.push_str(" | ");
                } else if self.blank {
                    self.out.push(' ');
                }
            }
            self.out.push_str(word);
            (self.blank, self.line, self.cell) = (true, false, false);
        }
        if !text.is_empty() {
            self.blank = text.ends_with(char::is_whitespace);
        }
    }
}
