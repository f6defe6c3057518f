//! A workspace that lies on a folder which several machines have: it carries an id, and a mark of each of its workers, so
//! that a folder that only looks the same is noticed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::blob_folder::kept_text;
use crate::workspaces_object::WorkspaceCard;

/// The folder in the workspace that holds the marks.
const MARKS: &str = ".updraft-shared";
const ID: &str = "id";

/// The id of a shared workspace, if it has one.
pub fn shared_workspace_id(workspace: &Path) -> Option<String> {
    let id = fs::read_to_string(workspace.join(MARKS).join(ID)).ok()?;
    Some(id.trim().to_owned()).filter(|id| !id.is_empty())
}

/// The same; it gets this one if it has none.
pub fn make_shared_workspace_id(workspace: &Path, fresh: &str) -> io::Result<String> {
    fs::create_dir_all(workspace.join(MARKS))?;
    kept_text(&workspace.join(MARKS).join(ID), fresh)
}

fn mark_of(workspace: &Path, worker: &str) -> PathBuf {
    workspace.join(MARKS).join(format!("worker-{worker}"))
}

/// Leaves the mark of a worker.
pub(crate) fn leave_mark(workspace: &Path, worker: &str, machine: &str) -> io::Result<()> {
    fs::write(mark_of(workspace, worker), machine)
}

/// Says which worker of the workspace has left no mark in this folder, so that it must have another one.
pub(crate) fn without_mark<'a>(workspace: &Path, card: &'a WorkspaceCard) -> Option<&'a str> {
    let has_left = |(name, machine): (&str, &str)| {
        fs::read_to_string(mark_of(workspace, name)).is_ok_and(|mark| mark.trim() == machine)
    };
    let mut workers = card.workers.iter().map(|(name, worker)| (name.as_str(), worker.machine.as_str()));
    workers.find(|worker| !has_left(*worker)).map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspaces_object::WorkerCard;

    #[test]
    fn a_copy_of_the_folder_is_not_the_folder() {
        let (real, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        assert_eq!(shared_workspace_id(real.path()), None);
        assert_eq!(make_shared_workspace_id(real.path(), "w").unwrap(), "w");
        assert_eq!(make_shared_workspace_id(real.path(), "x").unwrap(), "w");
        make_shared_workspace_id(copy.path(), "w").unwrap();
        leave_mark(real.path(), "a", "m1").unwrap();
        let mut card = WorkspaceCard::default();
        card.workers.insert("a".into(), WorkerCard { machine: "m1".into(), ..WorkerCard::default() });
        assert_eq!(without_mark(real.path(), &card), None);
        assert_eq!(without_mark(copy.path(), &card), Some("a"));
        leave_mark(copy.path(), "a", "m0").unwrap();
        assert_eq!(without_mark(copy.path(), &card), Some("a"), "of an earlier machine");
    }
}
