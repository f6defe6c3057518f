//! Tables of a document as rows of equal length; a merged cell is repeated where it reaches.

use crate::tree::TreeNode;

const WIDEST: usize = 1_000;

/// The one cell of a table that has no other.
pub(super) fn only_cell(table: TreeNode<'_>) -> Option<TreeNode<'_>> {
    let mut rows = rows_of(table);
    let mut cells = cells_of(rows.next()?);
    let cell = cells.next()?;
    (cells.next().is_none() && rows.next().is_none()).then_some(cell)
}

/// The rows of a table, with what `text` makes of each cell.
pub(super) fn rows<'t>(table: TreeNode<'t>, mut text: impl FnMut(TreeNode<'t>) -> String) -> Vec<Vec<String>> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for row in rows_of(table) {
        let mut cells: Vec<String> = Vec::new();
        let skipped = row.child("trPr").and_then(|properties| properties.value("gridBefore"));
        let skipped = skipped.and_then(|count| count.parse::<usize>().ok()).unwrap_or(0);
        cells.resize(skipped.min(WIDEST), String::new());
        for cell in cells_of(row) {
            let properties = cell.child("tcPr");
            let span = properties.and_then(|properties| properties.value("gridSpan"));
            let span = span.and_then(|span| span.parse::<usize>().ok()).unwrap_or(1);
            let merge = properties.and_then(|properties| properties.child("vMerge"));
            let goes_on = merge.is_some_and(|merge| merge.attribute("val") != Some("restart"));
            let above = rows.last().and_then(|row| row.get(cells.len()));
            let content = match above {
                Some(above) if goes_on => above.clone(),
                _ => text(cell),
            };
            for _ in 0..span.clamp(1, WIDEST) {
                if cells.len() < WIDEST {
                    cells.push(content.clone());
                }
            }
        }
        rows.push(cells);
    }
    rows
}

fn rows_of(table: TreeNode<'_>) -> impl Iterator<Item = TreeNode<'_>> {
    unwrapped(table).filter(|node| node.name() == "tr")
}

fn cells_of(row: TreeNode<'_>) -> impl Iterator<Item = TreeNode<'_>> {
    unwrapped(row).filter(|node| node.name() == "tc")
}

/// Child elements, also those that a content control is around.
fn unwrapped(node: TreeNode<'_>) -> impl Iterator<Item = TreeNode<'_>> {
    node.elements().flat_map(|child| {
        let content = if child.name() == "sdt" { child.child("sdtContent") } else { None };
        let own = if content.is_none() { Some(child) } else { None };
        own.into_iter().chain(content.into_iter().flat_map(TreeNode::elements))
    })
}
