//! Paths that cannot lead out of a folder, part by part: each is opened from the folder before it and never as a link.
//!
//! For systems without `openat2`. Links that may be followed are read and gone along by ourselves, and `..` in them is the
//! folder that we came from, held open, so that nobody can move it away under us. Unlike `openat2`, a folder that may be
//! passed but not read cannot be passed. Tested on Linux against `openat2`; untested elsewhere.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::LinkPolicy;

/// Links that are gone along for one path: as many as Linux follows.
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

/// What is at such a path.
pub(super) fn stat(dir: BorrowedFd<'_>, path: &Path, links: LinkPolicy) -> Result<Stat, Errno> {
    go(dir, path, links, |folder, name| {
        let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(stat.st_mode).is_symlink() { Err(Errno::LOOP) } else { Ok(stat) }
    })
}

/// Goes along a path and does something with the folder and the name at its end, which fails if that is a link.
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
        // A link in the way: systems name it by different errors, so we look.
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

/// Where we are, how we came here, and what is ahead.
struct PathWalk<'a> {
    dir: BorrowedFd<'a>,
    /// The folders that were entered, the innermost last.
    held: Vec<OwnedFd>,
    /// The parts still to go, the next one last.
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
        // A slash after a name says that it is a folder, which the parts alone do not.
        let text = path.as_os_str().as_encoded_bytes();
        if text.ends_with(b"/") || text.ends_with(b"/.") {
            parts.push(".".into());
        }
        self.ahead.extend(parts.into_iter().rev());
        Ok(())
    }

    /// Where the link of this name leads; nothing if the error is not due to a link.
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
