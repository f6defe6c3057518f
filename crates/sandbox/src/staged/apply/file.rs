//! One file, link, pipe or socket: into its place, and what was there out of it.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;

use super::super::stage::times;
use super::{Apply, exchange, is_folder};

/// Larger files are taken as changed without reading both.
const COMPARED: i64 = 8 << 20;
/// What is copied for undo in all, where nothing can be moved.
const COPIED: u64 = 64 << 20;

impl Apply {
    pub(super) fn file(
        &mut self,
        path: &Path,
        (upper, is): (&OwnedFd, &Stat),
        ws: &OwnedFd,
        name: &OsStr,
    ) -> io::Result<()> {
        let was = rustix::fs::statat(ws, name, AtFlags::SYMLINK_NOFOLLOW).ok();
        if let Some(was) = was.filter(|was| is_same(upper, is, ws, was, name)) {
            return self.touch(path, is, ws, &was, name);
        }
        strip(upper, is, name);
        let kept = if self.same_disk {
            self.trade(upper, ws, name, was.as_ref())?
        } else {
            let kept = was.as_ref().map(|was| self.keep(ws, name, was)).transpose()?.flatten();
            carry_over(upper, is, ws, name)?;
            kept
        };
        self.list(path, was.as_ref(), Some(is), kept);
        Ok(())
    }

    /// The content is what it was: only mode and times may be others.
    fn touch(&mut self, path: &Path, is: &Stat, ws: &OwnedFd, was: &Stat, name: &OsStr) -> io::Result<()> {
        if is.st_mode != was.st_mode {
            rustix::fs::chmodat(ws, name, Mode::from_raw_mode(is.st_mode & 0o7777), AtFlags::empty())?;
            let listed = self.changes.len();
            self.list(path, Some(was), Some(is), None);
            self.changes[listed..].iter_mut().for_each(|one| one.has_same_content = true);
        }
        // Builds go by it.
        let _ = rustix::fs::utimensat(ws, name, &times(is), AtFlags::SYMLINK_NOFOLLOW);
        Ok(())
    }

    /// Moves the new file into its place and the old one out of it.
    fn trade(&mut self, upper: &OwnedFd, ws: &OwnedFd, name: &OsStr, was: Option<&Stat>) -> io::Result<Option<u64>> {
        if was.is_none() {
            match rustix::fs::renameat_with(upper, name, ws, name, RenameFlags::NOREPLACE) {
                Ok(()) => return Ok(None),
                // Somebody has just made one too.
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        match exchange(upper, name, ws) {
            // The old one lies where the new one was.
            Ok(()) => self.set_aside(upper, name),
            Err(Errno::INVAL | Errno::NOENT) => {
                let kept = self.set_aside(ws, name)?;
                rustix::fs::renameat(upper, name, ws, name)?;
                Ok(kept)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn set_aside(&mut self, from: &OwnedFd, name: &OsStr) -> io::Result<Option<u64>> {
        self.kept += 1;
        match rustix::fs::renameat(from, name, &self.before, self.kept.to_string()) {
            Ok(()) => Ok(Some(self.kept)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes a file or link out of the workspace, and says under which number it is kept.
    pub(super) fn keep(&mut self, ws: &OwnedFd, name: &OsStr, was: &Stat) -> io::Result<Option<u64>> {
        if self.same_disk {
            return self.set_aside(ws, name);
        }
        let size = was.st_size.cast_unsigned();
        let mut kept = None;
        if self.copied + size <= COPIED {
            self.copied += size;
            self.kept += 1;
            let number = self.kept.to_string();
            kept = copy(ws, was, name, &self.before, OsStr::new(&number)).is_ok().then_some(self.kept);
        }
        rustix::fs::unlinkat(ws, name, AtFlags::empty())?;
        Ok(kept)
    }
}

/// Whether the content is the same: a file that was only opened for writing is copied up as well.
fn is_same(upper: &OwnedFd, is: &Stat, ws: &OwnedFd, was: &Stat, name: &OsStr) -> bool {
    let kind = FileType::from_raw_mode(is.st_mode);
    if kind != FileType::from_raw_mode(was.st_mode) || is.st_size != was.st_size || is_folder(was) {
        return false;
    }
    match kind {
        FileType::Symlink => {
            let target = |folder: &OwnedFd| rustix::fs::readlinkat(folder, name, Vec::new()).ok();
            target(upper).is_some_and(|one| Some(one) == target(ws))
        }
        FileType::RegularFile if is.st_size <= COMPARED => is_equal(upper, ws, name).unwrap_or(false),
        _ => false,
    }
}

fn is_equal(upper: &OwnedFd, ws: &OwnedFd, name: &OsStr) -> io::Result<bool> {
    let (mut one, mut other) = (open(upper, name)?, open(ws, name)?);
    let (mut left, mut right) = (vec![0; 64 << 10], vec![0; 64 << 10]);
    loop {
        let count = one.read(&mut left)?;
        if count == 0 {
            return Ok(other.read(&mut right)? == 0);
        }
        match other.read_exact(&mut right[..count]) {
            Ok(()) if left[..count] == right[..count] => {}
            Ok(()) | Err(_) => return Ok(false),
        }
    }
}

fn open(folder: &OwnedFd, name: &OsStr) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::openat(folder, name, flags, Mode::empty())?))
}

/// Takes off what the overlay noted on a file for itself.
fn strip(upper: &OwnedFd, is: &Stat, name: &OsStr) {
    if FileType::from_raw_mode(is.st_mode) != FileType::RegularFile {
        return;
    }
    let file = match open(upper, name) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let mode = Mode::from_raw_mode(is.st_mode & 0o7777);
            let _ = rustix::fs::chmodat(upper, name, mode | Mode::RUSR | Mode::WUSR, AtFlags::empty());
            let file = open(upper, name);
            let _ = rustix::fs::chmodat(upper, name, mode, AtFlags::empty());
            file
        }
        other => other,
    };
    let Ok(file) = file else { return };
    let mut list = vec![0; 4096];
    let Ok(count) = rustix::fs::flistxattr(&file, &mut list[..]) else { return };
    for attribute in list[..count].split(|byte| *byte == 0).filter(|one| one.starts_with(b"user.overlay.")) {
        let _ = rustix::fs::fremovexattr(&file, attribute);
    }
}

/// Puts a copy into the workspace, in one step, in place of what is there.
fn carry_over(upper: &OwnedFd, is: &Stat, ws: &OwnedFd, name: &OsStr) -> io::Result<()> {
    let beside = format!(".updraft-{:x}-{:x}.tmp", std::process::id(), is.st_ino);
    let beside = OsStr::new(&beside);
    let _ = rustix::fs::unlinkat(ws, beside, AtFlags::empty());
    copy(upper, is, name, ws, beside)?;
    Ok(rustix::fs::renameat(ws, beside, ws, name)?)
}

/// Copies a file or link with its mode and times.
fn copy(from: &OwnedFd, is: &Stat, name: &OsStr, to: &OwnedFd, target: &OsStr) -> io::Result<()> {
    match FileType::from_raw_mode(is.st_mode) {
        FileType::Symlink => {
            let link = rustix::fs::readlinkat(from, name, Vec::new())?;
            rustix::fs::symlinkat(&link, to, target)?;
        }
        FileType::RegularFile => {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let made = rustix::fs::openat(to, target, flags, Mode::from_raw_mode(0o600))?;
            let mut made = File::from(made);
            io::copy(&mut open(from, name)?, &mut made)?;
            rustix::fs::fchmod(made.as_fd(), Mode::from_raw_mode(is.st_mode & 0o7777))?;
        }
        _ => return Err(io::ErrorKind::Unsupported.into()),
    }
    let _ = rustix::fs::utimensat(to, target, &times(is), AtFlags::SYMLINK_NOFOLLOW);
    Ok(())
}
