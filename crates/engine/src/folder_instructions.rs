//! `AGENTS.md` of deeper folders: shown with the result of the first call that touches a file there, so that what was
//! told before stays as it is and the provider's cache holds. After a summary has replaced that result, it is shown again.

use std::collections::BTreeSet;
use std::path::Path;

use updraft_run::{AttachedDocument, DOCUMENTS, PreparedCall, Run, Step};

use crate::context::{beginning_of, listing};

/// How many bytes of one document are shown, and of all that go with one result.
const MOST_OF_ONE: usize = 16 * 1024;
const MOST_TOGETHER: usize = 32 * 1024;

/// The instructions for the folders that a call has touched and that its step has not been shown, outermost first. Only
/// the user's own: not in a workspace that is not trusted, no file to which text from outside was written, and none that
/// git ignores, such as those of packages.
pub(crate) fn for_call(run: &Run, step: &Step, prepared: &PreparedCall) -> Vec<AttachedDocument> {
    if !run.settings().workspace_trusted {
        return Vec::new();
    }
    let [name, _] = DOCUMENTS;
    let touched = || prepared.reads.iter().chain(&prepared.writes);
    let shown = step.documents_shown();
    let mut left = MOST_TOGETHER;
    let mut attached = Vec::new();
    for folder in folders(touched().map(String::as_str)) {
        let path = format!("{folder}/{name}");
        let is_known = shown.contains(path.as_str()) || touched().any(|touched| *touched == path);
        if is_known || left == 0 || !run.is_users_document(&path) {
            continue;
        }
        let root = Path::new(&run.settings().workspace);
        let text = beginning_of(&root.join(&path), left.min(MOST_OF_ONE));
        if let Some(text) = text.filter(|text| !text.trim().is_empty() && is_listed(root, &path)) {
            left = left.saturating_sub(text.len());
            attached.push(AttachedDocument { path, text });
        }
    }
    attached
}

/// Whether a file would be among the files of a context, were there room for all.
fn is_listed(root: &Path, path: &str) -> bool {
    let file = root.join(path);
    let wanted = file.clone();
    let walk = listing(root).filter_entry(move |entry| wanted.starts_with(entry.path())).build();
    walk.flatten().any(|entry| entry.path() == file)
}

/// The folders that paths lie in, and the paths themselves, which may be folders; outermost first, without the root.
fn folders<'a>(paths: impl Iterator<Item = &'a str>) -> BTreeSet<&'a str> {
    let mut folders = BTreeSet::new();
    for path in paths {
        let is_plain = !path.is_empty() && path.split('/').all(|part| !matches!(part, "" | "." | ".."));
        if is_plain {
            folders.extend(path.match_indices('/').map(|(at, _)| &path[..at]));
            folders.insert(path);
        }
    }
    folders
}

#[cfg(test)]
mod tests {
    use super::{Path, folders, is_listed};

    #[test]
    fn files_of_packages_and_hidden_folders_are_not_listed() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["src/deep", "node_modules/evil", ".cache/x"] {
            std::fs::create_dir_all(root.path().join(folder)).unwrap();
            std::fs::write(root.path().join(folder).join("AGENTS.md"), "x").unwrap();
        }
        std::fs::write(root.path().join(".gitignore"), "node_modules/\n").unwrap();
        let listed = |path: &str| is_listed(Path::new(root.path()), path);
        assert!(listed("src/deep/AGENTS.md") && !listed("src/deep/other.md"));
        assert!(!listed("node_modules/evil/AGENTS.md") && !listed(".cache/x/AGENTS.md"));
    }

    #[test]
    fn the_folders_of_paths_come_outermost_first_and_nothing_outside() {
        let found = folders(["a/b/c.rs", "a/d", ".", "../x/y", "/etc/passwd", "a/./z"].into_iter());
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["a", "a/b", "a/b/c.rs", "a/d"]);
    }
}
