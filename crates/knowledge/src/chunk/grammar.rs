//! Where definitions begin and end in source code, by the grammar of its language.

use std::ops::Range;

use tree_sitter::{Language, Node, Parser};

/// How deep definitions are looked for: a method of a class in a function in a module.
const DEEPEST: usize = 6;

/// The lines of all definitions that have a body, with the comments and attributes before them, outer ones first. Empty if
/// the language is not known.
pub(super) fn definitions(lines: &[&str], name: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut parser = Parser::new();
    let Some(language) = language(name) else { return found };
    if parser.set_language(&language).is_ok()
        && let Some(tree) = parser.parse(lines.join("\n"), None)
    {
        collect(tree.root_node(), 0, &mut found);
    }
    found
}

fn language(name: &str) -> Option<Language> {
    let ending = name.rsplit_once('.')?.1;
    Some(match ending {
        "rs" => tree_sitter_rust::LANGUAGE.into(),
        "py" | "pyi" => tree_sitter_python::LANGUAGE.into(),
        "js" | "mjs" | "cjs" | "jsx" => tree_sitter_javascript::LANGUAGE.into(),
        "ts" | "mts" | "cts" => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
        "go" => tree_sitter_go::LANGUAGE.into(),
        "java" => tree_sitter_java::LANGUAGE.into(),
        "c" | "h" => tree_sitter_c::LANGUAGE.into(),
        _ => return None,
    })
}

/// Looks for nodes with a body. Wrappers without one, such as `export` and decorators, are looked into.
fn collect(node: Node<'_>, depth: usize, found: &mut Vec<Range<usize>>) {
    let mut cursor = node.walk();
    let mut before: Option<Node<'_>> = None;
    let mut start = None;
    for child in node.named_children(&mut cursor) {
        let is_prefix = matches!(child.kind(), "comment" | "line_comment" | "block_comment" | "attribute_item");
        let follows = before.is_some_and(|before| child.start_position().row <= end_row(before) + 1);
        // Comments and attributes right above a definition belong to it.
        let first = if follows { start.unwrap_or(child.start_position().row) } else { child.start_position().row };
        start = is_prefix.then_some(first);
        before = Some(child);
        if let Some(body) = body(child) {
            found.push(first..end_row(child) + 1);
            if depth < DEEPEST {
                collect(body, depth + 1, found);
            }
        }
    }
}

fn body(node: Node<'_>) -> Option<Node<'_>> {
    let own = node.child_by_field_name("body");
    let inner = || ["definition", "declaration"].iter().find_map(|field| node.child_by_field_name(field));
    own.or_else(|| inner().and_then(|inner| inner.child_by_field_name("body")))
}

/// The last line of a node; some end at the beginning of the next.
fn end_row(node: Node<'_>) -> usize {
    let end = node.end_position();
    if end.column == 0 && end.row > node.start_position().row { end.row - 1 } else { end.row }
}
