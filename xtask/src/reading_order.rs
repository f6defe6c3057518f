//! The reading order of ARCHITECTURE.md: its files exist, and are read in one sitting.

use std::path::{Path, PathBuf};

use crate::fault::Fault;
use crate::tree;

/// The file with the reading order.
const FILE: &str = "ARCHITECTURE.md";
/// The heading above it.
const HEADING: &str = "## Reading order";
/// What a newcomer reads in one sitting, in lines.
const LINE_LIMIT: usize = 2_500;

/// Looks for every file of the reading order and adds up their lines.
pub(crate) fn check(root: &Path) -> Result<Vec<Fault>, String> {
    let files = listed(&tree::read(&root.join(FILE))?);
    let lines = |file: &Path| tree::read(&root.join(file)).ok().map(|text| text.lines().count());
    Ok(faults(&files.iter().map(|file| (tree::relative(root, file), lines(file))).collect::<Vec<_>>()))
}

/// The files that the numbered lines name, in order. A name without `crates/` is beside the file before it that has one.
fn listed(text: &str) -> Vec<PathBuf> {
    let section = text.split_once(HEADING).map_or("", |(_, rest)| rest.split("\n## ").next().unwrap_or_default());
    let numbered = section.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_digit()));
    let is_rust = |name: &&str| Path::new(name).extension().is_some_and(|extension| extension == "rs");
    let names = numbered.flat_map(|line| line.split('`').skip(1).step_by(2)).filter(is_rust);
    let (mut folder, mut files) = (PathBuf::new(), Vec::new());
    for name in names {
        if name.starts_with("crates/") {
            folder = Path::new(name).parent().unwrap_or(Path::new("")).to_path_buf();
            files.push(PathBuf::from(name));
        } else {
            files.push(folder.join(name));
        }
    }
    files
}

/// What is wrong with these files and their numbers of lines, which are absent if there is no such file.
fn faults(files: &[(String, Option<usize>)]) -> Vec<Fault> {
    if files.is_empty() {
        let what = format!("{FILE} has no numbered files under `{HEADING}`");
        return vec![Fault::new(what, "list the files that a newcomer reads first")];
    }
    let missing = files.iter().filter(|(_, lines)| lines.is_none());
    let mut faults: Vec<Fault> = missing
        .map(|(path, _)| {
            let what = format!("{FILE}: the reading order names `{path}`, which does not exist");
            Fault::new(what, "name it as it is called now, or remove it")
        })
        .collect();
    let sum: usize = files.iter().filter_map(|(_, lines)| *lines).sum();
    if sum >= LINE_LIMIT {
        faults.push(Fault::new(
            format!("{FILE}: the files of the reading order have {sum} lines; expected fewer than {LINE_LIMIT}"),
            "move what a newcomer need not know yet out of them",
        ));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, Option<usize>)]) -> Vec<String> {
        let files: Vec<_> = files.iter().map(|(path, lines)| ((*path).to_owned(), *lines)).collect();
        faults(&files).into_iter().map(|fault| fault.what).collect()
    }

    #[test]
    fn numbered_files_are_read_with_those_beside_them() {
        let text = "## Before\n\n1. `crates/no.rs`\n\n\
                    ## Reading order\n\n1. `crates/a/src/b.rs`: x. `b/c.rs`, `Type`.\n2. `crates/d/src/e.rs`.\n\n\
                    After that `f.rs`.\n\n## After\n\n1. `crates/no.rs`\n";
        assert_eq!(listed(text), ["crates/a/src/b.rs", "crates/a/src/b/c.rs", "crates/d/src/e.rs"].map(PathBuf::from));
    }

    #[test]
    fn a_missing_file_and_too_many_lines_are_named() {
        assert_eq!(found(&[("a.rs", Some(1_499)), ("b.rs", Some(1_000))]), [""; 0]);
        assert_eq!(
            found(&[("a.rs", Some(2_500)), ("b.rs", None)]),
            [
                "ARCHITECTURE.md: the reading order names `b.rs`, which does not exist",
                "ARCHITECTURE.md: the files of the reading order have 2500 lines; expected fewer than 2500",
            ]
        );
        assert_eq!(found(&[]), ["ARCHITECTURE.md has no numbered files under `## Reading order`"]);
    }
}
