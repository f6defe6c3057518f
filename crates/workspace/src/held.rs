//! The disk on Linux and other Unix systems: folders held open as descriptors, and everything reached from one of them.
//!
//! On Linux the kernel itself keeps a path beneath a folder (`held/kernel.rs`), elsewhere we go part by part
//! (`held/parts.rs`), which is untested but on Linux.

#![allow(clippy::unnecessary_cast, clippy::cast_lossless, reason = "systems give their numbers other widths")]

#[cfg(target_os = "linux")]
#[path = "held/kernel.rs"]
mod beneath;
#[cfg(not(target_os = "linux"))]
#[path = "held/parts.rs"]
mod beneath;
#[cfg(all(test, target_os = "linux"))]
mod parts;

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
        // Without NONBLOCK the open of a pipe would wait for a writer. For a regular file it means nothing.
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

/// An open folder. It stays the same one, whatever becomes of its name.
#[derive(Debug)]
pub struct Folder(File);

impl Folder {
    /// Opens a folder by its path from the root.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(File::from(rustix::fs::open(path, flags, Mode::empty())?)))
    }

    /// Opens a file beneath. Never waits, whatever it is.
    pub fn file(&self, path: impl AsRef<Path>, how: OpenMode, links: LinkPolicy) -> io::Result<File> {
        let (flags, mode) = how.flags();
        Ok(File::from(beneath::open(self.fd(), path.as_ref(), flags | OFlags::CLOEXEC, mode, links)?))
    }

    /// Opens a folder beneath.
    pub fn folder(&self, path: impl AsRef<Path>, links: LinkPolicy) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(File::from(beneath::open(self.fd(), path.as_ref(), flags, Mode::empty(), links)?)))
    }

    /// What is beneath at a path, without opening it.
    pub fn about(&self, path: impl AsRef<Path>, links: LinkPolicy) -> io::Result<Stamp> {
        Ok(Stamp::of(&beneath::stat(self.fd(), path.as_ref(), links)?))
    }

    /// What has this name in the folder, be it a link itself.
    pub fn look(&self, name: impl AsRef<Path>) -> io::Result<Stamp> {
        Ok(Stamp::of(&rustix::fs::statat(&self.0, name.as_ref(), AtFlags::SYMLINK_NOFOLLOW)?))
    }

    /// What the folder itself is.
    pub fn itself(&self) -> io::Result<Stamp> {
        stamp_of(&self.0)
    }

    /// Where a link in the folder leads.
    pub fn read_link(&self, name: &str) -> io::Result<Vec<u8>> {
        Ok(rustix::fs::readlinkat(&self.0, name, Vec::new())?.into_bytes())
    }

    /// Makes a link.
    pub fn make_link(&self, target: &[u8], name: &str) -> io::Result<()> {
        Ok(rustix::fs::symlinkat(target, &self.0, name)?)
    }

    /// Makes a folder.
    pub fn make_folder(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&self.0, name, bits(0o777))?)
    }

    /// Gives a file another name in the folder. What is there already is replaced only if it may be.
    pub fn rename(&self, from: &str, to: &str, may_replace: bool) -> io::Result<()> {
        let flags = if may_replace { RenameFlags::empty() } else { RenameFlags::NOREPLACE };
        match rustix::fs::renameat_with(&self.0, from, &self.0, to, flags) {
            // Some file systems know no flags.
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

    /// Everything in the folder. The kind is not always told.
    pub fn entries(&self) -> io::Result<impl Iterator<Item = io::Result<(OsString, PathKind)>>> {
        let all = Dir::read_from(&self.0)?.map(|entry| {
            let entry = entry?;
            Ok((OsStr::from_bytes(entry.file_name().to_bytes()).to_owned(), PathKind::of(entry.file_type())))
        });
        Ok(all.filter(|entry: &io::Result<(OsString, PathKind)>| {
            !entry.as_ref().is_ok_and(|(name, _)| name == "." || name == "..")
        }))
    }

    /// Takes the folder's lock, which lasts until it is closed; false if another process or another opened folder has it.
    pub fn try_lock(&self) -> io::Result<bool> {
        match self.0.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Asks the disk to keep the names in the folder.
    pub fn sync(&self) -> io::Result<()> {
        self.0.sync_all()
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// What an open file is.
pub fn stamp_of(file: &File) -> io::Result<Stamp> {
    Ok(Stamp::of(&rustix::fs::fstat(file)?))
}

/// Whether a process of this number is there.
pub(crate) fn is_running(process: u32) -> bool {
    let Some(pid) = i32::try_from(process).ok().and_then(rustix::process::Pid::from_raw) else { return false };
    // Anything but "no such process" is a sign of life.
    rustix::process::test_kill_process(pid) != Err(Errno::SRCH)
}

/// Gives a file the mode.
pub(crate) fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    Ok(rustix::fs::fchmod(file, bits(mode))?)
}

/// Gives a file the owner of another, if we may: only root may give files away.
pub(crate) fn give(file: &File, to_owner_of: &Stamp) {
    let (user, group) = to_owner_of.owner;
    let _ = rustix::fs::fchown(file, Some(Uid::from_raw(user)), Some(Gid::from_raw(group)));
}

/// The bytes of a path where a link leads.
pub fn bytes_of(path: OsString) -> Vec<u8> {
    path.into_vec()
}

/// Whether a link was in the way that is not followed.
pub(crate) fn met_a_link(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::LOOP)
}

/// Whether it is something that cannot be opened like a file.
pub(crate) fn met_a_device(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::NXIO)
}

/// Whether the kernel is too old to keep a path beneath a folder.
pub(crate) fn met_an_old_kernel(error: &io::Error) -> bool {
    cfg!(target_os = "linux") && Errno::from_io_error(error) == Some(Errno::NOSYS)
}

#[cfg(test)]
mod tests;
