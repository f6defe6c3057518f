//! Tables as Markdown.

/// A row: `| a | b |`. A cell that is missing is empty.
pub(crate) fn row(cells: &[String], width: usize) -> String {
    let mut line = String::from("|");
    for index in 0..width.max(cells.len()) {
        line.push(' ');
        line.push_str(&cell(cells.get(index).map_or("", String::as_str)));
        line.push_str(" |");
    }
    line
}

/// The line of dashes below the first row.
pub(crate) fn dashes(width: usize) -> String {
    format!("|{}", " --- |".repeat(width.max(1)))
}

/// A whole table; its first row is the head. Nothing if no cell says anything.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let width = rows.iter().map(Vec::len).max().unwrap_or(0);
    if rows.iter().flatten().all(|cell| cell.trim().is_empty()) {
        return String::new();
    }
    let mut lines = Vec::with_capacity(rows.len() + 1);
    for (index, cells) in rows.iter().enumerate() {
        lines.push(row(cells, width));
        if index == 0 {
            lines.push(dashes(width));
        }
    }
    lines.join("\n")
}

/// A cell on one line. A bar is written as an entity: those who split rows at every bar then still get whole cells.
fn cell(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.contains('|') { line.replace('|', "&#124;") } else { line }
}
