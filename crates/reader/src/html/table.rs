//! Tables of a page as rows of equal length; a cell that spans several is repeated in each.

use super::inline::{Inline, is_hidden};
use crate::options::ReadLimits;
use crate::tree::TreeNode;

/// A table wider or longer than this is cut; attributes can ask for any number.
const WIDEST: usize = 1_000;
const LONGEST_SPAN: usize = 1_000;
const MOST_CELLS: usize = 2_000_000;

/// Whether a table holds data: it has at least two rows or columns, and its cells hold no tables with data.
pub(super) fn has_data(table: TreeNode<'_>) -> bool {
    let has_table = table.descendants().any(|node| {
        node.name() == "table" && node.descendants().filter(|below| below.name() == "tr").take(3).count() > 2
    });
    let cells = |row: TreeNode<'_>| row.elements().filter(|node| matches!(node.name(), "td" | "th")).count();
    let mut rows = table.descendants().filter(|node| node.name() == "tr");
    let first = rows.next().map_or(0, cells);
    !has_table && (first > 1 || rows.next().is_some())
}

/// The caption, the rows, and the last line of a table.
pub(super) fn rows(table: TreeNode<'_>, limits: &ReadLimits) -> (String, Vec<Vec<String>>, u32) {
    let caption = table.child("caption").map(|node| cell_text(node, limits.nesting)).unwrap_or_default();
    let mut rows: Vec<Vec<String>> = Vec::new();
    // Cells that reach down from rows above, by column: how many rows they still cover, and what they say.
    let mut hanging: Vec<Option<(usize, String)>> = Vec::new();
    let mut last = table.line();
    let mut total = 0;
    for row in table_rows(table) {
        let mut cells = Vec::new();
        let own: Vec<TreeNode<'_>> = row.elements().filter(|node| matches!(node.name(), "td" | "th")).collect();
        for cell in &own {
            take_hanging(&mut hanging, &mut cells);
            last = last.max(cell.descendants().map(TreeNode::line).max().unwrap_or(0));
            let text = cell_text(*cell, limits.nesting);
            let span =
                |name: &str| cell.attribute(name).and_then(|value| value.trim().parse::<usize>().ok()).unwrap_or(1);
            for _ in 0..span("colspan").clamp(1, WIDEST) {
                if cells.len() >= WIDEST {
                    break;
                }
                let down = span("rowspan").clamp(1, LONGEST_SPAN);
                if down > 1 {
                    hanging.resize(hanging.len().max(cells.len() + 1), None);
                    hanging[cells.len()] = Some((down - 1, text.clone()));
                }
                cells.push(text.clone());
            }
        }
        take_hanging(&mut hanging, &mut cells);
        total += cells.len();
        // A row that only announces what the rows below it share says nothing of its own.
        let only_announces = !own.is_empty()
            && cells.len() < rows.first().map_or(0, Vec::len)
            && own.iter().all(|cell| cell.attribute("rowspan").is_some());
        if !own.is_empty() && !only_announces {
            rows.push(cells);
        }
        if total > MOST_CELLS {
            break;
        }
    }
    (caption, rows, last)
}

/// Adds the cells that reach down to where the row has got to.
fn take_hanging(hanging: &mut [Option<(usize, String)>], cells: &mut Vec<String>) {
    while let Some(slot) = hanging.get_mut(cells.len())
        && let Some((rows, text)) = slot
    {
        cells.push(text.clone());
        *rows -= 1;
        if *rows == 0 {
            *slot = None;
        }
    }
}

/// The rows of this table, not those of tables in it.
fn table_rows(table: TreeNode<'_>) -> Vec<TreeNode<'_>> {
    let mut rows = Vec::new();
    for child in table.elements().filter(|node| !is_hidden(*node)) {
        match child.name() {
            "tr" => rows.push(child),
            "thead" | "tbody" | "tfoot" => {
                rows.extend(child.elements().filter(|node| node.name() == "tr" && !is_hidden(*node)));
            }
            _ => {}
        }
    }
    rows
}

/// What a cell says, on one line.
pub(super) fn cell_text(cell: TreeNode<'_>, nesting: u32) -> String {
    let mut inline = Inline::new(nesting);
    inline.children(cell, 0);
    inline.take().0.replace('\n', " ")
}
