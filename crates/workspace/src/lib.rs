//! Know the user's folder: reach its files safely, and say what is there.
//!
//! The [`Workspace`] is held open as a folder from which every file is reached; a path inside it is an [`WorkspacePath`], and what is
//! at a path at one moment is a [`Stamp`].
//!
//! How that is done is the business of the disk: by descriptors on Linux and other Unix systems (`held`), which cannot be
//! led astray however quickly somebody swaps a folder for a link; by checked paths on Windows (`named`), which can.
//!
//! | module | holds |
//! |---|---|
//! | `path`, `walk`, `ignored`, `look` | paths inside, going through them, and what is there, for tools and programs |
//! | `held`, `named` | the disk, by descriptors or by names |
//! | `stamp`, `survey`, `changes` | the state of a file, or of all, at one moment; what changed |
//! | `atomic`, `drafts`, `turn`, `restore` | writing a file as a whole, one writer at a time, and putting back what was there |
//! | [`names`], `guarded` | files that run later |
//! | [`text`] | encodings and line endings |

mod atomic;
mod changes;
mod drafts;
mod error;
mod guarded;
#[cfg(unix)]
mod held;
mod ignored;
mod look;
#[cfg(any(test, not(unix)))]
#[cfg_attr(unix, allow(unreachable_pub, reason = "it is public where it is the disk"))]
mod named;
pub mod names;
mod open_mode;
mod path;
mod restore;
mod stamp;
mod survey;
pub mod text;
mod turn;
mod walk;

use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use sha2::{Digest, Sha256};
use updraft_run::{ContentHash, Failure, FailureKind};

#[cfg(unix)]
use held as disk;
#[cfg(not(unix))]
use named as disk;

pub use atomic::WriteOutcome;
pub use changes::Changes;
pub use disk::{bytes_of, stamp_of};
pub use drafts::{is_draft, is_draft_of_any};
pub use error::Error;
#[cfg(unix)]
pub use held::Folder;
pub use ignored::HiddenFiles;
pub use look::{PathList, WholeText};
#[cfg(not(unix))]
pub use named::WindowsFolder as Folder;
pub use open_mode::OpenMode;
pub use path::WorkspacePath;
pub use restore::PathContent;
pub use stamp::{PathKind, Stamp};
pub use survey::{GRAIN, Survey, ago, in_nanoseconds};
pub use updraft_run::{FileChange, FileKind, FileMetadata};
pub use walk::{Walk, WalkEntry};

/// Where a tool works.
#[derive(Clone, Debug)]
pub struct Place {
    /// The folder that holds the user's files.
    pub workspace: Workspace,
}

/// The folder that holds the user's files, opened once. Cheap to clone.
#[derive(Clone)]
pub struct Workspace(Arc<WorkspaceInner>);

struct WorkspaceInner {
    /// As it was given and as it really is: an absolute path below either is one inside.
    roots: [PathBuf; 2],
    folder: Folder,
    /// Writers of one file take turns, so that two edits at once both count. Shared by the hash of the path.
    turns: [Mutex<()>; 16],
    swept: drafts::SweptFolders,
}

/// Which links may be followed on the way to a file.
#[derive(Clone, Copy)]
pub enum LinkPolicy {
    /// Those that stay inside: for reading.
    Inside,
    /// None: for writing, so that the path that was approved is the file that changes.
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

    /// The folder as it was called when it was opened, for people to read. Files are not opened by it.
    pub fn root(&self) -> &Path {
        &self.0.roots[1]
    }

    /// The folder itself, open.
    pub fn folder(&self) -> &Folder {
        &self.0.folder
    }

    /// Why no program can be started in the workspace: what goes by its name is another folder than the one held open.
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

    /// Takes a path as a model wrote it: relative to the workspace, or absolute and inside it.
    pub fn locate(&self, path: &str) -> Result<WorkspacePath, Failure> {
        WorkspacePath::parse(path, &self.0.roots)
    }

    /// A path and, where links lead elsewhere in the workspace, what is meant by it: what was written there is read here.
    pub fn with_its_target(&self, path: &WorkspacePath) -> Vec<String> {
        let real = self.root().join(path.as_str()).canonicalize().ok();
        let target = real.as_deref().and_then(|real| real.strip_prefix(self.root()).ok()).and_then(Path::to_str);
        let target = target.map(|target| if target.is_empty() { "." } else { target });
        let mut paths = vec![path.to_string()];
        paths.extend(target.filter(|target| *target != path.as_str()).map(str::to_owned));
        paths
    }

    /// Opens a regular file for reading. Never waits, whatever it is: pipes, devices and sockets are refused.
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

    /// What is there, without opening it.
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
    ContentHash(Sha256::digest(bytes).into())
}

/// Says what a path that is not a regular file is.
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

/// What the system said about a path, in words.
pub fn failure(path: &WorkspacePath, error: &io::Error) -> Failure {
    let tool = |message: String| Failure::new(FailureKind::Tool, message);
    let security = |message: String| Failure::new(FailureKind::Security, message);
    if disk::met_a_link(error) {
        return security(format!("`{path}` goes through a link that is not followed; use the path it stands for"));
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
        ErrorKind::AlreadyExists => tool(format!("`{path}` is there already")),
        ErrorKind::PermissionDenied => tool(format!("the user we run as may not touch `{path}`")),
        ErrorKind::InvalidFilename => tool(format!("a part of `{path}` is too long for a file name")),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => tool(format!("there is no space left to write `{path}`")),
        ErrorKind::CrossesDevices => security(format!("`{path}` leads out of the workspace by a link")),
        _ => tool(format!("`{path}`: {error}")),
    }
}
