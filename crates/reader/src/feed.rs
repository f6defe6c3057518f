//! RSS and Atom feeds: the entries with title, date, link and text.

use crate::blocks::Blocks;
use crate::document::{BlockKind, DocumentKind, SourcePlace};
use crate::error::ReadError;
use crate::options::ReadLimits;
use crate::tree::TreeNode;
use crate::{html, xml};

/// Reads a feed.
pub(crate) fn read(bytes: &[u8], limits: &ReadLimits) -> Result<Blocks, ReadError> {
    let tree = xml::parse(bytes, DocumentKind::Feed, limits)?;
    let root = tree.root();
    let mut blocks = Blocks::new(DocumentKind::Feed, limits);
    let channel = root.find("channel").or_else(|| root.child("feed")).unwrap_or(root);
    let title = text_of(channel, &["title"]);
    blocks.title(&title);
    let line = channel.line();
    add(&mut blocks, line, BlockKind::Heading(1), &prefixed("# ", &title));
    let about = text_of(channel, &["description", "subtitle"]);
    add(&mut blocks, line, BlockKind::Paragraph, &html::one_line(&about, limits));
    for entry in root.descendants().filter(|node| matches!(node.name(), "item" | "entry")) {
        add_entry(&mut blocks, entry, limits);
        if blocks.is_full() {
            break;
        }
    }
    Ok(blocks)
}

fn add_entry(blocks: &mut Blocks, entry: TreeNode<'_>, limits: &ReadLimits) {
    let line = entry.line();
    let title = html::one_line(&text_of(entry, &["title"]), limits);
    add(blocks, line, BlockKind::Heading(2), &prefixed("## ", &title));
    let date = text_of(entry, &["pubDate", "published", "updated", "date"]);
    add(blocks, line, BlockKind::Metadata, &date);
    add(blocks, line, BlockKind::Metadata, &prefixed("by ", &text_of(entry, &["author", "creator"])));
    let link = entry.child("link").map(|link| link.attribute("href").map_or_else(|| link.all_text(), str::to_owned));
    add(blocks, line, BlockKind::Metadata, &prefixed("", link.unwrap_or_default().trim()));
    let body = text_of(entry, &["encoded", "content", "description", "summary"]);
    let place = SourcePlace::part(if title.is_empty() { "entry".to_owned() } else { title });
    html::add(blocks, &body, &place, limits);
}

fn add(blocks: &mut Blocks, line: u32, kind: BlockKind, text: &str) {
    blocks.push(SourcePlace::lines(line, line), kind, text);
}

fn prefixed(prefix: &str, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{prefix}{text}") }
}

/// The text of the first of these elements that is there.
fn text_of(node: TreeNode<'_>, names: &[&str]) -> String {
    let found = names.iter().find_map(|name| node.child(name));
    found.map(|node| node.all_text().trim().to_owned()).unwrap_or_default()
}
