//! Applies one file, link, pipe or socket, and keeps what it replaces.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;

use super::super::stage::times;
use super::{ChangeApplier, UpperEntry, changed, exchange, is_folder, shown};
use crate::staged::StagedChange;

/// Larger files count as changed without reading both.
const COMPARED: i64 = 8 << 20;
/// Most bytes copied for undo in total, if files cannot be moved.
const COPIED: u64 = 64 << 20;

impl ChangeApplier {
    pub(super) fn file(&mut self, entry: &UpperEntry<'_>) -> io::Result<()> {
        let UpperEntry { path, name, upper, ws, ref is } = *entry;
        let was = rustix::fs::statat(ws, name, AtFlags::SYMLINK_NOFOLLOW).ok();
        if let Some(was) = was.filter(|was| is_same(upper, is, ws, was, name)) {
            return self.touch(path, is, ws, &was, name);
        }
        if self.is_full && FileType::from_raw_mode(is.st_mode) == FileType::RegularFile {
            self.lost += 1;
            self.tell(|| format!("`{}` may be cut short: the disk was full when the command ended", shown(path)));
        }
        strip(upper, is, name);
        let change = changed(self.since, path, was.as_ref(), Some(is));
        if self.same_disk {
            self.change(change, |apply, number| apply.trade(upper, ws, name, was.as_ref(), number))?;
            // Not every file system updates the change time on a rename, by which other commands notice the change.
            let _ = rustix::fs::utimensat(ws, name, &times(is), AtFlags::SYMLINK_NOFOLLOW);
            return Ok(());
        }
        // Copy first: until the copy is complete, the existing file stays.
        let beside = SiblingCopy::copy(upper, is, ws, name)?;
        self.change(change, |apply, number| {
            let kept = was.as_ref().and_then(|was| apply.keep(ws, name, was, number));
            beside.put(name).inspect_err(|_| apply.forget(kept))?;
            Ok(kept)
        })
    }

    /// Applies mode and times if the content is the same.
    fn touch(&mut self, path: &Path, is: &Stat, ws: &OwnedFd, was: &Stat, name: &OsStr) -> io::Result<()> {
        if is.st_mode != was.st_mode {
            let change = changed(self.since, path, Some(was), Some(is));
            self.change(StagedChange { has_same_content: true, ..change }, |_, _| {
                rustix::fs::chmodat(ws, name, Mode::from_raw_mode(is.st_mode & 0o7777), AtFlags::empty())?;
                Ok(None)
            })?;
        }
        // Build tools rely on the modification time.
        let _ = rustix::fs::utimensat(ws, name, &times(is), AtFlags::SYMLINK_NOFOLLOW);
        Ok(())
    }

    /// Moves the new file into place and the old one out of it.
    fn trade(
        &self,
        upper: &OwnedFd,
        ws: &OwnedFd,
        name: &OsStr,
        was: Option<&Stat>,
        number: u64,
    ) -> io::Result<Option<u64>> {
        if was.is_none() {
            match rustix::fs::renameat_with(upper, name, ws, name, RenameFlags::NOREPLACE) {
                Ok(()) => return Ok(None),
                // Another program has just created one too, or the file system does not support such a rename.
                Err(Errno::EXIST | Errno::INVAL) => {}
                Err(error) => return Err(error.into()),
            }
        }
        match exchange(upper, name, ws) {
            // The old file is now where the new one was. If it cannot be moved on, the change is made but cannot be
            // undone.
            Ok(()) => Ok(self.set_aside(upper, name, number).ok().flatten()),
            Err(Errno::INVAL | Errno::NOENT) => {
                let kept = self.hold(ws, name, number)?;
                let put = rustix::fs::renameat(upper, name, ws, name);
                if put.is_err() && kept.is_some() {
                    rustix::fs::renameat(&self.before, number.to_string(), ws, name)?;
                    self.forget(kept);
                }
                put?;
                Ok(kept)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// If two files cannot be exchanged: gives the old one a hard link, so that it stays until the new one replaces
    /// it. If a hard link is not possible, the old file is moved away.
    fn hold(&self, ws: &OwnedFd, name: &OsStr, number: u64) -> io::Result<Option<u64>> {
        match rustix::fs::linkat(ws, name, &self.before, number.to_string(), AtFlags::empty()) {
            Ok(()) => Ok(Some(number)),
            Err(Errno::NOENT) => Ok(None),
            Err(_) => self.set_aside(ws, name, number),
        }
    }

    fn set_aside(&self, from: &OwnedFd, name: &OsStr, number: u64) -> io::Result<Option<u64>> {
        match rustix::fs::renameat(from, name, &self.before, number.to_string()) {
            Ok(()) => Ok(Some(number)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes a file or link from the workspace, and returns the number under which it is kept.
    pub(super) fn take_out(&mut self, ws: &OwnedFd, name: &OsStr, was: &Stat, number: u64) -> io::Result<Option<u64>> {
        if self.same_disk {
            return self.set_aside(ws, name, number);
        }
        let kept = self.keep(ws, name, was, number);
        rustix::fs::unlinkat(ws, name, AtFlags::empty()).inspect_err(|_| self.forget(kept))?;
        Ok(kept)
    }

    /// Copies the previous content, if there is room for it.
    fn keep(&mut self, ws: &OwnedFd, name: &OsStr, was: &Stat, number: u64) -> Option<u64> {
        let size = was.st_size.cast_unsigned();
        if self.copied + size > COPIED {
            return None;
        }
        self.copied += size;
        copy(ws, was, name, &self.before, OsStr::new(&number.to_string())).is_ok().then_some(number)
    }

    fn forget(&self, kept: Option<u64>) {
        if let Some(number) = kept {
            let _ = rustix::fs::unlinkat(&self.before, number.to_string(), AtFlags::empty());
        }
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

/// Removes the attributes that the overlay set on a file for itself.
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

/// A copy in the workspace next to its final place. Removed unless it is put there.
struct SiblingCopy<'a> {
    folder: &'a OwnedFd,
    name: String,
}

impl<'a> SiblingCopy<'a> {
    fn copy(upper: &OwnedFd, is: &Stat, ws: &'a OwnedFd, name: &OsStr) -> io::Result<SiblingCopy<'a>> {
        let beside = format!(".updraft-{:x}-{:x}.tmp", std::process::id(), is.st_ino);
        let _ = rustix::fs::unlinkat(ws, &beside, AtFlags::empty());
        copy(upper, is, name, ws, OsStr::new(&beside))?;
        Ok(SiblingCopy { folder: ws, name: beside })
    }

    /// Renames it atomically, replacing what is there.
    fn put(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::renameat(self.folder, &self.name, self.folder, name)?)
    }
}

impl Drop for SiblingCopy<'_> {
    fn drop(&mut self) {
        // Nothing has that name any more once it is in place.
        let _ = rustix::fs::unlinkat(self.folder, &self.name, AtFlags::empty());
    }
}

/// Copies a file or link with its mode and times, completely or not at all.
fn copy(from: &OwnedFd, is: &Stat, name: &OsStr, to: &OwnedFd, target: &OsStr) -> io::Result<()> {
    let done = try_copy(from, is, name, to, target);
    if done.is_err() {
        let _ = rustix::fs::unlinkat(to, target, AtFlags::empty());
    }
    done
}

fn try_copy(from: &OwnedFd, is: &Stat, name: &OsStr, to: &OwnedFd, target: &OsStr) -> io::Result<()> {
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
