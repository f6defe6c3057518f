//! Walking the workspace: folder by folder through descriptors, in the order of full paths, without following links.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Dir, FileType, OFlags};
use updraft_run::Failure;

use super::ignored::Ignored;
use super::{Inside, Links, Workspace, open_beneath};

/// Folders below folders: deeper ones are passed over, since each level is a descriptor held open.
const DEPTH: usize = 64;

/// What a walk comes by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A regular file, or a link to one inside the workspace.
    File {
        /// Its path.
        path: Inside,
        /// Its size.
        bytes: u64,
        /// Whether it is a link: its content stands elsewhere under its own name.
        is_link: bool,
    },
    /// A folder, or a link to one inside the workspace.
    Folder(Inside),
}

/// A walk through a folder. Entries come sorted by their full path.
pub(crate) struct Walk<'a> {
    workspace: &'a Workspace,
    /// Folders being read, the innermost last.
    open: Vec<Folder>,
    recursive: bool,
    /// How many more entries may be looked at.
    budget: usize,
    is_cut: bool,
}

struct Folder {
    path: Inside,
    fd: OwnedFd,
    ignored: Ignored,
    /// What is left of it, the next one last.
    rest: Vec<Entry>,
}

struct Entry {
    name: String,
    kind: FileType,
}

impl<'a> Walk<'a> {
    /// Begins at a folder. Rules of the folders above it count too, but a folder that is named is walked even if they
    /// would pass it over.
    pub(crate) fn new(
        workspace: &'a Workspace,
        start: &Inside,
        recursive: bool,
        budget: usize,
    ) -> Result<Self, Failure> {
        let mut ignored = Ignored::default();
        let mut above = Inside::root();
        for (depth, part) in start.parts().enumerate() {
            if let Ok(folder) = workspace.open_folder(&above, Links::Inside) {
                ignored = ignored.within(folder.as_fd(), depth);
            }
            above = above.join(part);
        }
        let mut walk = Self { workspace, open: Vec::new(), recursive, budget, is_cut: false };
        let fd = workspace.open_folder(start, Links::Inside)?;
        walk.enter(start.clone(), fd, &ignored);
        Ok(walk)
    }

    /// Whether there was more than the budget allowed to look at.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut
    }

    fn enter(&mut self, path: Inside, fd: OwnedFd, ignored: &Ignored) {
        let ignored = ignored.within(fd.as_fd(), path.parts().count());
        let mut rest = self.entries(&path, &fd, &ignored);
        // With a slash after folders, the order within a folder is that of full paths.
        rest.sort_by(|a, b| b.key().cmp(&a.key()));
        self.open.push(Folder { path, fd, ignored, rest });
    }

    /// What is in a folder and not ignored. What cannot be read, or has a name that is not text, is passed over.
    fn entries(&mut self, path: &Inside, fd: &OwnedFd, ignored: &Ignored) -> Vec<Entry> {
        let mut entries = Vec::new();
        let Ok(dir) = Dir::read_from(fd) else { return entries };
        for entry in dir {
            let Ok(entry) = entry else { break };
            let Ok(name) = entry.file_name().to_str() else { continue };
            if name == "." || name == ".." {
                continue;
            }
            if self.budget == 0 {
                self.is_cut = true;
                break;
            }
            self.budget -= 1;
            let kind = match entry.file_type() {
                FileType::Unknown => kind_of(fd, name),
                known => known,
            };
            if !ignored.covers(path.join(name).as_str(), kind.is_dir()) {
                entries.push(Entry { name: name.to_owned(), kind });
            }
        }
        entries
    }

    /// Descends into a folder, unless it is no longer one.
    fn descend(&mut self, path: &Inside, name: &str) {
        if self.open.len() >= DEPTH {
            self.is_cut = true;
            return;
        }
        let Some(above) = self.open.last() else { return };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let mode = rustix::fs::Mode::empty();
        if let Ok(fd) = open_beneath(above.fd.as_fd(), name, flags, mode, Links::Never) {
            let ignored = above.ignored.clone();
            self.enter(path.clone(), fd, &ignored);
        }
    }

    fn file(&self, path: Inside, name: &str) -> Option<Found> {
        let stat = rustix::fs::statat(&self.open.last()?.fd, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(Found::File { path, bytes: stat.st_size as u64, is_link: false })
    }

    /// What a link stands for, if that is inside.
    fn link(&self, path: Inside) -> Option<Found> {
        let stat = self.workspace.stat(&path, Links::Inside).ok()?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Some(Found::File { path, bytes: stat.st_size as u64, is_link: true }),
            FileType::Directory => Some(Found::Folder(path)),
            _ => None,
        }
    }
}

impl Iterator for Walk<'_> {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        loop {
            let folder = self.open.last_mut()?;
            let Some(Entry { name, kind }) = folder.rest.pop() else {
                self.open.pop();
                continue;
            };
            let path = folder.path.join(&name);
            let found = match kind {
                FileType::RegularFile => self.file(path, &name),
                FileType::Symlink => self.link(path),
                FileType::Directory => {
                    if self.recursive {
                        self.descend(&path, &name);
                    }
                    Some(Found::Folder(path))
                }
                _ => None,
            };
            if found.is_some() {
                return found;
            }
        }
    }
}

impl Entry {
    fn key(&self) -> impl Ord {
        let mut key = self.name.clone();
        if self.kind.is_dir() {
            key.push('/');
        }
        key
    }
}

/// The kind of an entry on file systems that do not tell with the name.
fn kind_of(folder: &OwnedFd, name: &str) -> FileType {
    rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
        .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
}
