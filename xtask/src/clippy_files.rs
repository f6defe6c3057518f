//! A crate's own clippy.toml replaces the root's, so it must repeat every line of it.

use std::path::Path;

use crate::fault::Fault;
use crate::tree;

/// Compares each crate's clippy.toml with the root's.
pub(crate) fn check(root: &Path) -> Result<Vec<Fault>, String> {
    let common = tree::read(&root.join("clippy.toml"))?;
    let mut faults = Vec::new();
    for folder in tree::crate_folders(root)? {
        let file = folder.join("clippy.toml");
        if file.is_file() {
            faults.extend(missing(&tree::relative(root, &file), &common, &tree::read(&file)?));
        }
    }
    Ok(faults)
}

fn missing(path: &str, common: &str, own: &str) -> Vec<Fault> {
    let own: Vec<&str> = settings(own).collect();
    let missing = settings(common).filter(|line| !own.contains(line));
    let fault = |line| {
        Fault::new(
            format!("{path} lacks `{line}`, which the root's clippy.toml has"),
            "copy the line: a crate's clippy.toml replaces the root's instead of adding to it",
        )
    };
    missing.map(fault).collect()
}

/// The lines that say something, without the comma that the last of a list may lack.
fn settings(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().map(|line| line.trim().trim_end_matches(','));
    lines.filter(|line| !line.is_empty() && !line.starts_with('#'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_root_has_and_the_crate_lacks_is_named() {
        let root = "# note\na = 1\nlist = [\n    { path = \"x\" },\n    { path = \"y\" }\n]\n";
        let own = "b = 2\na = 1\nlist = [\n    { path = \"y\" },\n]\n";
        let found: Vec<String> =
            missing("crates/run/clippy.toml", root, own).into_iter().map(|fault| fault.what).collect();
        assert_eq!(found, ["crates/run/clippy.toml lacks `{ path = \"x\" }`, which the root's clippy.toml has"]);
    }
}
