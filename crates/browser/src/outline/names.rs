//! Which elements get a line of their own, and what they are called.

use crate::snapshot::{PageNode, PageTree};

use super::OutlineOptions;

/// Roles that say nothing by themselves: their text stands for them.
const SILENT: [&str; 27] = [
    "",
    "generic",
    "none",
    "presentation",
    "paragraph",
    "LabelText",
    "StaticText",
    "InlineTextBox",
    "RootWebArea",
    "Section",
    "strong",
    "emphasis",
    "mark",
    "time",
    "code",
    "subscript",
    "superscript",
    "insertion",
    "deletion",
    "Abbr",
    "LineBreak",
    "LayoutTable",
    "LayoutTableRow",
    "LayoutTableCell",
    "rowgroup",
    "SvgRoot",
    "Pre",
];
/// Roles whose name only repeats what is below them.
const NAMED_BY_CONTENT: [&str; 12] = [
    "row",
    "list",
    "table",
    "grid",
    "group",
    "main",
    "listbox",
    "radiogroup",
    "menu",
    "tablist",
    "tree",
    "DescriptionList",
];
/// Roles of things to use. What holds one of these is not named by its text.
const USED: [&str; 20] = [
    "button",
    "link",
    "textbox",
    "searchbox",
    "combobox",
    "listbox",
    "option",
    "checkbox",
    "radio",
    "slider",
    "spinbutton",
    "switch",
    "tab",
    "menuitem",
    "menuitemcheckbox",
    "menuitemradio",
    "treeitem",
    "ColorWell",
    "Date",
    "DateTime",
];
const SHAPES: [&str; 10] = ["circle", "rect", "ellipse", "line", "polygon", "polyline", "path", "text", "image", "use"];
/// The longest name that is made of the text below an element.
const LONGEST_NAME: usize = 160;

/// The first word of an element's line, and whether it is to be noted that it can be clicked.
pub(super) struct LineKind {
    pub(super) word: String,
    pub(super) is_clickable: bool,
    /// Named by the text below it, since it has no role.
    pub(super) by_text: bool,
}

/// What kind of line an element gets; none if it only holds others.
pub(super) fn kind(tree: &PageTree, at: usize, options: &OutlineOptions) -> Option<LineKind> {
    let node = &tree.nodes[at];
    let role = node.role();
    let tag = node.tag.as_str();
    let is_root = matches!(tag, "html" | "body" | "#document" | "#document-fragment");
    if !node.is_visible() || is_root {
        return None;
    }
    let is_clickable = is_clickable(tree, at);
    let line = |word: &str, by_text| Some(LineKind { word: word.to_owned(), is_clickable, by_text });
    if node.is_svg && tag != "svg" {
        let is_shape = SHAPES.contains(&tag);
        return if is_shape || is_clickable { line(tag, true) } else { None };
    }
    if matches!(tag, "svg" | "canvas" | "iframe" | "frame" | "video" | "audio") {
        return line(tag, false);
    }
    let hand = hand(tree, node);
    // A draggable element is a group to the accessibility tree.
    let is_silent = SILENT.contains(&role) || (role == "group" && hand.is_some());
    if !is_silent {
        return line(&word(role), false);
    }
    if let Some(word) = hand {
        return line(word, true);
    }
    if is_clickable {
        return line("clickable", true);
    }
    // The bounds of text fields that the accessibility tree leaves out, such as those under `aria-hidden`.
    if matches!(tag, "input" | "textarea" | "select" | "button") {
        return line(tag, false);
    }
    if options.with_everything && is_plain_box(tree, node) {
        return line("box", true);
    }
    None
}

fn word(role: &str) -> String {
    match role {
        "MenuListPopup" => "menu".to_owned(),
        "image" => "img".to_owned(),
        "ListMarker" => "marker".to_owned(),
        other => other.to_ascii_lowercase(),
    }
}

/// Whether a click listener or the pointer's shape betrays that it can be clicked.
pub(super) fn is_clickable(tree: &PageTree, at: usize) -> bool {
    let node = &tree.nodes[at];
    if matches!(node.tag.as_str(), "html" | "body" | "#document" | "label" | "option") {
        return false;
    }
    // The shape of the pointer is inherited: only where it begins does it say something.
    let begins = || node.parent.is_none_or(|parent| tree.nodes[parent].style("cursor") != "pointer");
    node.listens || (node.style("cursor") == "pointer" && begins())
}

/// What the pointer's shape or an attribute says about being dragged.
fn hand(tree: &PageTree, node: &PageNode) -> Option<&'static str> {
    let cursor = node.style("cursor");
    let begins = node.parent.is_none_or(|parent| tree.nodes[parent].style("cursor") != cursor);
    let is_grip = matches!(cursor, "grab" | "grabbing" | "move" | "all-scroll" | "crosshair" | "cell");
    if node.attribute("draggable") == Some("true") || (begins && (is_grip || cursor.ends_with("-resize"))) {
        return Some("draggable");
    }
    (node.attribute("contenteditable").is_some_and(|value| value != "false")).then_some("editable")
}

/// An element that shows nothing but a colour or a size.
fn is_plain_box(tree: &PageTree, node: &PageNode) -> bool {
    let has_element =
        node.children.iter().any(|&child| tree.nodes[child].tag != "#text" && !tree.nodes[child].is_internal);
    let has_size = node.bounds.is_some_and(|[_, _, width, height]| width >= 2.0 && height >= 2.0);
    has_size && !has_element && node.tag != "br"
}

/// Elements whose place matters as much as their name.
pub(super) fn needs_box(node: &PageNode) -> bool {
    node.is_svg || matches!(node.tag.as_str(), "canvas" | "iframe" | "frame")
}

/// Elements whose inside is said by their own line.
pub(super) fn is_closed(node: &PageNode) -> bool {
    matches!(node.tag.as_str(), "select" | "input" | "textarea" | "option" | "video" | "audio")
}

/// What an element is called.
pub(super) fn name(tree: &PageTree, at: usize, kind: &LineKind) -> String {
    let node = &tree.nodes[at];
    let named = squeezed(node.name());
    if !named.is_empty() && !NAMED_BY_CONTENT.contains(&node.role()) {
        return named;
    }
    let label = node.attribute("aria-label").or_else(|| node.attribute("title")).unwrap_or_default();
    let is_group = NAMED_BY_CONTENT.contains(&node.role());
    if !label.is_empty() || is_group || !(kind.by_text || kind.is_clickable) {
        return squeezed(label);
    }
    let mut text = String::new();
    collect(tree, at, &mut text, 0);
    let text = squeezed(&text);
    let is_name = text.chars().count() <= LONGEST_NAME && !holds_used(tree, at, 0);
    if is_name { text } else { String::new() }
}

/// Whether something to use is below an element.
fn holds_used(tree: &PageTree, at: usize, depth: usize) -> bool {
    depth < 200
        && tree.nodes[at].children.iter().any(|&child| {
            let node = &tree.nodes[child];
            let is_used = USED.contains(&node.role()) || is_clickable(tree, child);
            (is_used && node.is_visible()) || holds_used(tree, child, depth + 1)
        })
}

/// Adds the visible text below an element, up to a bit more than a name may have.
fn collect(tree: &PageTree, at: usize, out: &mut String, depth: usize) {
    let node = &tree.nodes[at];
    if node.is_internal || depth > 200 || out.len() > LONGEST_NAME * 5 {
        return;
    }
    if node.tag == "#text" {
        if node.is_visible() {
            out.push_str(&node.text);
        }
        return;
    }
    let is_apart = node.style("display") != "inline";
    if is_apart {
        out.push(' ');
    }
    for &child in &node.children {
        collect(tree, child, out, depth + 1);
    }
    if is_apart {
        out.push(' ');
    }
}

/// A row of a table in one line, if its cells hold nothing to use.
pub(super) fn plain_row(tree: &PageTree, at: usize, options: &OutlineOptions) -> Option<String> {
    let node = &tree.nodes[at];
    if node.role() != "row" || options.with_everything || holds_used(tree, at, 0) || is_clickable(tree, at) {
        return None;
    }
    let mut cells = Vec::new();
    for &child in &node.children {
        let cell = &tree.nodes[child];
        if cell.tag == "#text" && squeezed(&cell.text).is_empty() {
            continue;
        }
        if !matches!(cell.role(), "cell" | "gridcell" | "columnheader" | "rowheader") || holds_picture(tree, child, 0) {
            return None;
        }
        let mut text = String::new();
        collect(tree, child, &mut text, 0);
        cells.push(super::line::quoted(&squeezed(&text)));
    }
    (!cells.is_empty()).then(|| cells.join(" | "))
}

fn holds_picture(tree: &PageTree, at: usize, depth: usize) -> bool {
    depth < 200
        && tree.nodes[at].children.iter().any(|&child| {
            let node = &tree.nodes[child];
            let is_picture =
                matches!(node.tag.as_str(), "img" | "svg" | "canvas" | "iframe" | "table" | "input" | "select");
            is_picture || node.role() == "textbox" || holds_picture(tree, child, depth + 1)
        })
}

pub(super) fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
