//! Reads and restores paths of the workspace, for undo. Links are never followed.

use std::io::ErrorKind;

use updraft_run::{ContentHash, Failure, FailureKind, FileMetadata};

use super::atomic::{restore_in, split, taken_in};
use super::{Folder, OpenMode, disk};
use super::{LinkPolicy, PathKind, Stamp, Workspace, WorkspacePath, failure};
use crate::hash;

/// The state and content of a path in the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathContent {
    /// The state, without the content.
    pub stamp: Stamp,
    /// Hash of a file's content, or of a link's target.
    pub hash: Option<ContentHash>,
    /// The content, unless it is larger than requested.
    pub bytes: Option<Vec<u8>>,
}

impl PathContent {
    /// The metadata as recorded, without the content.
    pub fn form(&self) -> FileMetadata {
        self.stamp.form()
    }
}

impl Workspace {
    /// The state of a path, with up to `most` bytes of its content; `None` if it does not exist.
    pub fn standing(&self, path: &WorkspacePath, most: usize) -> Result<Option<PathContent>, Failure> {
        let failed = |error| failure(path, &error);
        let Some((parent, name)) = self.parent(path)? else { return Ok(None) };
        let stamp = match parent.look(name) {
            Ok(stamp) => stamp,
            Err(error) if is_absence(error.kind()) => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let (hash, bytes) = match stamp.kind {
            PathKind::Link => {
                let target = parent.read_link(name).map_err(failed)?;
                (Some(hash(&target)), Some(target))
            }
            PathKind::File => {
                let file = parent.file(name, OpenMode::Read, LinkPolicy::Never).map_err(failed)?;
                let unread = |error| Failure::new(FailureKind::Tool, format!("`{path}` could not be read: {error}"));
                let (hash, bytes) = taken_in(file, most).map_err(unread)?;
                (Some(hash), bytes)
            }
            _ => (None, None),
        };
        Ok(Some(PathContent { stamp, hash, bytes }))
    }

    /// Writes a file, replacing a file or link that is there. Returns once it is on disk.
    pub fn put_file(&self, path: &WorkspacePath, content: &[u8], mode: u32) -> Result<(), Failure> {
        let (folder, name) = split(path)?;
        let (folder, _) = self.make_folders(&folder)?;
        let replaced = folder.look(name).ok();
        restore_in(&folder, name, content, mode, replaced.as_ref()).map_err(|error| failure(path, &error))
    }

    /// Creates a link, replacing a file or link that is there.
    pub fn put_link(&self, path: &WorkspacePath, target: &[u8]) -> Result<(), Failure> {
        self.take_away(path)?;
        let (folder, name) = split(path)?;
        let (folder, _) = self.make_folders(&folder)?;
        folder.make_link(target, name).map_err(|error| failure(path, &error))
    }

    /// Creates a folder; an existing one is unchanged.
    pub fn put_folder(&self, path: &WorkspacePath) -> Result<(), Failure> {
        self.make_folders(path).map(drop)
    }

    /// Changes the mode of a file or folder.
    pub fn set_mode(&self, path: &WorkspacePath, mode: u32) -> Result<(), Failure> {
        let opened = self.folder().file(path.as_str(), OpenMode::Read, LinkPolicy::Never);
        opened.and_then(|file| disk::set_mode(&file, mode)).map_err(|error| failure(path, &error))
    }

    /// Removes a file or a link; it is no error if it does not exist.
    pub fn take_away(&self, path: &WorkspacePath) -> Result<(), Failure> {
        let Some((parent, name)) = self.parent(path)? else { return Ok(()) };
        match parent.remove_file(name) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(failure(path, &error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Removes a folder if it is empty, and returns whether it is gone.
    pub fn take_folder(&self, path: &WorkspacePath) -> Result<bool, Failure> {
        let Some((parent, name)) = self.parent(path)? else { return Ok(true) };
        match parent.remove_folder(name).map_err(|error| (error.kind(), error)) {
            Ok(()) | Err((ErrorKind::NotFound, _)) => Ok(true),
            Err((ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists, _)) => Ok(false),
            Err((_, error)) => Err(failure(path, &error)),
        }
    }

    /// The open folder that a path is in, and the name in it; `None` if there is no such folder.
    fn parent<'a>(&self, path: &'a WorkspacePath) -> Result<Option<(Folder, &'a str)>, Failure> {
        let (folder, name) = split(path)?;
        match self.folder().folder(folder.as_str(), LinkPolicy::Never) {
            Ok(opened) => Ok(Some((opened, name))),
            Err(error) if is_absence(error.kind()) => Ok(None),
            Err(error) => Err(failure(path, &error)),
        }
    }
}

/// Whether an error means that nothing is there: the name, or a folder before it, does not exist.
fn is_absence(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory)
}
