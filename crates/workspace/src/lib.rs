//! Access to the user's folder: reaches its files safely, and reports their state.
//!
//! The [`Workspace`] is an open folder from which every file is reached. A path inside it is a [`WorkspacePath`], and
//! the state of a path at one moment is a [`Stamp`].
//!
//! The file system is accessed in one of two ways. On Linux and other Unix systems, descriptors are used (`unix`),
//! which cannot be tricked even if another process swaps a folder for a link. On Windows, paths are checked before
//! use (`windows`), which can be tricked in that way.
//!
//! | module | holds |
//! |---|---|
//! | `path`, `walk`, `ignored`, `read_access` | paths inside, walking through them, and reading them, for tools and programs
//! |
//! | `unix`, `windows` | file system access, by descriptors or by names |
//! | `copy` | copies of the workspace for candidates |
//! | `stamp`, `scan`, `changes` | the state of one file or of all files at one moment; what changed |
//! | `atomic`, `drafts`, `write_lock`, `restore` | atomic writes, one writer at a time, and restoring previous contents |
//! | [`guarded_names`], `guarded` | files that other programs run later |
//! | [`text`] | encodings and line endings |
//! | `private_file` | replacing a file of our own, outside of the workspace |

mod atomic;
mod changes;
mod copy;
mod drafts;
mod error;
mod guarded;
pub mod guarded_names;
mod ignored;
mod open_mode;
mod path;
mod private_file;
mod read_access;
mod restore;
mod scan;
mod stamp;
pub mod text;
#[cfg(unix)]
mod unix;
mod walk;
#[cfg(any(test, not(unix)))]
#[cfg_attr(unix, allow(unreachable_pub, reason = "it is public where it is the disk"))]
mod windows;
mod write_lock;

use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ring::digest::{SHA256, digest};
use updraft_run::{ContentHash, Failure, FailureKind};

#[cfg(unix)]
use unix as disk;
#[cfg(not(unix))]
use windows as disk;

pub use atomic::WriteOutcome;
pub use changes::Changes;
pub use copy::{CopyChange, WorkspaceCopy};
pub use disk::{bytes_of, stamp_of};
pub use drafts::{is_draft, is_draft_of_any};
pub use error::Error;
pub use ignored::HiddenFiles;
pub use open_mode::OpenMode;
pub use path::{WorkspacePath, on_one_line};
pub use private_file::replace_private;
pub use read_access::{PathList, WholeText};
pub use restore::PathContent;
pub use scan::{GRAIN, Survey, ago, in_nanoseconds};
pub use stamp::{PathKind, Stamp};
#[cfg(unix)]
pub use unix::Folder;
pub use updraft_run::{FileChange, FileKind, FileMetadata};
pub use walk::{Walk, WalkEntry};
#[cfg(not(unix))]
pub use windows::WindowsFolder as Folder;

/// The workspace that a tool works in.
#[derive(Clone, Debug)]
pub struct Place {
    /// The folder that holds the user's files.
    pub workspace: Workspace,
}

/// The folder that holds the user's files, opened once. Cheap to clone.
#[derive(Clone)]
pub struct Workspace(Arc<WorkspaceInner>);

struct WorkspaceInner {
    /// The path as given and the real path: an absolute path below either one is inside.
    roots: [PathBuf; 2],
    folder: Folder,
    /// Locks for writers of the same file, so that two edits at the same time both take effect. Chosen by the hash of
    /// the path.
    turns: [Mutex<()>; 16],
    swept: drafts::SweptFolders,
}

/// Which links may be followed when a path is resolved.
#[derive(Clone, Copy)]
pub enum LinkPolicy {
    /// Links that stay inside the workspace: for reading.
    Inside,
    /// None: for writing, so that the approved path is the file that changes.
    Never,
}

impl Workspace {
    /// Opens a folder, which stays the workspace even if it is renamed.
    pub fn open(root: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Open { path: root.to_owned(), source };
        let given = std::path::absolute(root).map_err(failed)?;
        let real = root.canonicalize().map_err(failed)?;
        let folder = Folder::open(&real).map_err(failed)?;
        Ok(Self(Arc::new(WorkspaceInner {
            roots: [given, real],
            folder,
            turns: Default::default(),
            swept: drafts::SweptFolders::default(),
        })))
    }

    /// The path of the folder when it was opened, for people to read. It is not used to open files.
    pub fn root(&self) -> &Path {
        &self.0.roots[1]
    }

    /// The folder itself, open.
    pub fn folder(&self) -> &Folder {
        &self.0.folder
    }

    /// Why no program can be started in the workspace: its path now leads to a different folder than the one held
    /// open. Returns `None` if it does not.
    pub fn displaced(&self) -> Option<Failure> {
        let held = self.folder().itself().ok()?;
        let named = Folder::open(self.root()).and_then(|folder| folder.itself());
        if named.is_ok_and(|named| named.inode == held.inode) {
            return None;
        }
        let why =
            "is no longer the folder that this run works in: it was moved, or something else was put in its place";
        let message = format!("`{}` {why}; nothing was started there", self.root().display());
        Some(Failure::new(FailureKind::Security, message))
    }

    /// Parses a path as a model wrote it: relative to the workspace, or absolute and inside it.
    pub fn locate(&self, path: &str) -> Result<WorkspacePath, Failure> {
        WorkspacePath::parse(path, &self.0.roots)
    }

    /// A path and, if it leads through links to another path in the workspace, that path too: content written there
    /// is read here.
    pub fn with_its_target(&self, path: &WorkspacePath) -> Vec<String> {
        let real = self.root().join(path.as_str()).canonicalize().ok();
        let target = real.as_deref().and_then(|real| real.strip_prefix(self.root()).ok()).and_then(Path::to_str);
        let target = target.map(|target| if target.is_empty() { "." } else { target });
        let mut paths = vec![path.to_string()];
        paths.extend(target.filter(|target| *target != path.as_str()).map(str::to_owned));
        paths
    }

    /// Opens a regular file for reading. Never blocks: pipes, devices and sockets are refused.
    pub fn open_file(&self, path: &WorkspacePath, links: LinkPolicy) -> Result<(File, Stamp), Failure> {
        let failed = |error| failure(path, &error);
        let file = self.folder().file(path.as_str(), OpenMode::Read, links).map_err(failed)?;
        let about = disk::stamp_of(&file).map_err(failed)?;
        refuse_unless_file(path, &about)?;
        Ok((file, about))
    }

    /// Opens a folder.
    pub fn open_folder(&self, path: &WorkspacePath, links: LinkPolicy) -> Result<Folder, Failure> {
        self.folder().folder(path.as_str(), links).map_err(|error| failure(path, &error))
    }

    /// The stamp of a path, without opening it.
    pub fn about(&self, path: &WorkspacePath, links: LinkPolicy) -> Result<Stamp, Failure> {
        self.folder().about(path.as_str(), links).map_err(|error| failure(path, &error))
    }
}

impl fmt::Debug for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Workspace").field(&self.root()).finish()
    }
}

/// The hash of a content.
pub fn hash(bytes: &[u8]) -> ContentHash {
    hash_from(&digest(&SHA256, bytes))
}

/// SHA-256 as a hash of content. `ring` takes less than half the time of `sha2` on processors without instructions for it, and here
/// whole files are read.
fn hash_from(digest: &ring::digest::Digest) -> ContentHash {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest.as_ref());
    ContentHash(hash)
}

/// Fails unless the path is a regular file. The message says what it is.
pub fn refuse_unless_file(path: &WorkspacePath, about: &Stamp) -> Result<(), Failure> {
    let what = match about.kind {
        PathKind::File => return Ok(()),
        PathKind::Folder => "a folder",
        PathKind::Pipe => "a pipe",
        PathKind::Socket => "a socket",
        PathKind::Device => "a device",
        PathKind::Link => "a link",
        PathKind::Unknown => "not a file",
    };
    Err(Failure::new(FailureKind::Tool, format!("`{path}` is {what}; expected a regular file")))
}

/// Turns an error of the system about a path into a failure with a clear message.
pub fn failure(path: &WorkspacePath, error: &io::Error) -> Failure {
    let tool = |message: String| Failure::new(FailureKind::Tool, message);
    let security = |message: String| Failure::new(FailureKind::Security, message);
    if disk::met_a_link(error) {
        return security(format!("`{path}` goes through a link that is not followed; use the path of its target"));
    }
    if disk::met_a_device(error) {
        return tool(format!("`{path}` is a socket or a device; expected a regular file"));
    }
    if disk::met_an_old_kernel(error) {
        let why = "this kernel has no `openat2`, which keeps tools inside the workspace; Linux 5.6 or newer is needed";
        return Failure::new(FailureKind::Config, why);
    }
    match error.kind() {
        ErrorKind::NotFound => tool(format!("there is no `{path}` in the workspace")),
        ErrorKind::NotADirectory => tool(format!("a part of `{path}` is a file, where a folder was expected")),
        ErrorKind::IsADirectory => tool(format!("`{path}` is a folder; expected a regular file")),
        ErrorKind::AlreadyExists => tool(format!("`{path}` already exists")),
        ErrorKind::PermissionDenied => tool(format!("the current user has no permission for `{path}`")),
        ErrorKind::InvalidFilename => tool(format!("a part of `{path}` is too long for a file name")),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => tool(format!("there is no space left to write `{path}`")),
        ErrorKind::CrossesDevices => security(format!("`{path}` leads out of the workspace by a link")),
        _ => tool(format!("`{path}`: {error}")),
    }
}
