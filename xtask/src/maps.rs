//! Tables of files in doc comments: what they name must exist.

use std::path::Path;

use crate::fault::Fault;
use crate::tree;

/// Heads of the columns that name files and modules.
const COLUMNS: [&str; 3] = ["file", "module", "where"];

/// Looks at the tables in the doc comments of every source file.
pub(crate) fn check(root: &Path) -> Result<Vec<Fault>, String> {
    let mut faults = Vec::new();
    for folder in tree::crate_folders(root)? {
        for file in tree::rust_files(&folder.join("src"))? {
            let path = tree::relative(root, &file);
            for (number, name) in named(&tree::read(&file)?) {
                if !exists(&file, &name) {
                    let what = format!("{path}:{number} names `{name}`, which does not exist");
                    faults.push(Fault::new(what, "name it as it is called now, or remove it from the table"));
                }
            }
        }
    }
    Ok(faults)
}

/// What the tables of a file's first doc comment name, with the numbers of the lines.
fn named(text: &str) -> Vec<(usize, String)> {
    let (mut column, mut names) = (None, Vec::new());
    for (line, number) in text.lines().zip(1..) {
        let Some(row) = line.strip_prefix("//! |") else {
            column = None;
            continue;
        };
        let cells: Vec<&str> = row.trim_end_matches('|').split('|').map(str::trim).collect();
        match column {
            None => column = Some(cells.iter().position(|cell| COLUMNS.contains(cell))),
            Some(Some(column)) => {
                let quoted = cells.get(column).into_iter().flat_map(|cell| cell.split('`').skip(1).step_by(2));
                names.extend(quoted.map(|name| (number, name.to_owned())));
            }
            Some(None) => {}
        }
    }
    names
}

/// Whether a file, a folder or a module of this name is beside the source file, or in its folder.
fn exists(file: &Path, name: &str) -> bool {
    let name = name.trim_end_matches('/').replace("::", "/");
    let beside = file.with_extension("");
    [file.parent(), Some(beside.as_path())]
        .into_iter()
        .flatten()
        .any(|folder| folder.join(&name).exists() || folder.join(format!("{name}.rs")).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_from_the_column_of_files_only() {
        let text = "//! Title.\n//!\n//! | to read | file |\n//! |---|---|\n//! | `x` | `a.rs`, `b/` |\n//!\n\
                    //! | method | result |\n//! |---|---|\n//! | `auth` | `no.rs` |\n";
        assert_eq!(named(text), [(5, "a.rs".to_owned()), (5, "b/".to_owned())]);
    }

    #[test]
    fn a_missing_file_is_noticed() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/main.rs");
        assert!(exists(&here, "maps.rs") && exists(&here, "maps") && !exists(&here, "mops.rs"));
    }
}
