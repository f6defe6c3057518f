//! Where the links of a page lead: to another page of the site, to a file of the repository, or out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::SourcePage;
use crate::fault::Fault;

/// Files of the repository that are no page.
const REPOSITORY: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/");

/// Everything that a link may lead to.
pub(crate) struct LinkTargets<'a> {
    pub(crate) root: &'a Path,
    /// The address of each page, by its Markdown file.
    pub(crate) addresses: BTreeMap<String, String>,
    /// The anchors of each page, by its Markdown file.
    pub(crate) anchors: BTreeMap<String, BTreeSet<String>>,
}

impl LinkTargets<'_> {
    /// The address for a link, as it is written on the page.
    pub(crate) fn resolve(&self, from: &SourcePage, link: &str) -> Result<String, Fault> {
        if link.contains("://") || link.starts_with("mailto:") {
            return Ok(link.to_owned());
        }
        let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
        let source = if path.is_empty() { from.source.clone() } else { joined(&from.source, path) };
        let source = if source == "docs/decisions" { "docs/decisions/index.md".to_owned() } else { source };
        let broken =
            |why: String, hint: &str| Err(Fault::new(format!("{}: the link `{link}` {why}", from.source), hint));
        let Some(address) = self.addresses.get(&source) else {
            if self.root.join(&source).exists() {
                return Ok(format!("{REPOSITORY}{source}"));
            }
            return broken(format!("leads to `{source}`, which is not there"), "name a file by its path from the page");
        };
        if !anchor.is_empty() && !self.anchors.get(&source).is_some_and(|anchors| anchors.contains(anchor)) {
            let known: Vec<&str> = self.anchors.get(&source).into_iter().flatten().map(String::as_str).collect();
            let hint = format!("the anchors of {source} are: {}", known.join(", "));
            return broken(format!("has an anchor that {source} has not"), &hint);
        }
        let anchor = if anchor.is_empty() { String::new() } else { format!("#{anchor}") };
        if path.is_empty() {
            return Ok(anchor);
        }
        Ok(format!("{}{anchor}", relative(&from.address, address)))
    }
}

/// The way from one page of the site to another file of it.
pub(crate) fn relative(from: &str, to: &str) -> String {
    format!("{}{to}", "../".repeat(from.matches('/').count()))
}

/// A path, from the root of the repository, that a file names relative to itself.
fn joined(from: &str, path: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_pages_files_and_out_or_are_broken() {
        let page = |source: &str, address: &str| (source.to_owned(), address.to_owned());
        let targets = LinkTargets {
            root: Path::new(env!("CARGO_MANIFEST_DIR")),
            addresses: [page("docs/a.md", "a.html"), page("docs/decisions/1.md", "decisions/1.html")].into(),
            anchors: [("docs/a.md".to_owned(), ["one".to_owned()].into())].into(),
        };
        let from = |source: &str, address: &str| SourcePage {
            source: source.to_owned(),
            address: address.to_owned(),
            text: String::new(),
        };
        let a = from("docs/a.md", "a.html");
        let one = from("docs/decisions/1.md", "decisions/1.html");
        assert_eq!(targets.resolve(&a, "#one").as_deref(), Ok("#one"));
        assert_eq!(targets.resolve(&a, "decisions/1.md").as_deref(), Ok("decisions/1.html"));
        assert_eq!(targets.resolve(&one, "../a.md#one").as_deref(), Ok("../a.html#one"));
        assert_eq!(targets.resolve(&a, "../src/main.rs"), Ok(format!("{REPOSITORY}src/main.rs")));
        assert_eq!(targets.resolve(&a, "https://example.com/#x").as_deref(), Ok("https://example.com/#x"));
        for broken in ["b.md", "#two", "decisions/1.md#one"] {
            let fault = targets.resolve(&a, broken).unwrap_err();
            assert!(fault.what.starts_with(&format!("docs/a.md: the link `{broken}` ")), "{fault}");
        }
    }
}
