//! Extracts the whole text of a document from top to bottom: for pages without a recognizable main text, and for
//! pages built so that finding it would take forever. Never recurses, and visits each node once.

use dom_query::{Document, NodeRef};

/// Elements that hold no text of the page.
const SKIPPED: [&str; 9] = ["head", "script", "style", "noscript", "template", "svg", "iframe", "object", "select"];
/// Elements that start a new line.
const BLOCKS: [&str; 31] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "br",
    "dd",
    "div",
    "dl",
    "dt",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "li",
    "main",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "table",
    "tr",
    "ul",
    "caption",
];

/// The size of a document.
pub(super) struct DocumentSize {
    pub(super) nodes: usize,
    pub(super) depth: usize,
}

/// Measures a document.
pub(super) fn size(document: &Document) -> DocumentSize {
    let mut size = DocumentSize { nodes: 0, depth: 0 };
    walk(document, |_, step| {
        if let NodeStep::Into(depth) = step {
            size.nodes += 1;
            size.depth = size.depth.max(depth);
        }
        true
    });
    size
}

/// Its text, up to about `most` bytes.
pub(super) fn text(document: &Document, most: usize) -> String {
    let mut text = String::new();
    walk(document, |node, step| {
        if text.len() > most {
            return false;
        }
        if node.is_text() {
            if matches!(step, NodeStep::Into(_)) {
                add_words(&mut text, &node.text());
            }
            return true;
        }
        let name = node.node_name().unwrap_or_default();
        if SKIPPED.contains(&&*name) {
            return false;
        }
        if BLOCKS.contains(&&*name) && !text.is_empty() && !text.ends_with('\n') {
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
        if matches!(step, NodeStep::Into(_)) {
            match &*name {
                "li" => text.push_str("- "),
                "td" | "th" if !text.ends_with(['\n', ' ']) => text.push_str(" | "),
                "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => text.push_str("\n## "),
                _ => {}
            }
        }
        true
    });
    text.trim().to_owned()
}

fn add_words(text: &mut String, more: &str) {
    if more.starts_with(char::is_whitespace) && !text.ends_with(char::is_whitespace) && !text.is_empty() {
        text.push(' ');
    }
    let mut words = more.split_whitespace();
    text.extend(words.next());
    for word in words {
        text.push(' ');
        text.push_str(word);
    }
    if more.ends_with(char::is_whitespace) && !text.ends_with(char::is_whitespace) && !text.is_empty() {
        text.push(' ');
    }
}

/// A step of the walk.
#[derive(Clone, Copy)]
enum NodeStep {
    /// Enters a node at this depth.
    Into(usize),
    /// Leaves a node whose children have been visited.
    OutOf,
}

/// Visits every node below the root, before and after its children; `visit` returns whether to visit the children.
fn walk(document: &Document, mut visit: impl FnMut(&NodeRef<'_>, NodeStep) -> bool) {
    let mut depth = 0;
    let mut next = document.root().first_child();
    while let Some(node) = next.take() {
        let looks_inside = visit(&node, NodeStep::Into(depth + 1));
        if looks_inside && let Some(child) = node.first_child() {
            depth += 1;
            next = Some(child);
            continue;
        }
        if looks_inside {
            visit(&node, NodeStep::OutOf);
        }
        let mut from = node;
        loop {
            if let Some(beside) = from.next_sibling() {
                next = Some(beside);
                break;
            }
            let Some(above) = from.parent().filter(|_| depth > 0) else { return };
            depth -= 1;
            visit(&above, NodeStep::OutOf);
            from = above;
        }
    }
}
