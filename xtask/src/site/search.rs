//! What the search looks through: one entry for each section of each page.

use serde_json::json;

use super::contents;
use super::render::RenderedPage;

/// A script that sets the index, so that it can be loaded from a disk as well as from a server.
pub(crate) fn index(pages: &[RenderedPage]) -> String {
    // The pages of the contents come first, then decisions: of two that fit alike, the first is shown first.
    let place = |page: &RenderedPage| contents::in_order().position(|(source, _)| *source == page.source);
    let mut pages: Vec<&RenderedPage> = pages.iter().collect();
    pages.sort_by_key(|page| place(page).unwrap_or(usize::MAX));
    let mut entries = Vec::new();
    for page in pages {
        for section in &page.sections {
            let anchor = if section.level == 1 { String::new() } else { format!("#{}", section.anchor) };
            let text: Vec<&str> = section.text.split_whitespace().collect();
            entries.push(json!([page.title, section.title, format!("{}{anchor}", page.address), text.join(" ")]));
        }
    }
    format!("window.searchIndex = {};\n", json!(entries))
}
