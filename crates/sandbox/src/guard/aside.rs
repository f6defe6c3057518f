//! Moves a file or folder out of the workspace, to a folder where the user can look at it.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use updraft_workspace::replace_private;

use super::scan;
use crate::protocol::{MOVED, MovedFile, MovedFileRecord};

/// Most files that are reported one by one.
pub(super) const TOLD: usize = 1_000;

/// The folder that files are moved to, created for the first one.
pub(super) struct AsideFolder {
    wanted: Option<PathBuf>,
    made: Option<PathBuf>,
    count: usize,
}

impl AsideFolder {
    pub(super) fn new(wanted: Option<&Path>) -> AsideFolder {
        AsideFolder { wanted: wanted.map(Path::to_owned), made: None, count: 0 }
    }

    /// Moves the entry at `path` below `root`, without following links, and returns its new path.
    pub(super) fn take(&mut self, root: &OwnedFd, path: &Path) -> io::Result<PathBuf> {
        let parent = scan::open(root, path.parent().unwrap_or(Path::new("")))?;
        let name = path.file_name().unwrap_or_default();
        // Checked before a folder is created for it: another program may have removed it.
        rustix::fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let folder = self.folder()?;
        self.count += 1;
        let folder = if self.count > TOLD { self.more(&folder)? } else { folder };
        let kept_at = folder.join(format!("{}-{}", self.count, name.to_string_lossy()));
        let moved = match rustix::fs::renameat(&parent, name, CWD, &kept_at) {
            Err(Errno::ACCESS) => {
                unlock(&parent, name)?;
                rustix::fs::renameat(&parent, name, CWD, &kept_at)
            }
            other => other,
        };
        match moved {
            Ok(()) => {}
            Err(Errno::XDEV) => {
                copy(parent.as_fd(), name, CWD, &kept_at)?;
                remove(parent.as_fd(), name)?;
            }
            Err(error) => return Err(error.into()),
        }
        Ok(kept_at)
    }

    /// The folder for files that are not reported one by one.
    fn more(&self, folder: &Path) -> io::Result<PathBuf> {
        let more = folder.join("more");
        if self.count == TOLD + 1 {
            std::fs::create_dir(&more)?;
        }
        Ok(more)
    }

    /// A message about the number of files that are not reported one by one.
    pub(super) fn untold(&self) -> Option<String> {
        let folder = self.made.as_ref().filter(|_| self.count > TOLD)?;
        let more = self.count - TOLD;
        Some(format!("{more} more files that would run later were moved to `{}`", folder.join("more").display()))
    }

    /// Records next to the moved files where they came from, because the process that requested the command may end
    /// first.
    pub(super) fn write_down(&self, moved: &[MovedFile]) -> io::Result<()> {
        let Some(folder) = &self.made else { return Ok(()) };
        let all: Vec<MovedFileRecord> = moved.iter().filter_map(|one| MovedFileRecord::of(one, "unknown")).collect();
        replace_private(&folder.join(MOVED), &serde_json::to_vec(&all)?)
    }

    /// A new folder for each command, so that names never collide.
    fn folder(&mut self) -> io::Result<PathBuf> {
        if let Some(made) = &self.made {
            return Ok(made.clone());
        }
        let mut builder = tempfile::Builder::new();
        builder.prefix("updraft-aside-").disable_cleanup(true);
        let made = match &self.wanted {
            Some(wanted) => {
                std::fs::create_dir_all(wanted)?;
                builder.tempdir_in(wanted)?
            }
            None => builder.tempdir()?,
        };
        Ok(self.made.insert(made.keep()).clone())
    }
}

/// Restores the owner's rights to a folder, or its parent, that a command made unchangeable.
fn unlock(parent: &OwnedFd, name: &OsStr) -> io::Result<()> {
    scan::allow_owner(parent)?;
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match rustix::fs::openat(parent, name, flags, Mode::empty()) {
        Ok(folder) => Ok(scan::allow_owner(&folder)?),
        Err(Errno::NOTDIR | Errno::LOOP) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Copies a file, link or folder to another file system. Sockets and pipes are not copied: they run nothing.
fn copy(from: impl AsFd, name: &OsStr, to: impl AsFd, target: &Path) -> io::Result<()> {
    let stat = rustix::fs::statat(&from, name, AtFlags::SYMLINK_NOFOLLOW)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Symlink => {
            let link = rustix::fs::readlinkat(&from, name, Vec::new())?;
            Ok(rustix::fs::symlinkat(&link, to, target)?)
        }
        FileType::RegularFile => {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
            let source = rustix::fs::openat(&from, name, flags, Mode::empty())?;
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let target = rustix::fs::openat(&to, target, flags, Mode::from_raw_mode(0o600))?;
            io::copy(&mut std::fs::File::from(source), &mut std::fs::File::from(target)).map(drop)
        }
        FileType::Directory => {
            rustix::fs::mkdirat(&to, target, Mode::from_raw_mode(0o700))?;
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let source = rustix::fs::openat(&from, name, flags, Mode::empty())?;
            let made = rustix::fs::openat(&to, target, flags, Mode::empty())?;
            for name in names(&source)? {
                copy(&source, &name, &made, Path::new(&name))?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn remove(from: impl AsFd, name: &OsStr) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(folder) = rustix::fs::openat(&from, name, flags, Mode::empty()) else {
        return Ok(rustix::fs::unlinkat(from, name, AtFlags::empty())?);
    };
    for inner in names(&folder)? {
        remove(&folder, &inner)?;
    }
    Ok(rustix::fs::unlinkat(from, name, AtFlags::REMOVEDIR)?)
}

/// The names in a folder.
pub(crate) fn names(folder: &OwnedFd) -> io::Result<Vec<std::ffi::OsString>> {
    use std::os::unix::ffi::OsStrExt;
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let name = OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned();
        if name != "." && name != ".." {
            names.push(name);
        }
    }
    Ok(names)
}
