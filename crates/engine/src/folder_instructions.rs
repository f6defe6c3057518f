//! `AGENTS.md` of deeper folders: shown with the result of the first call that touches a file there, so that what was
//! told before stays as it is and the provider's cache holds. After a summary has replaced that result, it is shown again.

use std::collections::BTreeSet;
use std::path::Path;

use updraft_run::{AttachedDocument, DOCUMENTS, PreparedCall, Run, Step};

use crate::context::beginning_of;

/// How many bytes of one document are shown, and of all that go with one result.
const MOST_OF_ONE: usize = 16 * 1024;
const MOST_TOGETHER: usize = 32 * 1024;

/// The instructions for the folders that a call has touched and that its step has not been shown, outermost first. Only
/// the user's own: not in a workspace that is not trusted, and no file to which text from outside was written.
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
        let text = beginning_of(&Path::new(&run.settings().workspace).join(&path), left.min(MOST_OF_ONE));
        if let Some(text) = text.filter(|text| !text.trim().is_empty()) {
            left -= text.len();
            attached.push(AttachedDocument { path, text });
        }
    }
    attached
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
    use super::folders;

    #[test]
    fn the_folders_of_paths_come_outermost_first_and_nothing_outside() {
        let found = folders(["a/b/c.rs", "a/d", ".", "../x/y", "/etc/passwd", "a/./z"].into_iter());
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["a", "a/b", "a/b/c.rs", "a/d"]);
    }
}
