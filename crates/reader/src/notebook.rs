//! Jupyter notebooks: cells in order, code in fences with what it printed.

use serde_json::Value;

use crate::blocks::Blocks;
use crate::document::{BlockKind, DocumentKind, SourcePlace};
use crate::error::ReadError;
use crate::markdown;
use crate::options::ReadLimits;

/// Reads a notebook of version 3 or 4.
pub(crate) fn read(text: &str, limits: &ReadLimits) -> Result<Blocks, ReadError> {
    let kind = DocumentKind::Notebook;
    let fault = |why: String| ReadError::Damaged { kind, why };
    let notebook: Value = serde_json::from_str(text).map_err(|error| fault(error.to_string()))?;
    let sheet = notebook["worksheets"].get(0).unwrap_or(&notebook);
    let cells = sheet["cells"].as_array().ok_or_else(|| fault("it has no `cells`".to_owned()))?;
    let metadata = &notebook["metadata"];
    let language = metadata["kernelspec"]["language"].as_str().or(metadata["language_info"]["name"].as_str());
    let mut blocks = Blocks::new(kind, limits);
    blocks.title(metadata["title"].as_str().unwrap_or_default());
    for (cell, number) in cells.iter().zip(1..) {
        add_cell(&mut blocks, cell, &format!("cell {number}"), language.unwrap_or("python"));
        if blocks.is_full() {
            break;
        }
    }
    Ok(blocks)
}

fn add_cell(blocks: &mut Blocks, cell: &Value, part: &str, language: &str) {
    let source = joined(cell.get("source").or_else(|| cell.get("input")).unwrap_or(&Value::Null));
    match cell["cell_type"].as_str() {
        Some("code") => {
            blocks.push(SourcePlace::part(part), BlockKind::Code, fence(&source, language));
            for output in cell["outputs"].as_array().into_iter().flatten() {
                add_output(blocks, output, part);
            }
        }
        Some("raw") => blocks.push(SourcePlace::part(part), BlockKind::Paragraph, source),
        Some("heading") => {
            let level = cell["level"].as_u64().unwrap_or(1).clamp(1, 6) as u8;
            let text = format!("{} {}", "#".repeat(level.into()), source.trim());
            blocks.push(SourcePlace::part(part), BlockKind::Heading(level), text);
        }
        _ => markdown::add_part(blocks, &source, part),
    }
}

fn add_output(blocks: &mut Blocks, output: &Value, part: &str) {
    let place = || SourcePlace::part(format!("{part} output"));
    let data = output.get("data").unwrap_or(output);
    let text = ["text", "text/plain", "text/markdown"].iter().find_map(|name| data.get(name)).map(joined);
    if let Some(image) = data.as_object().and_then(|data| data.keys().find(|name| name.starts_with("image/"))) {
        blocks.push(place(), BlockKind::Image, format!("<!-- image: {image} -->"));
    } else if let Some(text) = text {
        blocks.push(place(), BlockKind::Code, fence(&text, ""));
    } else if let Some(name) = output["ename"].as_str() {
        let why = output["evalue"].as_str().unwrap_or_default();
        blocks.push(place(), BlockKind::Code, fence(&format!("{name}: {why}"), ""));
    }
}

/// Text is stored whole or as a list of lines.
fn joined(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

/// Code in a fence that is longer than any in it.
pub(crate) fn fence(code: &str, language: &str) -> String {
    let code = code.trim_end();
    if code.trim().is_empty() {
        return String::new();
    }
    let mut mark = "```".to_owned();
    while code.contains(&mark) {
        mark.push('`');
    }
    format!("{mark}{language}\n{code}\n{mark}")
}
