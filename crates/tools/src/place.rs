//! Where tools work: the workspace, held open as a directory descriptor.
//!
//! Every file is opened beneath that descriptor with `openat2`, so the kernel itself refuses `..`, absolute links and
//! the magic links of `/proc`, however quickly somebody swaps a folder for a link. Nothing here goes by a path from `/`.

mod atomic;
mod guarded;
mod ignored;
mod look;
mod path;
mod restore;
mod walk;

use std::fmt;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;
use updraft_run::{Failure, FailureKind};

use crate::error::Error;

pub(crate) use atomic::{Existing, form_of};
pub use look::{Paths, WholeText};
pub use path::Inside;
pub use restore::Standing;
pub(crate) use walk::{Found, Walk};

/// Where a tool works.
#[derive(Clone, Debug)]
pub struct Place {
    /// The folder that holds the user's files.
    pub workspace: Workspace,
}

/// The folder that holds the user's files, opened once. Cheap to clone.
#[derive(Clone)]
pub struct Workspace(Arc<Opened>);

struct Opened {
    /// As it was given and as it really is: an absolute path below either is one inside.
    roots: [PathBuf; 2],
    dir: OwnedFd,
    /// Writers of one file take turns, so that two edits at once both count. Shared by the hash of the path.
    turns: [Mutex<()>; 16],
}

/// Which links may be followed on the way to a file.
#[derive(Clone, Copy)]
pub(crate) enum Links {
    /// Those that stay inside: for reading.
    Inside,
    /// None: for writing, so that the path that was approved is the file that changes.
    Never,
}

impl Workspace {
    /// Opens a folder, which stays the workspace even if it is renamed.
    pub fn open(root: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Workspace { path: root.to_owned(), source };
        let given = std::path::absolute(root).map_err(failed)?;
        let real = root.canonicalize().map_err(failed)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::open(&real, flags, Mode::empty()).map_err(|errno| failed(errno.into()))?;
        Ok(Self(Arc::new(Opened { roots: [given, real], dir, turns: Default::default() })))
    }

    /// The folder as it was called when it was opened, for people to read. Files are not opened by it.
    pub fn root(&self) -> &Path {
        &self.0.roots[1]
    }

    /// The descriptor of the folder.
    pub fn dir(&self) -> BorrowedFd<'_> {
        self.0.dir.as_fd()
    }

    /// Takes a path as a model wrote it: relative to the workspace, or absolute and inside it.
    pub fn locate(&self, path: &str) -> Result<Inside, Failure> {
        Inside::parse(path, &self.0.roots)
    }

    /// A path and, where links lead elsewhere in the workspace, what is meant by it: what was written there is read here.
    pub(crate) fn with_its_target(&self, path: &Inside) -> Vec<String> {
        let real = self.root().join(path.as_str()).canonicalize().ok();
        let target = real.as_deref().and_then(|real| real.strip_prefix(self.root()).ok()).and_then(Path::to_str);
        let target = target.map(|target| if target.is_empty() { "." } else { target });
        let mut paths = vec![path.to_string()];
        paths.extend(target.filter(|target| *target != path.as_str()).map(str::to_owned));
        paths
    }

    /// Opens a regular file for reading. Never waits, whatever it is: pipes, devices and sockets are refused.
    pub(crate) fn open_file(&self, path: &Inside, links: Links) -> Result<(File, Stat), Failure> {
        // Without NONBLOCK the open of a pipe would wait for a writer. For a regular file it means nothing.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = self.open_at(path, flags, links)?;
        let stat = rustix::fs::fstat(&file).map_err(|errno| failure(path, errno))?;
        refuse_unless_file(path, &stat)?;
        Ok((File::from(file), stat))
    }

    /// Opens a folder.
    pub(crate) fn open_folder(&self, path: &Inside, links: Links) -> Result<OwnedFd, Failure> {
        self.open_at(path, OFlags::RDONLY | OFlags::DIRECTORY, links)
    }

    /// Opens whatever is there only to ask what it is.
    pub(crate) fn stat(&self, path: &Inside, links: Links) -> Result<Stat, Failure> {
        let file = self.open_at(path, OFlags::PATH, links)?;
        rustix::fs::fstat(&file).map_err(|errno| failure(path, errno))
    }

    /// Waits for the turn to write a file.
    pub(crate) fn turn(&self, path: &Inside) -> MutexGuard<'_, ()> {
        let sum = path.as_str().bytes().fold(0usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        // Nothing is guarded but the order, so a writer that panicked leaves nothing broken behind.
        self.0.turns[sum % self.0.turns.len()].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open_at(&self, path: &Inside, flags: OFlags, links: Links) -> Result<OwnedFd, Failure> {
        open_beneath(self.dir(), path.as_str(), flags, Mode::empty(), links).map_err(|errno| failure(path, errno))
    }
}

impl fmt::Debug for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Workspace").field(&self.root()).finish()
    }
}

/// Opens a path that cannot lead out of `dir`.
pub(crate) fn open_beneath(
    dir: BorrowedFd<'_>,
    path: &str,
    flags: OFlags,
    mode: Mode,
    links: Links,
) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let resolve = match links {
        Links::Inside => resolve,
        Links::Never => resolve | ResolveFlags::NO_SYMLINKS,
    };
    // The kernel says AGAIN when a rename elsewhere kept it from being sure that nothing escaped.
    for _ in 0..100 {
        match rustix::fs::openat2(dir, path, flags | OFlags::CLOEXEC, mode, resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            other => return other,
        }
    }
    Err(Errno::AGAIN)
}

/// Says what a path that is not a regular file is.
pub(crate) fn refuse_unless_file(path: &Inside, stat: &Stat) -> Result<(), Failure> {
    let what = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => return Ok(()),
        FileType::Directory => "a folder",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::Symlink => "a link",
        FileType::Unknown => "not a file",
    };
    Err(Failure::new(FailureKind::Tool, format!("`{path}` is {what}; expected a regular file")))
}

/// What the kernel said about a path, in words.
pub(crate) fn failure(path: &Inside, errno: Errno) -> Failure {
    let tool = |message: String| Failure::new(FailureKind::Tool, message);
    let security = |message: String| Failure::new(FailureKind::Security, message);
    match errno {
        Errno::NOENT => tool(format!("there is no `{path}` in the workspace")),
        Errno::NOTDIR => tool(format!("a part of `{path}` is a file, where a folder was expected")),
        Errno::ISDIR => tool(format!("`{path}` is a folder; expected a regular file")),
        Errno::EXIST => tool(format!("`{path}` is there already")),
        Errno::NXIO => tool(format!("`{path}` is a socket or a device; expected a regular file")),
        Errno::ACCESS | Errno::PERM => tool(format!("the user we run as may not touch `{path}`")),
        Errno::NAMETOOLONG => tool(format!("a part of `{path}` is too long for a file name")),
        Errno::NOSPC | Errno::DQUOT => tool(format!("there is no space left to write `{path}`")),
        Errno::XDEV => security(format!("`{path}` leads out of the workspace by a link")),
        Errno::LOOP => {
            security(format!("`{path}` goes through a link that is not followed; use the path it stands for"))
        }
        Errno::NOSYS => Failure::new(
            FailureKind::Config,
            "this kernel has no `openat2`, which keeps tools inside the workspace; Linux 5.6 or newer is needed",
        ),
        other => tool(format!("`{path}`: {}", std::io::Error::from(other))),
    }
}

/// Whether it is a folder.
pub(crate) fn is_folder(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode).is_dir()
}
