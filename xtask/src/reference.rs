//! The pages of docs/reference that are written from sources: events and the API here; commands, settings and docs/openapi.json by tests
//! of the crates that know them (`crates/cli/src/args/reference.rs`, `crates/serve/src/api/document.rs`).

mod api;
mod events;

use std::path::Path;

use crate::fault::Fault;
use crate::tree;

/// A page and what it says now.
type ReferencePage = (&'static str, String);

/// The API's description, if it is there.
const OPENAPI: &str = "docs/openapi.json";

fn pages(root: &Path) -> Result<Vec<ReferencePage>, String> {
    let events = tree::read(&root.join("crates/run/src/event.rs"))?;
    let lines = tree::read(&root.join("crates/cli/src/view/json.rs"))?;
    let mut pages = vec![("docs/reference/events.md", events::page(&events, &lines))];
    if root.join(OPENAPI).is_file() {
        let openapi = serde_json::from_str(&tree::read(&root.join(OPENAPI))?);
        let openapi = openapi.map_err(|error| format!("{OPENAPI}: {error}"))?;
        pages.push(("docs/reference/api.md", api::page(&openapi)));
    }
    Ok(pages)
}

/// Pages that are not what their sources say.
pub(crate) fn check(root: &Path) -> Result<Vec<Fault>, String> {
    let is_stale = |(path, text): &ReferencePage| tree::read(&root.join(path)).ok().as_ref() != Some(text);
    let stale = pages(root)?.into_iter().filter(is_stale);
    let fault =
        |(path, _)| Fault::new(format!("{path} is not what its source says"), "run `cargo xtask reference --write`");
    Ok(stale.map(fault).collect())
}

/// Writes all pages: first what tests know, then what is made from it. A test that fails leaves the others to be written.
pub(crate) fn write(root: &Path) -> Result<String, String> {
    let mut failed = Vec::new();
    for test in [["-p", "updraft", "--bin", "updraft"].as_slice(), &["-p", "updraft-serve", "--lib"]] {
        let command = ["UPDRAFT_WRITE_REFERENCE=1", "cargo", "test", "--quiet"];
        failed.extend(tree::output(root, "env", &[command.as_slice(), test, &["docs_reference"]].concat()).err());
    }
    for (path, text) in pages(root)? {
        std::fs::write(root.join(path), text).map_err(|error| format!("{path}: {error}"))?;
    }
    if failed.is_empty() { Ok("docs/reference written".to_owned()) } else { Err(failed.join("\n")) }
}
