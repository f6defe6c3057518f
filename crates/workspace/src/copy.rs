//! Copies of a workspace in which candidates work, and what each changed in its copy.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use updraft_run::{ContentHash, Failure, FailureKind};

use super::{
    HiddenFiles, LinkPolicy, OpenMode, PathKind, Stamp, Walk, WalkEntry, Workspace, WorkspacePath, disk,
    is_draft_of_any,
};
use crate::atomic::taken_in;

/// Most files and folders of a workspace that is copied.
const MOST_FILES: usize = 200_000;
/// If all files together have more bytes than this, those that git ignores are left out: they can be built again.
const MOST_BYTES: u64 = 2 << 30;

/// A copy of a workspace, and the state of the workspace when the copy was made.
pub struct WorkspaceCopy {
    /// The copy.
    pub workspace: Workspace,
    base: CopyBase,
}

/// The files that a copy began with. Files that git ignores are not listed: their changes are never applied.
#[derive(Default, Serialize, Deserialize)]
struct CopyBase {
    /// The workspace it is a copy of.
    workspace: PathBuf,
    files: BTreeMap<String, ContentHash>,
}

/// A file that is different in a copy.
#[derive(Debug, PartialEq, Eq)]
pub struct CopyChange {
    /// Its path.
    pub path: WorkspacePath,
    /// Its hash when the copy was made; `None` if there was no such file.
    pub base: Option<ContentHash>,
    /// Its content in the copy; `None` if it is gone.
    pub content: Option<Vec<u8>>,
    /// Its permissions in the copy.
    pub mode: u32,
}

impl WorkspaceCopy {
    /// Copies a workspace to the folder `to`, outside of it. If the folder exists, it was copied before, and nothing
    /// is done: a copy becomes visible only when it is complete.
    pub fn make(from: &Workspace, to: &Path) -> Result<(), Failure> {
        if to.is_dir() {
            return Ok(());
        }
        copy_to(from, to).map_err(|error| {
            Failure::new(
                FailureKind::Config,
                format!("the workspace could not be copied to `{}`: {error}", to.display()),
            )
        })
    }

    /// Opens a copy of this workspace.
    pub fn open(at: &Path, of: &Workspace) -> Result<Self, Failure> {
        let failed = |why: String| Failure::new(FailureKind::Tool, why);
        let base = fs::read(base_file(at)).ok().and_then(|bytes| serde_json::from_slice::<CopyBase>(&bytes).ok());
        let base = base.ok_or_else(|| failed(format!("there is no candidate in `{}`", at.display())))?;
        if base.workspace != of.root() {
            return Err(failed(format!("`{}` is a copy of another workspace", at.display())));
        }
        let workspace = Workspace::open(at).map_err(|error| failed(error.to_string()))?;
        Ok(Self { workspace, base })
    }

    /// The files that are different now from what they were when the copy was made, by path. A file of more than `most`
    /// bytes is a failure.
    pub fn changes(&self, most: usize) -> Result<Vec<CopyChange>, Failure> {
        let mut changes = Vec::new();
        let mut gone = self.base.files.clone();
        for path in listed(&self.workspace)? {
            let base = gone.remove(path.as_str());
            let (file, Stamp { mode, len, .. }) = self.workspace.open_file(&path, LinkPolicy::Never)?;
            let unread = |error| super::failure(&path, &error);
            let (hash, content) = taken_in(file, most).map_err(unread)?;
            if Some(hash) == base {
                continue;
            }
            if content.is_none() {
                let why = format!("`{path}` has {len} bytes; files of more than {most} are not applied");
                return Err(Failure::new(FailureKind::Tool, why));
            }
            changes.push(CopyChange { path, base, content, mode: mode & 0o777 });
        }
        for (path, base) in gone {
            let path = self.workspace.locate(&path)?;
            changes.push(CopyChange { path, base: Some(base), content: None, mode: 0 });
        }
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(changes)
    }
}

/// Beside the copy, so that the candidate does not see it.
fn base_file(copy: &Path) -> PathBuf {
    let mut name = copy.as_os_str().to_owned();
    name.push(".base.json");
    name.into()
}

/// The files that git does not ignore, without links.
fn listed(workspace: &Workspace) -> Result<Vec<WorkspacePath>, Failure> {
    let mut walk = Walk::new(workspace, &WorkspacePath::root(), true, HiddenFiles::Shown, MOST_FILES)?;
    let files = walk.by_ref().filter_map(|entry| match entry {
        WalkEntry::File { path, is_link: false, .. } => Some(path),
        WalkEntry::File { .. } | WalkEntry::Folder(_) => None,
    });
    let files: Vec<WorkspacePath> = files.filter(|path| !is_draft_of_any(path.as_str())).collect();
    if walk.is_cut() {
        let why = format!("the workspace has more than {MOST_FILES} files, so it is not copied for candidates");
        return Err(Failure::new(FailureKind::Config, why));
    }
    Ok(files)
}

fn copy_to(from: &Workspace, to: &Path) -> io::Result<()> {
    let refused = |failure: Failure| io::Error::other(failure.message);
    let (Some(parent), Some(name)) = (to.parent(), to.file_name()) else { return Err(ErrorKind::InvalidInput.into()) };
    fs::create_dir_all(parent)?;
    let mut draft = std::ffi::OsString::from(".draft-");
    draft.push(name);
    let draft = parent.join(draft);
    match fs::remove_dir_all(&draft) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => fs::create_dir(&draft)?,
    }
    let listed = listed(from).map_err(refused)?;
    let survey = from.survey(MOST_FILES);
    let bytes: u64 = survey.stamps.values().filter(|stamp| stamp.kind == PathKind::File).map(|stamp| stamp.len).sum();
    let takes_all = !survey.is_cut && bytes <= MOST_BYTES;
    for (path, stamp) in &survey.stamps {
        let Ok(path) = std::str::from_utf8(path) else { continue };
        let is_wanted = takes_all || path == ".git" || path.starts_with(".git/");
        if is_wanted {
            copy_entry(from, path, stamp, &draft)?;
        }
    }
    let mut base = CopyBase { workspace: from.root().to_owned(), ..CopyBase::default() };
    for path in listed {
        let target = draft.join(path.as_str());
        if !takes_all {
            let Ok(stamp) = from.about(&path, LinkPolicy::Never) else { continue };
            target.parent().map_or(Ok(()), fs::create_dir_all)?;
            copy_entry(from, path.as_str(), &stamp, &draft)?;
        }
        // The hash of what was copied: the file may have changed since it was listed, or be gone.
        if let Ok(copied) = File::open(&target) {
            base.files.insert(path.to_string(), taken_in(copied, 0)?.0);
        }
    }
    fs::write(base_file(to), serde_json::to_vec(&base)?)?;
    fs::rename(&draft, to)
}

/// Copies one file, folder or link. What disappears meanwhile is left out, and so are pipes, sockets and devices.
fn copy_entry(from: &Workspace, path: &str, stamp: &Stamp, to: &Path) -> io::Result<()> {
    let target = to.join(path);
    match stamp.kind {
        PathKind::Folder => fs::create_dir_all(&target),
        PathKind::File => {
            let mut source = match from.folder().file(path, OpenMode::Read, LinkPolicy::Never) {
                Ok(source) => source,
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) => {
                    return Ok(());
                }
                Err(error) => return Err(error),
            };
            let mut copied = File::create(&target)?;
            io::copy(&mut source, &mut copied)?;
            // Build tools compare the times of files.
            let modified = u64::try_from(stamp.modified).unwrap_or_default();
            copied.set_modified(UNIX_EPOCH + Duration::from_nanos(modified))?;
            // The copy must be writable, and removable.
            disk::set_mode(&copied, (stamp.mode & 0o777) | 0o600)
        }
        // A link that leads out of the workspace would lead out of the copy too.
        PathKind::Link => match fs::read_link(from.root().join(path)) {
            Ok(link) if link.is_relative() => make_link(&link, &target),
            Ok(_) | Err(_) => Ok(()),
        },
        PathKind::Pipe | PathKind::Socket | PathKind::Device | PathKind::Unknown => Ok(()),
    }
}

#[cfg(unix)]
fn make_link(link: &Path, at: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(link, at)
}

/// Untested. Links are left out, because making them needs a right that few users have.
#[cfg(not(unix))]
fn make_link(_: &Path, _: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(folder: &Path, name: &str, content: &str) {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    #[test]
    fn a_copy_has_every_file_and_knows_what_was_changed_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let (work, copy) = (folder.path().join("work"), folder.path().join("copies/run/step"));
        put(&work, "src/a.txt", "a\n");
        put(&work, "b.txt", "b\n");
        put(&work, "c.txt", "c\n");
        put(&work, ".gitignore", "target\n");
        put(&work, "target/built", "x\n");
        put(&work, ".git/HEAD", "ref: refs/heads/main\n");
        let workspace = Workspace::open(&work).unwrap();
        WorkspaceCopy::make(&workspace, &copy).unwrap();
        for name in ["src/a.txt", "target/built", ".git/HEAD"] {
            assert_eq!(fs::read(copy.join(name)).unwrap(), fs::read(work.join(name)).unwrap(), "{name}");
        }
        let opened = WorkspaceCopy::open(&copy, &workspace).unwrap();
        assert_eq!(opened.changes(100).unwrap(), []);

        put(&copy, "src/a.txt", "A\n");
        put(&copy, "new/d.txt", "d\n");
        fs::remove_file(copy.join("c.txt")).unwrap();
        put(&copy, "target/built", "y\n");
        let changes = opened.changes(100).unwrap();
        let told: Vec<_> =
            changes.iter().map(|one| (one.path.as_str(), one.base.is_some(), one.content.is_some())).collect();
        assert_eq!(told, [("c.txt", true, false), ("new/d.txt", false, true), ("src/a.txt", true, true)]);
        // A second call finds the copy, with what was changed in it.
        WorkspaceCopy::make(&workspace, &copy).unwrap();
        assert_eq!(fs::read(copy.join("src/a.txt")).unwrap(), b"A\n");
        assert_eq!(fs::read(work.join("src/a.txt")).unwrap(), b"a\n");
    }

    #[test]
    fn a_copy_that_was_cut_off_is_made_again_and_one_of_another_folder_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (work, other) = (folder.path().join("work"), folder.path().join("other"));
        put(&work, "a.txt", "a\n");
        put(&other, "a.txt", "a\n");
        put(&folder.path().join("copies"), ".draft-step/half", "x");
        let (workspace, copy) = (Workspace::open(&work).unwrap(), folder.path().join("copies/step"));
        WorkspaceCopy::make(&workspace, &copy).unwrap();
        let names: Vec<_> = fs::read_dir(&copy).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["a.txt"]);
        assert!(WorkspaceCopy::open(&copy, &Workspace::open(&other).unwrap()).is_err());
    }
}
