//! File system access on Linux and other Unix systems: folders are held open as descriptors, and everything is
//! reached from them.
//!
//! On Linux the kernel itself keeps a path inside a folder (`unix/openat2.rs`). On other systems we open paths
//! component by component (`unix/by_component.rs`), which is tested only on Linux.

#![allow(clippy::unnecessary_cast, clippy::cast_lossless, reason = "systems give their numbers other widths")]

#[cfg(target_os = "linux")]
#[path = "unix/openat2.rs"]
mod beneath;
#[cfg(not(target_os = "linux"))]
#[path = "unix/by_component.rs"]
mod beneath;
#[cfg(all(test, target_os = "linux"))]
mod by_component;

use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use rustix::fs::{AtFlags, Dir, Gid, Mode, OFlags, RenameFlags, Uid};
use rustix::io::Errno;

use super::LinkPolicy;
use super::open_mode::OpenMode;
use super::stamp::{PathKind, Stamp};

impl OpenMode {
    fn flags(self) -> (OFlags, Mode) {
        // Without NONBLOCK, opening a pipe would wait for a writer. For a regular file the flag has no effect.
        let never_waits = OFlags::NONBLOCK | OFlags::NOCTTY;
        match self {
            OpenMode::Read => (OFlags::RDONLY | never_waits, Mode::empty()),
            OpenMode::Append(mode) => (OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | never_waits, bits(mode)),
            OpenMode::New(mode) => (OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL, bits(mode)),
        }
    }
}

fn bits(mode: u32) -> Mode {
    Mode::from_raw_mode(mode as rustix::fs::RawMode)
}

/// An open folder. It stays the same folder even if its name changes or is reused.
#[derive(Debug)]
pub struct Folder(File);

impl Folder {
    /// Opens a folder by its absolute path.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(File::from(rustix::fs::open(path, flags, Mode::empty())?)))
    }

    /// Opens a file inside the folder. Never blocks, whatever kind of file it is.
    pub fn file(&self, path: impl AsRef<Path>, how: OpenMode, links: LinkPolicy) -> io::Result<File> {
        let (flags, mode) = how.flags();
        Ok(File::from(beneath::open(self.fd(), path.as_ref(), flags | OFlags::CLOEXEC, mode, links)?))
    }

    /// Opens a folder inside the folder.
    pub fn folder(&self, path: impl AsRef<Path>, links: LinkPolicy) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(File::from(beneath::open(self.fd(), path.as_ref(), flags, Mode::empty(), links)?)))
    }

    /// The stamp of a path inside the folder, without opening it.
    pub fn about(&self, path: impl AsRef<Path>, links: LinkPolicy) -> io::Result<Stamp> {
        Ok(Stamp::of(&beneath::stat(self.fd(), path.as_ref(), links)?))
    }

    /// The stamp of an entry of the folder; of a link, that of the link itself.
    pub fn look(&self, name: impl AsRef<Path>) -> io::Result<Stamp> {
        Ok(Stamp::of(&rustix::fs::statat(&self.0, name.as_ref(), AtFlags::SYMLINK_NOFOLLOW)?))
    }

    /// The stamp of the folder itself.
    pub fn itself(&self) -> io::Result<Stamp> {
        stamp_of(&self.0)
    }

    /// The target of a link in the folder.
    pub fn read_link(&self, name: &str) -> io::Result<Vec<u8>> {
        Ok(rustix::fs::readlinkat(&self.0, name, Vec::new())?.into_bytes())
    }

    /// Creates a link.
    pub fn make_link(&self, target: &[u8], name: &str) -> io::Result<()> {
        Ok(rustix::fs::symlinkat(target, &self.0, name)?)
    }

    /// Creates a folder.
    pub fn make_folder(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&self.0, name, bits(0o777))?)
    }

    /// Renames a file within the folder. An existing file is replaced only if `may_replace` is set.
    pub fn rename(&self, from: &str, to: &str, may_replace: bool) -> io::Result<()> {
        let flags = if may_replace { RenameFlags::empty() } else { RenameFlags::NOREPLACE };
        match rustix::fs::renameat_with(&self.0, from, &self.0, to, flags) {
            // Some file systems do not support flags.
            Err(Errno::INVAL) => Ok(rustix::fs::renameat(&self.0, from, &self.0, to)?),
            other => Ok(other?),
        }
    }

    /// Removes a file or a link.
    pub fn remove_file(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// Removes an empty folder.
    pub fn remove_folder(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::REMOVEDIR)?)
    }

    /// All entries of the folder. The kind is not always known.
    pub fn entries(&self) -> io::Result<impl Iterator<Item = io::Result<(OsString, PathKind)>>> {
        let all = Dir::read_from(&self.0)?.map(|entry| {
            let entry = entry?;
            Ok((OsStr::from_bytes(entry.file_name().to_bytes()).to_owned(), PathKind::of(entry.file_type())))
        });
        Ok(all.filter(|entry: &io::Result<(OsString, PathKind)>| {
            !entry.as_ref().is_ok_and(|(name, _)| name == "." || name == "..")
        }))
    }

    /// Takes the folder's lock, which is held until the folder is closed. Returns false if another process or another
    /// open handle has it.
    pub fn try_lock(&self) -> io::Result<bool> {
        match self.0.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Syncs the names in the folder to disk.
    pub fn sync(&self) -> io::Result<()> {
        self.0.sync_all()
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The stamp of an open file.
pub fn stamp_of(file: &File) -> io::Result<Stamp> {
    Ok(Stamp::of(&rustix::fs::fstat(file)?))
}

/// Whether a process with this id exists.
pub(crate) fn is_running(process: u32) -> bool {
    let Some(pid) = i32::try_from(process).ok().and_then(rustix::process::Pid::from_raw) else { return false };
    // Any answer other than "no such process" means that it exists.
    rustix::process::test_kill_process(pid) != Err(Errno::SRCH)
}

/// Sets the mode of a file.
pub(crate) fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    Ok(rustix::fs::fchmod(file, bits(mode))?)
}

/// Gives a file the same owner as another, if permitted: only root may do that.
pub(crate) fn give(file: &File, to_owner_of: &Stamp) {
    let (user, group) = to_owner_of.owner;
    let _ = rustix::fs::fchown(file, Some(Uid::from_raw(user)), Some(Gid::from_raw(group)));
}

/// The bytes of a link's target.
pub fn bytes_of(path: OsString) -> Vec<u8> {
    path.into_vec()
}

/// Whether the error means that the path has a link that is not followed.
pub(crate) fn met_a_link(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::LOOP)
}

/// Whether the error means that it cannot be opened like a file.
pub(crate) fn met_a_device(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::NXIO)
}

/// Whether the error means that the kernel is too old to keep a path inside a folder.
pub(crate) fn met_an_old_kernel(error: &io::Error) -> bool {
    cfg!(target_os = "linux") && Errno::from_io_error(error) == Some(Errno::NOSYS)
}

#[cfg(test)]
mod tests;
