//! Charts of Office files: the title, the kind, and the numbers as a table.

use crate::blocks::Blocks;
use crate::document::{BlockKind, SourcePlace};
use crate::error::ReadError;
use crate::office::Package;
use crate::table;
use crate::tree::TreeNode;

/// No chart shows more points; attributes can claim any number.
const MOST_POINTS: usize = 10_000;

/// Adds the chart of a part.
pub(crate) fn add(
    blocks: &mut Blocks,
    package: &Package<'_>,
    path: &str,
    place: &SourcePlace,
) -> Result<(), ReadError> {
    let Some(tree) = package.tree(path)? else { return Ok(()) };
    let Some(chart) = tree.root().find("chart") else { return Ok(()) };
    let title = chart.child("title").map(text_of).unwrap_or_default();
    blocks.push(place.clone(), BlockKind::Paragraph, title);
    let Some(area) = chart.child("plotArea") else { return Ok(()) };
    for plot in area.elements().filter(|node| node.name().ends_with("Chart")) {
        blocks.push(place.clone(), BlockKind::Paragraph, format!("{} chart", kind_of(plot.name())));
        blocks.push(place.clone(), BlockKind::Table, table::table(&rows(plot)));
    }
    Ok(())
}

/// All text of a title, whatever frames it.
fn text_of(node: TreeNode<'_>) -> String {
    node.descendants().filter(|below| matches!(below.name(), "t" | "v")).map(TreeNode::all_text).collect()
}

fn kind_of(name: &str) -> &'static str {
    match name {
        "barChart" | "bar3DChart" => "Bar",
        "lineChart" | "line3DChart" => "Line",
        "pieChart" | "pie3DChart" | "ofPieChart" => "Pie",
        "doughnutChart" => "Doughnut",
        "scatterChart" => "Scatter",
        "areaChart" | "area3DChart" => "Area",
        "bubbleChart" => "Bubble",
        "radarChart" => "Radar",
        _ => "Other",
    }
}

/// One row for each category, one column for each series.
fn rows(plot: TreeNode<'_>) -> Vec<Vec<String>> {
    let series: Vec<TreeNode<'_>> = plot.elements().filter(|node| node.name() == "ser").collect();
    let Some(first) = series.first() else { return Vec::new() };
    let mut head = vec![String::new()];
    head.extend(series.iter().map(|one| one.child("tx").map(text_of).unwrap_or_default()));
    let names = first.child("cat").or_else(|| first.child("xVal")).map(points).unwrap_or_default();
    let columns: Vec<Vec<String>> = series
        .iter()
        .map(|one| one.child("val").or_else(|| one.child("yVal")).map(points).unwrap_or_default())
        .collect();
    let length = columns.iter().map(Vec::len).max().unwrap_or(0).max(names.len());
    let mut rows = vec![head];
    for index in 0..length {
        let mut row = vec![names.get(index).cloned().unwrap_or_default()];
        row.extend(columns.iter().map(|column| column.get(index).cloned().unwrap_or_default()));
        rows.push(row);
    }
    rows
}

/// The stored values of a reference, by their index.
fn points(node: TreeNode<'_>) -> Vec<String> {
    let mut values: Vec<String> = Vec::new();
    for point in node.descendants().filter(|below| below.name() == "pt") {
        let index = point.attribute("idx").and_then(|index| index.parse::<usize>().ok());
        let Some(index) = index.filter(|index| *index < MOST_POINTS) else { continue };
        values.resize(values.len().max(index + 1), String::new());
        values[index] = point.child("v").map(TreeNode::all_text).unwrap_or_default();
    }
    values
}
