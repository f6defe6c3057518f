//! Looking at what is in the workspace, and putting back what was: for undo. Links are never followed.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use updraft_run::{Failure, FailureKind, Form, FormKind, Hash};

use super::atomic::{form_of, restore_in, split, taken_in};
use super::{Inside, Links, Workspace, failure, open_beneath};
use crate::dispatch::hash;

/// What is at a path of the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// What it is, besides its content.
    pub form: Form,
    /// Hash of a file's content, or of where a link leads.
    pub hash: Option<Hash>,
    /// That content, unless it is larger than was asked for.
    pub bytes: Option<Vec<u8>>,
}

impl Workspace {
    /// What is at a path, with up to `most` bytes of its content; `None` if nothing is there.
    pub fn standing(&self, path: &Inside, most: usize) -> Result<Option<Standing>, Failure> {
        let failed = |errno| failure(path, errno);
        let Some((parent, name)) = self.parent(path)? else { return Ok(None) };
        let stat = match rustix::fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            Err(errno) => return Err(failed(errno)),
        };
        let form = form_of(&stat);
        let (hash, bytes) = match form.kind {
            FormKind::Link => {
                let target = rustix::fs::readlinkat(&parent, name, Vec::new()).map_err(failed)?.into_bytes();
                (Some(hash(&target)), Some(target))
            }
            FormKind::File => {
                let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
                let file = open_beneath(parent.as_fd(), name, flags, Mode::empty(), Links::Never).map_err(failed)?;
                let unread = |error| Failure::new(FailureKind::Tool, format!("`{path}` could not be read: {error}"));
                let (hash, bytes) = taken_in(File::from(file), most).map_err(unread)?;
                (Some(hash), bytes)
            }
            _ => (None, None),
        };
        Ok(Some(Standing { form, hash, bytes }))
    }

    /// Puts a file in its place, in place of a file or link that is there. Returns once it is on disk.
    pub fn put_file(&self, path: &Inside, content: &[u8], mode: u32) -> Result<(), Failure> {
        let (folder, name) = split(path)?;
        let (folder, _) = self.make_folders(&folder)?;
        let replaced = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).ok();
        restore_in(folder.as_fd(), name, content, mode, replaced.as_ref()).map_err(|errno| failure(path, errno))
    }

    /// Puts a link in its place, in place of a file or link that is there.
    pub fn put_link(&self, path: &Inside, target: &[u8]) -> Result<(), Failure> {
        self.take_away(path)?;
        let (folder, name) = split(path)?;
        let (folder, _) = self.make_folders(&folder)?;
        rustix::fs::symlinkat(target, &folder, name).map_err(|errno| failure(path, errno))
    }

    /// Makes a folder; one that is there stays as it is.
    pub fn put_folder(&self, path: &Inside) -> Result<(), Failure> {
        self.make_folders(path).map(drop)
    }

    /// Changes the mode of a file or folder.
    pub fn set_mode(&self, path: &Inside, mode: u32) -> Result<(), Failure> {
        let opened = self.open_at(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY, Links::Never)?;
        rustix::fs::fchmod(&opened, Mode::from_raw_mode(mode)).map_err(|errno| failure(path, errno))
    }

    /// Removes a file or a link; one that is gone is no error.
    pub fn take_away(&self, path: &Inside) -> Result<(), Failure> {
        let Some((parent, name)) = self.parent(path)? else { return Ok(()) };
        match rustix::fs::unlinkat(&parent, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(failure(path, errno)),
        }
    }

    /// Removes a folder if it is empty, and says whether it is gone.
    pub fn take_folder(&self, path: &Inside) -> Result<bool, Failure> {
        let Some((parent, name)) = self.parent(path)? else { return Ok(true) };
        match rustix::fs::unlinkat(&parent, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => Ok(true),
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
            Err(errno) => Err(failure(path, errno)),
        }
    }

    /// The folder a path lies in, opened, and the name in it; `None` if there is no such folder.
    fn parent<'a>(&self, path: &'a Inside) -> Result<Option<(OwnedFd, &'a str)>, Failure> {
        let (folder, name) = split(path)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        match open_beneath(self.dir(), folder.as_str(), flags, Mode::empty(), Links::Never) {
            Ok(opened) => Ok(Some((opened, name))),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(errno) => Err(failure(path, errno)),
        }
    }
}
