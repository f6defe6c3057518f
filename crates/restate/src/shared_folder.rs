//! A workspace that lies on a folder which several machines have: it carries an id, and a mark of each of its workers, so
//! that a folder that only looks the same is noticed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::blob_folder::{kept_text, write_synced};
use crate::workspaces_object::WorkspaceCard;

/// The folder in the workspace that holds the marks.
const MARKS: &str = ".updraft-shared";
const ID: &str = "id";

/// The id of a shared workspace, if it has one.
pub fn shared_workspace_id(workspace: &Path) -> Option<String> {
    let id = fs::read_to_string(workspace.join(MARKS).join(ID)).ok()?;
    Some(id.trim().to_owned()).filter(|id| is_id(id))
}

/// The same; it gets this one if it has none.
pub fn make_shared_workspace_id(workspace: &Path, fresh: &str) -> io::Result<String> {
    let marks = workspace.join(MARKS);
    fs::create_dir_all(&marks)?;
    check_marks(&marks)?;
    let id = kept_text(&marks.join(ID), fresh)?;
    if is_id(&id) { Ok(id) } else { Err(io::Error::other(format!("`{MARKS}/{ID}` does not hold an id"))) }
}

/// Whether a text can be the id of a workspace. It is part of addresses and queries, and agents can write to the folder.
pub(crate) fn is_id(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

/// Refuses marks that would be written elsewhere: agents could have put a link there.
fn check_marks(marks: &Path) -> io::Result<()> {
    let is_folder = fs::symlink_metadata(marks)?.is_dir();
    if is_folder { Ok(()) } else { Err(io::Error::other(format!("`{MARKS}` is not a folder"))) }
}

fn mark_of(workspace: &Path, worker: &str) -> PathBuf {
    workspace.join(MARKS).join(format!("worker-{worker}"))
}

/// Leaves the mark of a worker.
pub(crate) fn leave_mark(workspace: &Path, worker: &str, machine: &str) -> io::Result<()> {
    check_marks(&workspace.join(MARKS))?;
    let mark = mark_of(workspace, worker);
    match fs::remove_file(&mark) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    write_synced(&mark, machine.as_bytes())
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

    #[cfg(unix)]
    #[test]
    fn nothing_is_written_through_links_that_agents_have_made() {
        let (work, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let victim = other.path().join("victim");
        fs::write(&victim, "mine").unwrap();
        make_shared_workspace_id(work.path(), "w").unwrap();
        std::os::unix::fs::symlink(&victim, mark_of(work.path(), "a")).unwrap();
        leave_mark(work.path(), "a", "m1").unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
        fs::remove_dir_all(work.path().join(MARKS)).unwrap();
        std::os::unix::fs::symlink(other.path(), work.path().join(MARKS)).unwrap();
        assert!(make_shared_workspace_id(work.path(), "w").is_err());
        assert!(leave_mark(work.path(), "b", "m1").is_err());
        assert!(!other.path().join("worker-b").exists());
        assert!(!is_id("x' OR '1'='1") && !is_id("../x") && !is_id("") && is_id("c436e196a607f779"));
    }
}
