//! Formulas of Office files (OMML) as LaTeX.

use super::formula_symbols::{accent, command, function, operator};
use crate::tree::TreeNode;

/// A formula within a line: `$…$`.
pub(super) fn inline(node: TreeNode<'_>, nesting: u32) -> String {
    let text = children(node, nesting);
    if text.trim().is_empty() { String::new() } else { format!("${}$", text.trim()) }
}

fn children(node: TreeNode<'_>, depth: u32) -> String {
    if depth == 0 {
        return node.all_text();
    }
    node.elements().map(|child| element(child, depth - 1)).collect()
}

/// A part of a formula by the name of its role: the base, the numerator.
fn part(node: TreeNode<'_>, name: &str, depth: u32) -> String {
    node.child(name).map(|child| children(child, depth)).unwrap_or_default()
}

/// A property, such as the character that brackets are drawn with.
fn property<'t>(node: TreeNode<'t>, group: &str, name: &str) -> Option<&'t str> {
    node.child(group)?.value(name)
}

fn element(node: TreeNode<'_>, depth: u32) -> String {
    let part = |name: &str| part(node, name, depth);
    match node.name() {
        "r" => run(node),
        "f" => match property(node, "fPr", "type") {
            Some("lin") => format!("{}/{}", part("num"), part("den")),
            Some("noBar") => format!("\\binom{{{}}}{{{}}}", part("num"), part("den")),
            _ => format!("\\frac{{{}}}{{{}}}", part("num"), part("den")),
        },
        "sSup" => format!("{}^{{{}}}", grouped(node, depth), part("sup")),
        "sSub" => format!("{}_{{{}}}", grouped(node, depth), part("sub")),
        "sSubSup" => format!("{}_{{{}}}^{{{}}}", grouped(node, depth), part("sub"), part("sup")),
        "sPre" => format!("{{}}_{{{}}}^{{{}}}{}", part("sub"), part("sup"), part("e")),
        "rad" => {
            let degree = part("deg");
            if degree.trim().is_empty() {
                format!("\\sqrt{{{}}}", part("e"))
            } else {
                format!("\\sqrt[{degree}]{{{}}}", part("e"))
            }
        }
        "d" => brackets(node, depth),
        "nary" => {
            let sign = property(node, "naryPr", "chr").map_or_else(|| "\\int".to_owned(), operator);
            let limit = |mark: &str, text: String| if text.is_empty() { text } else { format!("{mark}{{{text}}}") };
            format!("{sign}{}{}{}", limit("_", part("sub")), limit("^", part("sup")), part("e"))
        }
        "func" => {
            let name = part("fName");
            let known = function(name.trim()).map_or(name.clone(), str::to_owned);
            format!("{known}({})", part("e"))
        }
        "limLow" => {
            let name = part("e");
            let known = function(name.trim()).map_or(name.clone(), str::to_owned);
            format!("{known}_{{{}}}", part("lim"))
        }
        "limUpp" => format!("\\overset{{{}}}{{{}}}", part("lim"), part("e")),
        "acc" => format!("{}{{{}}}", accent(property(node, "accPr", "chr").unwrap_or("\u{302}")), part("e")),
        "bar" => {
            let is_below = property(node, "barPr", "pos") == Some("bot");
            format!("\\{}{{{}}}", if is_below { "underline" } else { "overline" }, part("e"))
        }
        "groupChr" => format!("\\underbrace{{{}}}", part("e")),
        "m" => format!("\\begin{{matrix}}{}\\end{{matrix}}", rows(node, "mr", " & ", depth)),
        "eqArr" => format!("\\begin{{aligned}}{}\\end{{aligned}}", lines(node, depth)),
        "t" => node.all_text(),
        name if name.ends_with("Pr") => String::new(),
        _ => children(node, depth),
    }
}

/// A base that is more than one sign is held together, so that the exponent belongs to all of it.
fn grouped(node: TreeNode<'_>, depth: u32) -> String {
    let base = part(node, "e", depth);
    if base.contains("\\frac") { format!("{{{base}}}") } else { base }
}

fn brackets(node: TreeNode<'_>, depth: u32) -> String {
    let sign = |name: &str, default: &'static str| {
        let text = property(node, "dPr", name).unwrap_or(default);
        match text {
            "" => ".".to_owned(),
            "{" | "}" => format!("\\{text}"),
            "‖" => "\\|".to_owned(),
            "⟨" => "\\langle ".to_owned(),
            "⟩" => "\\rangle ".to_owned(),
            other => other.to_owned(),
        }
    };
    let inner: Vec<String> =
        node.elements().filter(|child| child.name() == "e").map(|child| children(child, depth)).collect();
    let separator = property(node, "dPr", "sepChr").unwrap_or("|");
    format!("\\left{}{}\\right{}", sign("begChr", "("), inner.join(separator), sign("endChr", ")"))
}

fn rows(node: TreeNode<'_>, row: &str, separator: &str, depth: u32) -> String {
    let cells = |row: TreeNode<'_>| {
        let cells = row.elements().filter(|child| child.name() == "e").map(|child| children(child, depth));
        cells.collect::<Vec<_>>().join(separator)
    };
    node.elements().filter(|child| child.name() == row).map(cells).collect::<Vec<_>>().join(" \\\\ ")
}

fn lines(node: TreeNode<'_>, depth: u32) -> String {
    let lines = node.elements().filter(|child| child.name() == "e").map(|child| children(child, depth));
    lines.collect::<Vec<_>>().join(" \\\\ ")
}

/// Letters and signs; those outside of ASCII by their commands.
fn run(node: TreeNode<'_>) -> String {
    let mut text = String::new();
    for character in
        node.elements().filter(|child| child.name() == "t").map(TreeNode::all_text).collect::<String>().chars()
    {
        match command(character) {
            Some(command) => {
                text.push_str(" \\");
                text.push_str(command);
                text.push(' ');
            }
            None if matches!(character, '–' | '−') => text.push('-'),
            // Signs that are not seen, such as the one between a function and its argument.
            None if matches!(character, '\u{2061}'..='\u{2064}') => {}
            None => text.push(character),
        }
    }
    text
}
