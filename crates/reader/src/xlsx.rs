//! Workbooks: sheet by sheet the tables that stand in it, row by row with their cells, then charts and comments.

mod grid;
mod sheet;
mod values;

use grid::Grid;
use values::Values;

use crate::blocks::Blocks;
use crate::document::{BlockKind, DocumentKind, SourcePlace};
use crate::error::ReadError;
use crate::office::{Package, Relation};
use crate::options::ReadOptions;
use crate::{chart, comments, table};

const KIND: DocumentKind = DocumentKind::Xlsx;

/// Reads a workbook.
pub(crate) fn read(bytes: &[u8], options: &ReadOptions) -> Result<Blocks, ReadError> {
    let limits = &options.limits;
    let package = Package::open(bytes, KIND, limits)?;
    let path = package.main_part("xl/workbook.xml")?;
    let relations = package.relations(&path)?;
    let tree = package.tree(&path)?;
    let mut sheets: Vec<(String, Relation)> = Vec::new();
    for node in tree.iter().flat_map(|tree| tree.root().descendants()).filter(|node| node.name() == "sheet") {
        let relation = node.attribute("r:id").and_then(|id| relations.get(id));
        if let (Some(name), Some(relation)) = (node.attribute("name"), relation) {
            sheets.push((name.to_owned(), relation.clone()));
        }
    }
    let is_1904 = tree.as_ref().is_some_and(|tree| {
        tree.root().find("workbookPr").is_some_and(|node| matches!(node.attribute("date1904"), Some("1" | "true")))
    });
    let sheets = wanted(sheets, options)?;
    let values = Values::read(&package, &relations, is_1904)?;
    let mut blocks = Blocks::new(KIND, limits);
    if let Some(title) = package.title()? {
        blocks.title(&title);
    }
    for (name, relation) in sheets.iter().take(limits.pages as usize) {
        if blocks.is_full() {
            break;
        }
        add_sheet(&mut blocks, &package, &values, name, &relation.target)?;
    }
    Ok(blocks)
}

/// The sheet that is asked for, by name or number; all if none is.
fn wanted(mut sheets: Vec<(String, Relation)>, options: &ReadOptions) -> Result<Vec<(String, Relation)>, ReadError> {
    let Some(wanted) = &options.sheet else { return Ok(sheets) };
    let by_name = sheets.iter().position(|(name, _)| name.eq_ignore_ascii_case(wanted));
    let by_number = || wanted.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    if let Some(index) = by_name.or_else(by_number).filter(|index| *index < sheets.len()) {
        return Ok(vec![sheets.swap_remove(index)]);
    }
    let sheets = sheets.into_iter().map(|(name, _)| name).collect();
    Err(ReadError::NoSuchSheet { wanted: wanted.clone(), sheets })
}

fn add_sheet(
    blocks: &mut Blocks,
    package: &Package<'_>,
    values: &Values,
    name: &str,
    path: &str,
) -> Result<(), ReadError> {
    let place = SourcePlace { sheet: Some(name.to_owned()), ..SourcePlace::default() };
    blocks.push(place.clone(), BlockKind::Heading(2), format!("## {name}"));
    let Some(bytes) = package.archive.file(path)? else {
        blocks.warn(format!("the sheet `{name}` is missing"));
        return Ok(());
    };
    let sheet = sheet::read(&bytes, values);
    drop(bytes);
    if sheet.is_cut {
        blocks.warn(format!("the sheet `{name}` has more cells than are read"));
    }
    add_tables(blocks, &sheet.grid, name);
    let relations = package.relations(path)?;
    for relation in relations.values().filter(|relation| relation.kind == "drawing") {
        for drawn in package.relations(&relation.target)?.values() {
            match drawn.kind.as_str() {
                "chart" => chart::add(blocks, package, &drawn.target, &place)?,
                "image" => blocks.push(place.clone(), BlockKind::Image, crate::office::picture("", &drawn.target)),
                _ => {}
            }
        }
    }
    let is_comment = |relation: &&Relation| matches!(relation.kind.as_str(), "comments" | "threadedComment");
    let paths: Vec<&str> = relations.values().filter(is_comment).map(|relation| relation.target.as_str()).collect();
    comments::add_of_sheet(blocks, package, &paths, name)
}

/// Adds each table of a sheet, row by row.
fn add_tables(blocks: &mut Blocks, grid: &Grid, sheet: &str) {
    for region in grid.regions() {
        let place =
            |cells: String| SourcePlace { sheet: Some(sheet.to_owned()), cells: Some(cells), ..SourcePlace::default() };
        if region.is_sparse() {
            for (cell, text) in grid.cells(&region) {
                blocks.push(place(cell.clone()), BlockKind::ListItem, format!("- {cell}: {text}"));
            }
            continue;
        }
        let width = region.width();
        for (index, row) in region.rows().enumerate() {
            let cells = grid.row(&region, row);
            let line = table::row(&cells, width);
            let text = if index == 0 { format!("{line}\n{}", table::dashes(width)) } else { line };
            blocks.push(place(region.row_name(row)), BlockKind::Row, text);
            if blocks.is_full() {
                return;
            }
        }
    }
}
