//! Opens paths that cannot leave a folder, component by component: each is opened from the folder before it and never
//! as a link.
//!
//! For systems without `openat2`. Links that may be followed are read and resolved by our own code, and `..` in them
//! means the folder that we came from, which is held open, so that nobody can move it away. Unlike with `openat2`, a
//! folder with search but no read permission cannot be passed. Tested on Linux against `openat2`; untested elsewhere.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::LinkPolicy;

/// Most links that are followed for one path: as many as Linux follows.
const MOST_LINKS: usize = 40;

/// Opens a path that cannot lead out of `dir`.
pub(super) fn open(
    dir: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
    mode: Mode,
    links: LinkPolicy,
) -> Result<OwnedFd, Errno> {
    go(dir, path, links, |folder, name| rustix::fs::openat(folder, name, flags | OFlags::NOFOLLOW, mode))
}

/// The metadata of such a path.
pub(super) fn stat(dir: BorrowedFd<'_>, path: &Path, links: LinkPolicy) -> Result<Stat, Errno> {
    go(dir, path, links, |folder, name| {
        let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(stat.st_mode).is_symlink() { Err(Errno::LOOP) } else { Ok(stat) }
    })
}

/// Resolves a path and calls a function with the last folder and the name in it; the function fails if that is a
/// link.
fn go<T>(
    dir: BorrowedFd<'_>,
    path: &Path,
    links: LinkPolicy,
    at_the_end: impl Fn(BorrowedFd<'_>, &OsStr) -> Result<T, Errno>,
) -> Result<T, Errno> {
    let mut way = PathWalk { dir, held: Vec::new(), ahead: Vec::new() };
    way.put_ahead(path)?;
    let mut followed = 0;
    while let Some(part) = way.ahead.pop() {
        if part == "." {
            continue;
        }
        if part == ".." {
            way.held.pop().ok_or(Errno::XDEV)?;
            continue;
        }
        let is_last = way.ahead.is_empty();
        let error = if is_last {
            match at_the_end(way.here(), &part) {
                Ok(done) => return Ok(done),
                Err(error) => error,
            }
        } else {
            match rustix::fs::openat(way.here(), &part, FOLDER, Mode::empty()) {
                Ok(folder) => {
                    way.held.push(folder);
                    continue;
                }
                Err(error) => error,
            }
        };
        // If the component is a link, systems return different errors, so we check.
        let Some(target) = way.link(&part, error)? else { return Err(error) };
        followed += 1;
        if matches!(links, LinkPolicy::Never) || followed > MOST_LINKS {
            return Err(Errno::LOOP);
        }
        way.put_ahead(&target)?;
    }
    at_the_end(way.here(), OsStr::new("."))
}

const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);

/// The state of resolving a path: the current folder, the folders before it, and the components ahead.
struct PathWalk<'a> {
    dir: BorrowedFd<'a>,
    /// The folders that were entered, the innermost last.
    held: Vec<OwnedFd>,
    /// The components still to be resolved, the next one last.
    ahead: Vec<OsString>,
}

impl PathWalk<'_> {
    fn here(&self) -> BorrowedFd<'_> {
        self.held.last().map_or(self.dir, AsFd::as_fd)
    }

    fn put_ahead(&mut self, path: &Path) -> Result<(), Errno> {
        let mut parts = Vec::new();
        for part in path.components() {
            match part {
                Component::Normal(name) => parts.push(name.to_owned()),
                Component::ParentDir => parts.push("..".into()),
                Component::CurDir => {}
                Component::RootDir | Component::Prefix(_) => return Err(Errno::XDEV),
            }
        }
        // A trailing slash means that the path must be a folder, which the components alone do not show.
        let text = path.as_os_str().as_encoded_bytes();
        if text.ends_with(b"/") || text.ends_with(b"/.") {
            parts.push(".".into());
        }
        self.ahead.extend(parts.into_iter().rev());
        Ok(())
    }

    /// The target of the link with this name; `None` if the error is not due to a link.
    fn link(&self, name: &OsStr, error: Errno) -> Result<Option<PathBuf>, Errno> {
        if !matches!(error, Errno::LOOP | Errno::NOTDIR | Errno::MLINK) {
            return Ok(None);
        }
        match rustix::fs::readlinkat(self.here(), name, Vec::new()) {
            Ok(target) => Ok(Some(OsString::from_vec(target.into_bytes()).into())),
            Err(Errno::INVAL) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
