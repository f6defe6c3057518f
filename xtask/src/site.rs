//! The documentation as a site: `cargo xtask site`. Every page is HTML by itself; the search needs JavaScript, nothing else does.

mod anchors;
mod assets;
mod contents;
mod frame;
mod links;
mod render;
mod search;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::fault::Fault;
use crate::tree;
use links::LinkTargets;
use render::RenderedPage;

/// Where the site is written if nothing else is said.
const FOLDER: &str = "target/site";

/// A page of the site before it is rendered.
#[derive(Debug)]
pub(crate) struct SourcePage {
    /// The Markdown, from the root of the repository: `docs/plans.md`.
    pub(crate) source: String,
    /// The page, from the root of the site: `plans.html`.
    pub(crate) address: String,
    pub(crate) text: String,
}

/// Writes the site, and says where it is.
pub(crate) fn write(root: &Path, out: Option<&str>) -> Result<String, String> {
    let pages = sources(root)?;
    let (rendered, faults) = render_all(root, &pages);
    if let Some(fault) = faults.first() {
        return Err(format!("{} to put right; the first: {fault}", faults.len()));
    }
    let folder = out.map_or_else(|| root.join(FOLDER), PathBuf::from);
    for page in &rendered {
        save(&folder.join(&page.address), &frame::whole(page, &rendered))?;
    }
    save(&folder.join("search-index.js"), &search::index(&rendered))?;
    for (name, text) in assets::all(root)? {
        save(&folder.join(name), &text)?;
    }
    Ok(format!("{} pages; open {}", rendered.len(), folder.join("index.html").display()))
}

/// Every page has its place in the contents, and no link is broken.
pub(crate) fn check(root: &Path) -> Result<Vec<Fault>, String> {
    let pages = sources(root)?;
    let (_, mut faults) = render_all(root, &pages);
    faults.extend(contents::faults(&pages));
    Ok(faults)
}

fn render_all(root: &Path, pages: &[SourcePage]) -> (Vec<RenderedPage>, Vec<Fault>) {
    let anchors = pages.iter().map(|page| (page.source.clone(), anchors::in_text(&page.text)));
    let targets = LinkTargets {
        root,
        addresses: pages.iter().map(|page| (page.source.clone(), page.address.clone())).collect(),
        anchors: anchors.collect::<BTreeMap<_, _>>(),
    };
    let (mut rendered, mut faults) = (Vec::new(), Vec::new());
    for page in pages {
        let (one, more) = render::page(page, &targets);
        rendered.push(one);
        faults.extend(more);
    }
    (rendered, faults)
}

/// The pages of the repository, and the list of decisions.
fn sources(root: &Path) -> Result<Vec<SourcePage>, String> {
    let mut pages = Vec::new();
    for file in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"] {
        pages.push(source(root, file)?);
    }
    for folder in ["docs", "docs/reference", "docs/decisions"] {
        for path in tree::entries(&root.join(folder))? {
            if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(source(root, &tree::relative(root, &path))?);
            }
        }
    }
    pages.sort_by(|one, other| one.source.cmp(&other.source));
    pages.push(decisions(&pages));
    Ok(pages)
}

fn source(root: &Path, path: &str) -> Result<SourcePage, String> {
    Ok(SourcePage { source: path.to_owned(), address: address(path), text: tree::read(&root.join(path))? })
}

/// `docs/plans.md` becomes `plans.html`, and the README the first page.
fn address(path: &str) -> String {
    let name = path.trim_start_matches("docs/").trim_end_matches(".md");
    match name {
        "README" => "index.html".to_owned(),
        _ if path.starts_with("docs/") => format!("{name}.html"),
        _ => format!("{}.html", name.to_lowercase()),
    }
}

/// The list of decisions, which is not a file of the repository.
fn decisions(pages: &[SourcePage]) -> SourcePage {
    let mut text = String::from("# Decisions\n\nThe lasting choices, why they were made, and their price.\n\n");
    for page in pages.iter().filter(|page| page.source.starts_with(contents::DECISIONS)) {
        let file = page.source.rsplit('/').next().unwrap_or_default();
        let title = render::title(&page.text);
        let number = file.split('-').next().unwrap_or_default();
        let title = title.trim_start_matches(|c: char| c.is_ascii_digit() || ".: ".contains(c));
        text.extend(["- ", number, " [", title, "](", file, ")\n"]);
    }
    SourcePage { source: format!("{}index.md", contents::DECISIONS), address: "decisions/index.html".to_owned(), text }
}

fn save(path: &Path, text: &str) -> Result<(), String> {
    let cannot = |error: std::io::Error| format!("{}: {error}", path.display());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(cannot)?;
    }
    fs::write(path, text).map_err(cannot)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_has_an_address_of_its_own() {
        assert_eq!(address("README.md"), "index.html");
        assert_eq!(address("docs/plans.md"), "plans.html");
        assert_eq!(address("docs/reference/events.md"), "reference/events.html");
        assert_eq!(address("CHANGELOG.md"), "changelog.html");
    }
}
