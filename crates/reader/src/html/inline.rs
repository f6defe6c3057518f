//! Text within a paragraph: emphasis, links, code and pictures, with white space as a browser shows it.

use crate::tree::TreeNode;

/// What stands within a line. Everything else begins a new block.
const PHRASES: [&str; 46] = [
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "button", "cite", "code", "data", "del", "dfn", "em", "font",
    "i", "img", "input", "ins", "kbd", "label", "mark", "meter", "nobr", "output", "picture", "progress", "q", "ruby",
    "rb", "rp", "rt", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr",
    "math",
];

/// What a browser does not show, or what is no text.
const HIDDEN: [&str; 20] = [
    "script", "style", "head", "template", "noscript", "svg", "iframe", "object", "embed", "canvas", "audio", "video",
    "map", "select", "textarea", "datalist", "#comment", "link", "meta", "param",
];

/// A paragraph that is being put together.
#[derive(Debug)]
pub(super) struct Inline {
    text: String,
    lines: Option<(u32, u32)>,
    nesting: u32,
}

impl Inline {
    pub(super) fn new(nesting: u32) -> Self {
        Self { text: String::new(), lines: None, nesting }
    }

    /// What was put together, and where it stands; empties it.
    pub(super) fn take(&mut self) -> (String, Option<(u32, u32)>) {
        let text = std::mem::take(&mut self.text);
        (text.trim().to_owned(), self.lines.take())
    }

    pub(super) fn children(&mut self, node: TreeNode<'_>, depth: u32) {
        for child in node.children() {
            self.add(child, depth + 1);
        }
    }

    /// Adds text with its white space made one space each.
    pub(super) fn text(&mut self, text: &str, line: u32) {
        let before = text.len() - text.trim_start().len();
        let first = line + text[..before].matches('\n').count() as u32;
        let last = line + text.trim_end().matches('\n').count() as u32;
        if !text.trim().is_empty() {
            let known = self.lines.unwrap_or((first, last));
            self.lines = Some((known.0.min(first), known.1.max(last)));
        }
        for character in text.chars() {
            if !character.is_whitespace() || character == '\u{a0}' {
                self.text.push(if character == '\u{a0}' { ' ' } else { character });
            } else if !self.text.ends_with([' ', '\n']) {
                self.text.push(' ');
            }
        }
    }

    pub(super) fn line_break(&mut self) {
        self.text.truncate(self.text.trim_end_matches(' ').len());
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    pub(super) fn add(&mut self, node: TreeNode<'_>, depth: u32) {
        if node.is_text() {
            self.text(node.own_text(), node.line());
            return;
        }
        if is_hidden(node) {
            return;
        }
        if depth > self.nesting {
            self.text(&node.all_text(), node.line());
            return;
        }
        match node.name() {
            "br" => self.line_break(),
            "b" | "strong" => self.wrapped(node, "**", depth),
            "i" | "em" | "var" | "cite" | "dfn" => self.wrapped(node, "*", depth),
            "s" | "del" | "strike" => self.wrapped(node, "~~", depth),
            "code" | "kbd" | "samp" | "tt" => self.wrapped(node, "`", depth),
            // As Pandoc writes them.
            "sub" => self.wrapped(node, "~", depth),
            "sup" => self.wrapped(node, "^", depth),
            "a" => self.link(node, depth),
            "img" => self.image(node),
            "input" => self.field(node),
            "q" => {
                self.text.push('“');
                self.children(node, depth);
                self.text.push('”');
            }
            name => {
                let is_block = !PHRASES.contains(&name);
                if is_block {
                    self.space();
                }
                if name == "li" {
                    self.text.push_str("- ");
                }
                self.children(node, depth);
                if is_block {
                    self.space();
                }
            }
        }
    }

    fn space(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with([' ', '\n']) {
            self.text.push(' ');
        }
    }

    /// What the children of a node say, on its own.
    fn inner(&mut self, node: TreeNode<'_>, depth: u32) -> String {
        let mut inner = Self { text: String::new(), lines: self.lines, nesting: self.nesting };
        inner.children(node, depth);
        self.lines = inner.lines;
        inner.text
    }

    /// Puts marks around what a node says; white space at its ends stays outside. Marks within the same marks are left out.
    fn wrapped(&mut self, node: TreeNode<'_>, mark: &str, depth: u32) {
        let inner = self.inner(node, depth);
        let core = inner.trim();
        if core.is_empty() || core.contains('\n') || core.contains(mark) {
            self.append(&inner);
            return;
        }
        self.framed(&inner, &format!("{mark}{core}{mark}"));
    }

    fn link(&mut self, node: TreeNode<'_>, depth: u32) {
        let inner = self.inner(node, depth);
        let core = inner.trim();
        let target = node.attribute("href").unwrap_or_default().trim();
        let is_elsewhere =
            !target.is_empty() && !target.starts_with('#') && !target.to_ascii_lowercase().starts_with("javascript:");
        if core.is_empty() || !is_elsewhere || core.contains("](") {
            self.append(&inner);
            return;
        }
        let target = target.replace(' ', "%20");
        self.framed(&inner, &format!("[{}]({target})", core.replace('\n', " ")));
    }

    fn image(&mut self, node: TreeNode<'_>) {
        let description = node.attribute("alt").unwrap_or_default().trim();
        if description.is_empty() {
            return;
        }
        let source = node.attribute("src").unwrap_or_default();
        let source = if source.starts_with("data:") { "" } else { source };
        self.text(&format!("![{description}]({source})"), node.line());
    }

    /// The value that a form shows.
    fn field(&mut self, node: TreeNode<'_>) {
        let kind = node.attribute("type").unwrap_or("text").to_ascii_lowercase();
        let value = node.attribute("value").unwrap_or_default();
        match kind.as_str() {
            "checkbox" | "radio" => {
                self.text(if node.attribute("checked").is_some() { "[x] " } else { "[ ] " }, node.line());
            }
            "hidden" | "password" | "image" | "file" | "color" | "range" => {}
            _ => self.text(value, node.line()),
        }
    }

    /// Appends `text` with the white space that `inner` has around it.
    fn framed(&mut self, inner: &str, text: &str) {
        if inner.starts_with(char::is_whitespace) {
            self.space();
        }
        self.text.push_str(text);
        if inner.ends_with(char::is_whitespace) {
            self.text.push(' ');
        }
    }

    fn append(&mut self, inner: &str) {
        let inner = if self.text.is_empty() || self.text.ends_with([' ', '\n']) { inner.trim_start() } else { inner };
        self.text.push_str(inner);
    }
}

pub(super) fn is_phrase(name: &str) -> bool {
    PHRASES.contains(&name)
}

/// Whether an element and everything in it stand within a line.
pub(super) fn is_inline(node: TreeNode<'_>) -> bool {
    is_phrase(node.name())
        && node.descendants().all(|below| {
            below.is_text() || is_phrase(below.name()) || below.name() == "br" || HIDDEN.contains(&below.name())
        })
}

pub(super) fn is_hidden(node: TreeNode<'_>) -> bool {
    let has_style = |wanted: &str| node.attribute("style").is_some_and(|style| style.replace(' ', "").contains(wanted));
    HIDDEN.contains(&node.name()) || node.attribute("hidden").is_some() || has_style("display:none")
}

/// Whether a paragraph is nothing but a picture.
pub(super) fn is_image(text: &str) -> bool {
    text.starts_with("![") && text.ends_with(')') && text.matches("](").count() == 1
}
