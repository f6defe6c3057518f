//! Text of shapes: paragraphs with their bullets, and tables.

use std::collections::BTreeMap;

use crate::office::Relation;
use crate::tree::TreeNode;

/// A paragraph of a shape.
#[derive(Debug)]
pub(super) struct ShapeLine {
    pub(super) text: String,
    pub(super) level: u32,
    pub(super) bullet: Bullet,
}

/// What stands before a paragraph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bullet {
    /// Whatever the layout of the slide says.
    Inherited,
    None,
    Sign,
    Number,
}

const WIDEST: usize = 500;
const DEEPEST: u32 = 8;

pub(super) fn prefixed(prefix: &str, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{prefix}{text}") }
}

/// The role that the layout gives a shape.
fn role(shape: TreeNode<'_>) -> Option<(&str, Option<&str>)> {
    let properties = shape.elements().find(|node| node.name() == "nvSpPr")?;
    let role = properties.path(&["nvPr", "ph"])?;
    Some((role.attribute("type").unwrap_or("obj"), role.attribute("idx")))
}

pub(super) fn is_title(shape: TreeNode<'_>) -> bool {
    role(shape).is_some_and(|(kind, _)| matches!(kind, "title" | "ctrTitle"))
}

/// Whether its paragraphs have bullets if nothing else is said.
pub(super) fn is_body(shape: TreeNode<'_>) -> bool {
    role(shape).is_some_and(|(kind, _)| matches!(kind, "body" | "obj"))
}

/// Numbers of slides, dates and lines at the foot, which are the same on every slide.
pub(super) fn is_decoration(shape: TreeNode<'_>) -> bool {
    role(shape).is_some_and(|(kind, _)| matches!(kind, "sldNum" | "dt" | "ftr" | "hdr"))
}

/// The paragraphs of a body of text.
pub(super) fn paragraphs(body: TreeNode<'_>, relations: &BTreeMap<String, Relation>) -> Vec<ShapeLine> {
    body.elements().filter(|node| node.name() == "p").map(|node| paragraph(node, relations)).collect()
}

fn paragraph(node: TreeNode<'_>, relations: &BTreeMap<String, Relation>) -> ShapeLine {
    let properties = node.child("pPr");
    let level = properties.and_then(|properties| properties.attribute("lvl")).and_then(|level| level.parse().ok());
    let has = |name: &str| properties.is_some_and(|properties| properties.child(name).is_some());
    let bullet = if has("buNone") {
        Bullet::None
    } else if has("buAutoNum") {
        Bullet::Number
    } else if has("buChar") || has("buBlip") {
        Bullet::Sign
    } else {
        Bullet::Inherited
    };
    let mut text = String::new();
    for part in node.elements() {
        match part.name() {
            "r" | "fld" => text.push_str(&run(part, relations)),
            "br" => text.push('\n'),
            _ => {}
        }
    }
    ShapeLine { text: text.replace('\u{b}', "\n"), level: level.unwrap_or(0).min(DEEPEST), bullet }
}

fn run(node: TreeNode<'_>, relations: &BTreeMap<String, Relation>) -> String {
    let text = node.child("t").map(TreeNode::all_text).unwrap_or_default();
    let link = node.path(&["rPr", "hlinkClick"]).and_then(|link| relations.get(link.attribute("r:id")?));
    match link {
        Some(link) if link.kind == "hyperlink" && !text.trim().is_empty() => {
            format!("[{}]({})", text.trim(), link.target)
        }
        _ => text,
    }
}

/// The rows of a table; a merged cell is repeated where it reaches.
pub(super) fn table_rows(table: TreeNode<'_>, relations: &BTreeMap<String, Relation>) -> Vec<Vec<String>> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for row in table.elements().filter(|node| node.name() == "tr") {
        let mut cells: Vec<String> = Vec::new();
        for cell in row.elements().filter(|node| node.name() == "tc").take(WIDEST) {
            let is_set = |name: &str| matches!(cell.attribute(name), Some("1" | "true"));
            let text = if is_set("hMerge") {
                cells.last().cloned().unwrap_or_default()
            } else if is_set("vMerge") {
                rows.last().and_then(|row| row.get(cells.len())).cloned().unwrap_or_default()
            } else {
                let lines = cell.child("txBody").map(|body| paragraphs(body, relations)).unwrap_or_default();
                lines.iter().map(|line| line.text.trim()).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
            };
            cells.push(text);
        }
        rows.push(cells);
    }
    rows
}
