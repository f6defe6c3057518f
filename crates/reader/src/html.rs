//! Web pages as Markdown, whole: headings, paragraphs, lists, tables, code and quotations, each with its lines.
//!
//! Only what a browser would not show is left out. To find the article of a page is the caller's part.

mod depth;
mod inline;
mod sink;
mod table;

use inline::Inline;

use crate::blocks::Blocks;
use crate::document::{BlockKind, DocumentKind, SourcePlace};
use crate::notebook::fence;
use crate::options::ReadLimits;
use crate::tree::{Tree, TreeNode};

/// A longer page is cut: each tag costs a hundred bytes of memory.
const LONGEST: usize = 16 << 20;

/// Reads a page.
pub(crate) fn read(text: &str, limits: &ReadLimits) -> Blocks {
    let mut blocks = Blocks::new(DocumentKind::Html, limits);
    add(&mut blocks, text, &SourcePlace::default(), limits);
    blocks
}

/// Adds a page that is a part of another file. Places are those of `place`, with lines added.
pub(crate) fn add(blocks: &mut Blocks, text: &str, place: &SourcePlace, limits: &ReadLimits) {
    let tree = parse(text, limits);
    let root = tree.root();
    if text.len() > LONGEST {
        blocks.warn(format!("only the first {LONGEST} of {} bytes of the page are read", text.len()));
    }
    if let Some(title) = root.find("title") {
        blocks.title(&title.all_text());
    }
    let mut page = Page {
        blocks,
        place,
        limits,
        paragraph: Inline::new(limits.nesting),
        lists: Vec::new(),
        marker: None,
        quotes: 0,
    };
    page.children(root, 0);
    page.flush();
}

/// A piece of HTML as one line of Markdown, such as the summary of an entry in a feed.
pub(crate) fn one_line(html: &str, limits: &ReadLimits) -> String {
    let tree = parse(html, limits);
    table::cell_text(tree.root(), limits.nesting)
}

fn parse(text: &str, limits: &ReadLimits) -> Tree {
    let text = &text[..text.floor_char_boundary(LONGEST)];
    sink::parse(&depth::flattened(text, limits.nesting as usize * 2))
}

struct Page<'p> {
    blocks: &'p mut Blocks,
    place: &'p SourcePlace,
    limits: &'p ReadLimits,
    /// The paragraph that is being read.
    paragraph: Inline,
    lists: Vec<HtmlList>,
    /// The marker of an item of which nothing has been written yet.
    marker: Option<String>,
    quotes: usize,
}

/// A list that is being read; its next number, if it has numbers.
struct HtmlList {
    number: Option<u32>,
}

impl Page<'_> {
    fn children(&mut self, node: TreeNode<'_>, depth: u32) {
        for child in node.children() {
            if self.blocks.is_full() {
                return;
            }
            self.node(child, depth + 1);
        }
    }

    fn node(&mut self, node: TreeNode<'_>, depth: u32) {
        if depth > self.limits.nesting {
            self.paragraph.text(&node.all_text(), node.line());
            return;
        }
        if node.is_text() || inline::is_inline(node) {
            self.paragraph.add(node, depth);
            return;
        }
        if inline::is_hidden(node) {
            return;
        }
        match node.name() {
            "br" => self.paragraph.line_break(),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.heading(node, depth),
            "ul" | "menu" => self.list(node, None, depth),
            "ol" => {
                let start = node.attribute("start").and_then(|start| start.trim().parse().ok()).unwrap_or(1);
                self.list(node, Some(start), depth);
            }
            "li" => self.item(node, depth),
            "dl" => self.list(node, None, depth),
            "dt" => self.term(node, depth),
            "dd" => self.description(node, depth),
            "pre" | "listing" | "xmp" => self.code(node),
            "blockquote" => {
                self.flush();
                self.quotes += 1;
                self.children(node, depth);
                self.flush();
                self.quotes -= 1;
            }
            "table" if table::has_data(node) => self.table(node),
            // Whatever only groups others.
            _ => {
                let is_transparent = inline::is_phrase(node.name());
                if !is_transparent {
                    self.flush();
                }
                self.children(node, depth);
                if !is_transparent {
                    self.flush();
                }
            }
        }
    }

    /// Writes the paragraph read so far.
    fn flush(&mut self) {
        let (text, lines) = self.paragraph.take();
        if text.is_empty() {
            return;
        }
        let place = SourcePlace { lines, ..self.place.clone() };
        if self.lists.is_empty() {
            let quote = "> ".repeat(self.quotes.min(8));
            let text = if quote.is_empty() {
                text
            } else {
                text.split('\n').map(|line| format!("{quote}{line}")).collect::<Vec<_>>().join("\n")
            };
            let kind = if inline::is_image(&text) { BlockKind::Image } else { BlockKind::Paragraph };
            self.blocks.push(place, kind, text);
            return;
        }
        let indent = "    ".repeat((self.lists.len() - 1).min(20));
        let text = text.replace('\n', &format!("\n{indent}  "));
        let marker = self.marker.take().unwrap_or_else(|| "  ".to_owned());
        self.blocks.push(place, BlockKind::ListItem, format!("{indent}{marker}{text}"));
    }

    fn heading(&mut self, node: TreeNode<'_>, depth: u32) {
        self.flush();
        self.paragraph.children(node, depth);
        let (text, lines) = self.paragraph.take();
        let level = node.name().as_bytes()[1] - b'0';
        let text = text.replace('\n', " ");
        if text.is_empty() {
            return;
        }
        if level == 1 {
            self.blocks.title(&text);
        }
        let hashes = "#".repeat(level.into());
        let place = SourcePlace { lines, ..self.place.clone() };
        self.blocks.push(place, BlockKind::Heading(level), format!("{hashes} {text}"));
    }

    fn list(&mut self, node: TreeNode<'_>, number: Option<u32>, depth: u32) {
        self.flush();
        self.lists.push(HtmlList { number });
        self.children(node, depth);
        self.flush();
        self.lists.pop();
    }

    fn item(&mut self, node: TreeNode<'_>, depth: u32) {
        self.flush();
        let is_loose = self.lists.is_empty();
        if is_loose {
            self.lists.push(HtmlList { number: None });
        }
        let number = self.lists.last_mut().and_then(|list| list.number.as_mut());
        self.marker = Some(match number {
            Some(number) => {
                *number = number.saturating_add(1);
                format!("{}. ", *number - 1)
            }
            None => "- ".to_owned(),
        });
        self.children(node, depth);
        self.flush();
        self.marker = None;
        if is_loose {
            self.lists.pop();
        }
    }

    fn term(&mut self, node: TreeNode<'_>, depth: u32) {
        self.flush();
        self.paragraph.children(node, depth);
        let (text, lines) = self.paragraph.take();
        let text = text.trim_matches('*').replace('\n', " ");
        if !text.is_empty() {
            let indent = "    ".repeat(self.lists.len().saturating_sub(1).min(20));
            let place = SourcePlace { lines, ..self.place.clone() };
            self.blocks.push(place, BlockKind::ListItem, format!("{indent}- **{text}**"));
        }
    }

    fn description(&mut self, node: TreeNode<'_>, depth: u32) {
        self.flush();
        let is_list = node.elements().all(|child| child.name() == "dl") && node.elements().next().is_some();
        if !is_list {
            self.lists.push(HtmlList { number: None });
        }
        self.marker = Some("- ".to_owned());
        self.children(node, depth);
        self.flush();
        self.marker = None;
        if !is_list {
            self.lists.pop();
        }
    }

    fn code(&mut self, node: TreeNode<'_>) {
        self.flush();
        let text = node.all_text();
        let class = node.attribute("class").or_else(|| node.child("code")?.attribute("class")).unwrap_or_default();
        let mut words = class.split_whitespace();
        let language = words.find_map(|word| word.strip_prefix("language-").or_else(|| word.strip_prefix("lang-")));
        let last = node.line() + text.matches('\n').count() as u32;
        let text = text.trim_start_matches(['\n', '\r']).trim_end();
        let place = SourcePlace { lines: Some((node.line(), last)), ..self.place.clone() };
        self.blocks.push(place, BlockKind::Code, fence(text, language.unwrap_or_default()));
    }

    fn table(&mut self, node: TreeNode<'_>) {
        self.flush();
        let (caption, rows, last) = table::rows(node, self.limits);
        let place = SourcePlace { lines: Some((node.line(), last.max(node.line()))), ..self.place.clone() };
        self.blocks.push(place.clone(), BlockKind::Paragraph, caption);
        self.blocks.push(place, BlockKind::Table, crate::table::table(&rows));
    }
}
