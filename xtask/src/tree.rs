//! The workspace as files: where it is, what is in it, what other programs say about it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of the workspace's Cargo.toml.
pub(crate) fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// Every `.rs` file below `folder`, sorted; nothing if there is no such folder.
pub(crate) fn rust_files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for path in entries(&folder)? {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The folders of our crates: `crates/*` and `xtask`.
pub(crate) fn crate_folders(root: &Path) -> Result<Vec<PathBuf>, String> {
    let mut folders = entries(&root.join("crates"))?;
    folders.push(root.join("xtask"));
    folders.retain(|folder| folder.join("Cargo.toml").is_file());
    folders.sort();
    Ok(folders)
}

/// A path as people write it: from the root of the workspace, with `/`.
pub(crate) fn relative(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

/// The text of a file; bytes that are not UTF-8 are replaced.
pub(crate) fn read(path: &Path) -> Result<String, String> {
    let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// What a program prints when run in the workspace's root.
#[expect(clippy::disallowed_methods, reason = "cargo and git are what this tool looks at the workspace with")]
pub(crate) fn output(root: &Path, program: &str, arguments: &[&str]) -> Result<String, String> {
    let line = format!("{program} {}", arguments.join(" "));
    let output = Command::new(program)
        .args(arguments)
        .current_dir(root)
        .output()
        .map_err(|error| format!("could not start `{line}`: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("`{line}` ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim()))
}

/// What is in a folder, unsorted; nothing if there is no such folder.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let list = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    list.map(|entry| entry.map(|entry| entry.path()).map_err(|error| format!("{}: {error}", folder.display())))
        .collect()
}
