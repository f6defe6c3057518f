//! Puts a file or a folder back where it was, using file descriptors, so that no link on the way is followed.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, RenameFlags, ResolveFlags, mkdirat, openat, openat2, renameat_with};
use rustix::io::Errno;

/// Moves the file; returns true if it had to be copied instead. An existing file is replaced only if `replaces`.
pub(super) fn back(from: &Path, target: &Path, replaces: bool) -> io::Result<bool> {
    let (Some(parent), Some(name)) = (target.parent(), target.file_name()) else {
        return Err(io::Error::other("no file can be created there"));
    };
    let parent = folder(parent)?;
    let flags = if replaces { RenameFlags::empty() } else { RenameFlags::NOREPLACE };
    match renameat_with(CWD, from, &parent, name, flags) {
        Err(Errno::XDEV) => {}
        other => return other.map(|()| false).map_err(io::Error::from),
    }
    across(from, parent.as_fd(), name, flags).map(|()| true)
}

/// Moves to another disk: copies next to the target first, so that the target is replaced completely or not at all.
fn across(from: &Path, parent: BorrowedFd<'_>, name: &OsStr, flags: RenameFlags) -> io::Result<()> {
    let beside = format!(".updraft-restore-{}", std::process::id());
    // Removes what an interrupted process with the same id may have left; nobody else uses this name.
    clear(parent, OsStr::new(&beside));
    let copied = copy(from, parent, OsStr::new(&beside));
    let moved = copied.and_then(|()| Ok(renameat_with(parent, &beside, parent, name, flags)?));
    if moved.is_err() {
        clear(parent, OsStr::new(&beside));
    }
    moved
}

/// Removes a file, or a folder with everything in it, without following links.
fn clear(parent: BorrowedFd<'_>, name: &OsStr) {
    if rustix::fs::unlinkat(parent, name, AtFlags::empty()) != Err(Errno::ISDIR) {
        return;
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    if let Ok(folder) = openat(parent, name, flags, Mode::empty()) {
        for entry in Dir::read_from(&folder).into_iter().flatten().flatten() {
            let inner = entry.file_name().to_bytes();
            if inner != b"." && inner != b".." {
                clear(folder.as_fd(), OsStr::from_bytes(inner));
            }
        }
    }
    let _ = rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR);
}

/// Whether the error means that a link was in the way.
pub(super) fn met_a_link(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::LOOP)
}

/// Opens a folder from the root on, and creates the missing parts.
fn folder(path: &Path) -> io::Result<OwnedFd> {
    let mut at = openat(CWD, "/", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    for part in path.components() {
        match part {
            Component::RootDir => {}
            Component::Normal(name) => {
                at = match within(at.as_fd(), name) {
                    Err(Errno::NOENT) => {
                        mkdirat(&at, name, Mode::from_raw_mode(0o777))?;
                        within(at.as_fd(), name)?
                    }
                    other => other?,
                }
            }
            Component::CurDir | Component::ParentDir | Component::Prefix(_) => {
                return Err(io::Error::other("its target is not an absolute path"));
            }
        }
    }
    Ok(at)
}

fn within(at: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    openat2(at, name, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty(), resolve)
}

fn copy(from: &Path, to: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    let about = from.symlink_metadata()?;
    if about.is_symlink() {
        return Ok(rustix::fs::symlinkat(std::fs::read_link(from)?, to, name)?);
    }
    if about.is_file() {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut made = File::from(openat(to, name, flags, mode(&about))?);
        return io::copy(&mut File::open(from)?, &mut made).map(drop);
    }
    if !about.is_dir() {
        return Err(io::Error::other("it is not a regular file"));
    }
    mkdirat(to, name, mode(&about))?;
    let made = within(to, name)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        copy(&entry.path(), made.as_fd(), &entry.file_name())?;
    }
    Ok(())
}

fn mode(about: &Metadata) -> Mode {
    Mode::from_raw_mode(about.permissions().mode() & 0o777)
}

#[cfg(test)]
mod tests {
    use std::fs::{create_dir, read_to_string, write};
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn missing_folders_are_made_and_nothing_is_replaced_unasked() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (from, target) = (root.join("kept"), root.join("ws/a/b"));
        write(&from, "one").unwrap();
        assert!(!back(&from, &target, false).unwrap());
        write(&from, "two").unwrap();
        assert_eq!(back(&from, &target, false).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        back(&from, &target, true).unwrap();
        assert_eq!(read_to_string(&target).unwrap(), "two");
    }

    #[test]
    fn no_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        create_dir(root.join("elsewhere")).unwrap();
        create_dir(root.join("ws")).unwrap();
        symlink(root.join("elsewhere"), root.join("ws/hooks")).unwrap();
        write(root.join("kept"), "x").unwrap();
        let error = back(&root.join("kept"), &root.join("ws/hooks/post"), false).unwrap_err();
        assert!(met_a_link(&error));
        assert!(root.join("kept").exists() && !root.join("elsewhere/post").exists());
        write(root.join("elsewhere/own"), "mine").unwrap();
        symlink(root.join("elsewhere/own"), root.join("ws/file")).unwrap();
        back(&root.join("kept"), &root.join("ws/file"), true).unwrap();
        assert_eq!(read_to_string(root.join("elsewhere/own")).unwrap(), "mine");
    }

    #[test]
    fn a_copy_that_fails_half_way_leaves_nothing_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        create_dir(root.join("kept")).unwrap();
        write(root.join("kept/a"), "x").unwrap();
        // Only files and folders can be copied.
        let _socket = std::os::unix::net::UnixListener::bind(root.join("kept/z")).unwrap();
        create_dir(root.join("ws")).unwrap();
        let ws = super::folder(&root.join("ws")).unwrap();
        across(&root.join("kept"), ws.as_fd(), OsStr::new("hooks"), RenameFlags::NOREPLACE).unwrap_err();
        assert_eq!(std::fs::read_dir(root.join("ws")).unwrap().count(), 0);
        create_dir(root.join("ws/hooks")).unwrap();
        std::fs::remove_file(root.join("kept/z")).unwrap();
        across(&root.join("kept"), ws.as_fd(), OsStr::new("hooks"), RenameFlags::NOREPLACE).unwrap_err();
        let left: Vec<_> = std::fs::read_dir(root.join("ws")).unwrap().map(|one| one.unwrap().file_name()).collect();
        assert_eq!(left, ["hooks"], "a folder that cannot take its place goes too");
    }

    #[test]
    fn a_folder_is_copied_with_all_that_is_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        create_dir(root.join("from")).unwrap();
        write(root.join("from/file"), "x").unwrap();
        symlink("file", root.join("from/link")).unwrap();
        let to = super::folder(&root).unwrap();
        copy(&root.join("from"), to.as_fd(), OsStr::new("to")).unwrap();
        assert_eq!(read_to_string(root.join("to/link")).unwrap(), "x");
        assert!(root.join("to/link").is_symlink());
    }
}
