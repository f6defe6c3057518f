//! One line: word, name, reference, then what else is to be said.

use std::fmt::{self, Write};

use crate::snapshot::{PageNode, PageTree};

use super::names::{LineKind, squeezed};

/// Longest name or value in a line.
const LONGEST: usize = 300;
/// Longest piece of text that is not cut.
const LONGEST_TEXT: usize = 4000;
/// Most options of a list that are shown.
const MOST_OPTIONS: usize = 60;
/// States that are said by their name alone, if they are true.
const FLAGS: [&str; 8] = ["focused", "disabled", "required", "readonly", "selected", "pressed", "modal", "busy"];
/// Attributes of shapes that say where they are and what they look like.
const SHAPE_ATTRIBUTES: [&str; 14] =
    ["fill", "stroke", "points", "d", "x1", "y1", "x2", "y2", "transform", "font-size", "r", "width", "height", "href"];

/// The whole line, with `[]` where the reference and the box belong.
pub(super) fn describe(tree: &PageTree, at: usize, kind: &LineKind, name: &str) -> String {
    let node = &tree.nodes[at];
    let mut line = kind.word.clone();
    if !name.is_empty() {
        line.push(' ');
        // The mark is searched from the left, so a name must not contain it.
        line.push_str(&quoted(name).replace("[]", "[ ]"));
    }
    line.push_str(" []");
    if kind.is_clickable
        && !kind.by_text
        && matches!(kind.word.as_str(), "listitem" | "cell" | "gridcell" | "row" | "img" | "heading")
    {
        line.push_str(" clickable");
    }
    if kind.is_clickable && node.is_svg {
        line.push_str(" clickable");
    }
    value(node, &mut line);
    states(node, &mut line);
    if node.tag == "a"
        && let Some(href) = node.attribute("href").filter(|href| !href.is_empty() && *href != "#")
    {
        add(&mut line, format_args!(" to={}", short(href, 100)));
    }
    if node.is_svg && node.tag != "svg" {
        shape(node, &mut line);
    }
    if name.is_empty() {
        hints(node, &mut line);
    }
    if node.tag == "select" {
        options(tree, at, &mut line);
    }
    line
}

fn value(node: &PageNode, line: &mut String) {
    let value = node.meaning.as_ref().map_or("", |meaning| meaning.value.as_str());
    if !value.is_empty() {
        add(line, format_args!(" ={}", quoted(value)));
    }
    if node.tag == "input" {
        let kind = node.attribute("type").unwrap_or("text").to_ascii_lowercase();
        if matches!(
            kind.as_str(),
            "password" | "email" | "file" | "date" | "time" | "month" | "week" | "datetime-local"
        ) {
            add(line, format_args!(" type={kind}"));
        }
    }
}

fn options(tree: &PageTree, at: usize, line: &mut String) {
    let mut options = Vec::new();
    collect_options(tree, at, &mut options);
    let more = options.len().saturating_sub(MOST_OPTIONS);
    let shown: Vec<String> = options.iter().take(MOST_OPTIONS).map(|option| quoted(option)).collect();
    add(line, format_args!(" options: {}", shown.join(", ")));
    if more > 0 {
        add(line, format_args!(" and {more} more"));
    }
}

fn collect_options(tree: &PageTree, at: usize, out: &mut Vec<String>) {
    for &child in &tree.nodes[at].children {
        let node = &tree.nodes[child];
        if node.tag == "option" {
            let text: String = node.children.iter().map(|&text| tree.nodes[text].text.as_str()).collect();
            out.push(squeezed(node.attribute("label").unwrap_or(&text)));
        } else if node.tag == "optgroup" {
            collect_options(tree, child, out);
        }
    }
}

fn states(node: &PageNode, line: &mut String) {
    let Some(meaning) = &node.meaning else { return };
    let state = |name: &str| meaning.states.get(name).map(String::as_str);
    for flag in FLAGS {
        if state(flag) == Some("true") {
            line.push(' ');
            line.push_str(flag);
        }
    }
    match state("checked") {
        Some("true") => line.push_str(" checked"),
        Some("mixed") => line.push_str(" checked=mixed"),
        Some(_) if matches!(meaning.role.as_str(), "checkbox" | "radio" | "switch") => line.push_str(" unchecked"),
        _ => {}
    }
    match state("expanded") {
        Some("true") => line.push_str(" expanded"),
        Some(_) => line.push_str(" collapsed"),
        None => {}
    }
    if let Some(invalid) = state("invalid").filter(|invalid| *invalid != "false" && !invalid.is_empty()) {
        add(line, format_args!(" invalid={invalid}"));
    }
    if meaning.role == "heading"
        && let Some(level) = state("level")
    {
        add(line, format_args!(" level={level}"));
    }
    if matches!(meaning.role.as_str(), "slider" | "spinbutton" | "scrollbar") {
        for (name, word) in [("valuemin", "min"), ("valuemax", "max")] {
            if let Some(bound) = state(name).filter(|bound| *bound != "0" || name == "valuemin") {
                add(line, format_args!(" {word}={bound}"));
            }
        }
    }
}

fn shape(node: &PageNode, line: &mut String) {
    for name in SHAPE_ATTRIBUTES {
        if let Some(value) = node.attribute(name).filter(|value| !value.is_empty()) {
            add(line, format_args!(" {name}={}", short(value, 80)));
        }
    }
    if node.attribute("fill").is_none() && !node.style("fill").is_empty() {
        add(line, format_args!(" fill={}", short(node.style("fill"), 40)));
    }
}

/// What a nameless element may be known by: its id, classes, the picture it shows, its colour.
fn hints(node: &PageNode, line: &mut String) {
    for name in ["id", "class", "alt", "src", "placeholder", "data-value"] {
        if let Some(value) = node.attribute(name).filter(|value| !value.is_empty() && !value.starts_with("data:")) {
            add(line, format_args!(" {name}={}", short(value, 60)));
        }
    }
    let color = node.style("background-color");
    if !node.is_svg && !color.is_empty() && color != "rgba(0, 0, 0, 0)" {
        add(line, format_args!(" color={}", color.replace(", ", ",")));
    }
}

/// Adds to a text that is under construction, which cannot fail.
pub(super) fn add(text: &mut String, more: fmt::Arguments<'_>) {
    let _ = text.write_fmt(more);
}

/// Text in quotes, on one line, cut at the limit.
pub(super) fn quoted(text: &str) -> String {
    json_string(text, LONGEST)
}

/// Like [`quoted`], with the limit of plain text.
pub(super) fn quoted_long(text: &str) -> String {
    json_string(text, LONGEST_TEXT)
}

fn json_string(text: &str, most: usize) -> String {
    let mut cut: String = text.chars().filter(|c| !c.is_control() || c.is_whitespace()).take(most).collect();
    if text.chars().nth(most).is_some() {
        cut.push('…');
    }
    serde_json::Value::String(cut).to_string()
}

/// A value without quotes if it is one plain word.
fn short(text: &str, most: usize) -> String {
    let is_plain = !text.contains(|c: char| c.is_whitespace() || c.is_control() || "\"[]=".contains(c));
    if is_plain && text.chars().count() <= most { text.to_owned() } else { json_string(text, most) }
}

/// `@left,top,width,height` in whole pixels.
pub(super) fn box_text([left, top, width, height]: [f64; 4]) -> String {
    format!(" @{left:.0},{top:.0},{width:.0},{height:.0}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_page_stay_in_their_quotes() {
        assert_eq!(quoted("a\"\nbutton \"Pay\" [e9]"), r#""a\"\nbutton \"Pay\" [e9]""#);
        assert_eq!(short("x [e1]", 50), r#""x [e1]""#);
        assert_eq!(quoted(&"x".repeat(400)).chars().count(), 303);
    }
}
