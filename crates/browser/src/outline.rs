//! The page as compact lines for a model: roles, names and states, each element with its reference.
//!
//! A line begins with a word of ours and has the page's words in quotes, so that a page cannot forge a line.
//!
//! ```text
//! heading "Sign in" [e1] level=2
//! textbox "Name" [e2] ="Ada" focused
//! clickable "Forgot?" [e3]
//! text "or"
//! svg [e4] @20,300,160,160
//!   circle [e5] @40,320,20,20 fill=red
//! ```

mod line;
mod names;

use crate::cut::CutText;
use crate::error::Error;
use crate::reference::References;
use crate::snapshot::{DEEPEST, PageNode, PageTree};
use crate::tab::Tab;

/// How a page is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutlineOptions {
    /// Only what is below this element.
    pub under: Option<String>,
    /// Where each element is: `@left,top,width,height` in the window.
    pub with_boxes: bool,
    /// Plain boxes too: elements without role, text or listener, such as tiles drawn by colour alone.
    pub with_everything: bool,
    /// The character to begin with, from the note of a reading that was cut.
    pub from: usize,
}

impl Tab {
    /// Reads the page: what is on it, and by which reference it can be used. Cut at the limit for characters.
    pub async fn read(&self, options: &OutlineOptions) -> Result<CutText, Error> {
        self.ready()?;
        let root = match &options.under {
            Some(reference) => Some(self.node(reference)?),
            None => None,
        };
        let tree = self.page_tree(true).await?;
        let start = match root {
            None => 0,
            Some(number) => {
                let reference = options.under.clone().unwrap_or_default();
                let found = tree.nodes.iter().position(|node| node.number == number);
                found.ok_or(Error::StaleReference { reference })?
            }
        };
        let mut inner = self.state.inner();
        let mut outline = Outline::new(&tree, options, &mut inner.references);
        if root.is_none() {
            outline.heading();
        }
        if !tree.nodes.is_empty() {
            outline.add(start, 0, 0);
            outline.flush();
        }
        Ok(CutText::of(&outline.out, options.from, self.limits().characters))
    }
}

/// Lines under construction.
pub(super) struct Outline<'a> {
    tree: &'a PageTree,
    options: &'a OutlineOptions,
    references: &'a mut References,
    out: String,
    /// Text that has no line yet, its box, and how far its line is indented.
    pending: String,
    pending_box: Option<[f64; 4]>,
    pending_indent: usize,
    /// Names of the lines around: text that is part of one is not repeated.
    around: Vec<String>,
    /// The name of the last line.
    last_name: String,
}

impl<'a> Outline<'a> {
    fn new(tree: &'a PageTree, options: &'a OutlineOptions, references: &'a mut References) -> Self {
        Self {
            tree,
            options,
            references,
            out: String::new(),
            pending: String::new(),
            pending_box: None,
            pending_indent: 0,
            around: Vec::new(),
            last_name: String::new(),
        }
    }

    fn heading(&mut self) {
        let PageTree { title, url, scrolled, height, .. } = self.tree;
        let url: String = url.chars().take(300).collect();
        line::add(&mut self.out, format_args!("page {} {url}", line::quoted(title)));
        if *height > 0.0 {
            line::add(&mut self.out, format_args!(" height={height:.0} scrolled={scrolled:.0}"));
        }
        self.out.push('\n');
    }

    fn add(&mut self, at: usize, indent: usize, depth: usize) {
        let tree = self.tree;
        let node = &tree.nodes[at];
        if node.is_internal || depth > DEEPEST || matches!(node.tag.as_str(), "script" | "style" | "head" | "#comment")
        {
            return;
        }
        if node.tag == "#text" {
            self.add_text(node, indent);
            return;
        }
        let is_block = !matches!(node.style("display"), "" | "inline" | "contents") || node.tag == "br";
        if is_block {
            self.flush();
        }
        let Some(kind) = names::kind(tree, at, self.options) else {
            self.children(node, indent, depth);
            if is_block {
                self.flush();
            }
            return;
        };
        self.flush();
        if let Some(row) = names::plain_row(tree, at, self.options) {
            let reference = self.references.name(node.number);
            let boxes = self.box_of(node, false);
            self.line(indent, &format!("row [{reference}]{boxes} {row}"));
            return;
        }
        let name = names::name(tree, at, &kind);
        let text = line::describe(tree, at, &kind, &name);
        let reference = self.references.name(node.number);
        let boxes = self.box_of(node, names::needs_box(node));
        self.line(indent, &text.replacen("[]", &format!("[{reference}]{boxes}"), 1));
        self.last_name.clone_from(&name);
        if names::is_closed(node) {
            return;
        }
        self.around.push(name);
        self.children(node, indent + 1, depth);
        self.flush();
        self.around.pop();
    }

    fn children(&mut self, node: &PageNode, indent: usize, depth: usize) {
        for &child in &node.children {
            self.add(child, indent, depth + 1);
        }
    }

    fn add_text(&mut self, node: &PageNode, indent: usize) {
        if !node.is_visible() {
            return;
        }
        let text = names::squeezed(&node.text);
        if text.is_empty() || self.around.last().is_some_and(|name| name.contains(&text)) {
            // Blanks between words of two elements count.
            if !self.pending.is_empty() && !node.text.is_empty() && text.is_empty() {
                self.pending.push(' ');
            }
            return;
        }
        if self.pending.is_empty() {
            self.pending_indent = indent;
        } else if node.text.starts_with(char::is_whitespace) {
            self.pending.push(' ');
        }
        self.pending.push_str(&text);
        if node.text.ends_with(char::is_whitespace) {
            self.pending.push(' ');
        }
        self.pending_box = match (self.pending_box, node.bounds) {
            (Some(one), Some(other)) => Some(joined(one, other)),
            (one, other) => one.or(other),
        };
    }

    /// Ends the line of text.
    fn flush(&mut self) {
        let text = names::squeezed(&std::mem::take(&mut self.pending));
        let bounds = self.pending_box.take();
        // The text of a label often follows the field that it names.
        if text.is_empty() || text == self.last_name {
            return;
        }
        let boxes = bounds.filter(|_| self.options.with_boxes).map(line::box_text).unwrap_or_default();
        self.line(self.pending_indent, &format!("text {}{boxes}", line::quoted_long(&text)));
    }

    fn line(&mut self, indent: usize, text: &str) {
        // Deep nesting says nothing, and costs as much as the words.
        for _ in 0..indent.min(12) {
            self.out.push_str("  ");
        }
        self.out.push_str(text);
        self.out.push('\n');
        self.last_name.clear();
    }

    fn box_of(&self, node: &PageNode, is_needed: bool) -> String {
        let wanted = node.bounds.filter(|_| self.options.with_boxes || is_needed);
        wanted.map(line::box_text).unwrap_or_default()
    }
}

fn joined(one: [f64; 4], other: [f64; 4]) -> [f64; 4] {
    let (left, top) = (one[0].min(other[0]), one[1].min(other[1]));
    let right = (one[0] + one[2]).max(other[0] + other[2]);
    let bottom = (one[1] + one[3]).max(other[1] + other[3]);
    [left, top, right - left, bottom - top]
}
