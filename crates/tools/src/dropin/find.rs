//! Finds the files in a folder that may be tools: their kind and the hash of their content.

use std::fs::{DirEntry, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use updraft_run::ContentHash;

use super::ToolFolder;

/// Most bytes of a Python file; the longest handwritten files are a tenth of it.
const LARGEST_SOURCE: u64 = 1 << 20;
/// Programs larger than this are identified by size and times instead of their content.
const LARGEST_HASHED: u64 = 4 << 20;

/// A file that may be a tool.
#[derive(Clone, Debug)]
pub(super) struct CandidateFile {
    pub(super) path: PathBuf,
    /// The path as shown to users: relative to the workspace, or absolute.
    pub(super) shown: String,
    pub(super) kind: CandidateKind,
    /// Its content with its hash, or why it cannot be used.
    pub(super) content: Result<ToolFileContent, String>,
}

/// The content of a file.
#[derive(Clone, Debug)]
pub(super) struct ToolFileContent {
    pub(super) hash: ContentHash,
    /// Only for Python files: programs are run, not read.
    pub(super) source: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CandidateKind {
    Python,
    Program,
}

/// The candidates in a folder, sorted by name. A folder that does not exist has none.
pub(super) fn in_folder(folder: &ToolFolder) -> Result<Vec<CandidateFile>, String> {
    let mut found = Vec::new();
    let entries = entries(&folder.path)?;
    // A workspace may come from someone else, and its links may lead to files that are not part of it.
    if !entries.is_empty() && folder.path.canonicalize().is_ok_and(|real| real != folder.path) {
        return Err("the folder is reached through a link; replace the link with the folder itself".into());
    }
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(['_', '.']) {
            continue;
        }
        let (Ok(kind), Ok(about)) = (entry.file_type(), entry.metadata()) else { continue };
        let is_python = is_python(&entry);
        if kind.is_dir() || (!is_python && !is_executable(&about, &entry.path())) {
            continue;
        }
        let path = entry.path();
        let kind = if is_python { CandidateKind::Python } else { CandidateKind::Program };
        // A link to data is not a tool; only one that looks like a Python file is reported.
        if about.is_symlink() && !is_python {
            continue;
        }
        let content = read(&path, kind);
        found.push(CandidateFile { shown: format!("{}/{name}", folder.shown), path, kind, content });
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

fn is_python(entry: &DirEntry) -> bool {
    entry.path().extension().is_some_and(|extension| extension == "py")
}

fn entries(folder: &Path) -> Result<Vec<DirEntry>, String> {
    match std::fs::read_dir(folder) {
        Ok(entries) => Ok(entries.flatten().collect()),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(Vec::new()),
        Err(error) => Err(format!("the folder cannot be read: {error}")),
    }
}

/// Reads the current content of a file.
pub(super) fn read(path: &Path, kind: CandidateKind) -> Result<ToolFileContent, String> {
    let mut file = open(path)?;
    let about = file.metadata().map_err(|error| format!("it cannot be read: {error}"))?;
    if !about.is_file() {
        return Err("it is not a regular file".into());
    }
    if kind == CandidateKind::Python && about.len() > LARGEST_SOURCE {
        return Err(format!("it has {} bytes; expected at most {LARGEST_SOURCE}", about.len()));
    }
    if about.len() > LARGEST_HASHED {
        return Ok(ToolFileContent { hash: updraft_workspace::hash(told(&about).as_bytes()), source: Vec::new() });
    }
    let mut bytes = Vec::new();
    file.by_ref()
        .take(LARGEST_HASHED)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("it cannot be read: {error}"))?;
    let hash = updraft_workspace::hash(&bytes);
    Ok(ToolFileContent { hash, source: if kind == CandidateKind::Python { bytes } else { Vec::new() } })
}

/// Opens a file that is not a link, without ever blocking: a workspace may come from someone else and contain a FIFO.
fn open(path: &Path) -> Result<File, String> {
    crate::open_plain::open_unlinked(path).map_err(|error| {
        let is_link = path.symlink_metadata().is_ok_and(|about| about.is_symlink());
        if is_link {
            "it is a link; replace it with the file itself".into()
        } else {
            format!("it cannot be read: {error}")
        }
    })
}

/// Whether a file is a program.
#[cfg(unix)]
pub(super) fn is_executable(about: &Metadata, _: &Path) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o111 != 0
}

/// Whether a file is a program, by its name on this system. Untested.
#[cfg(not(unix))]
pub(super) fn is_executable(_: &Metadata, path: &Path) -> bool {
    path.extension().is_some_and(|ending| ["exe", "bat", "cmd"].iter().any(|one| ending.eq_ignore_ascii_case(one)))
}

/// Identifies the version of a file without reading its content.
#[cfg(unix)]
fn told(about: &Metadata) -> String {
    use std::os::unix::fs::MetadataExt;
    let told = format!("{} {} {} {}", about.len(), about.ino(), about.mtime_nsec(), about.ctime_nsec());
    format!("{told} {} {}", about.mtime(), about.ctime())
}

/// Identifies the version of a file without reading its content. Untested.
#[cfg(not(unix))]
fn told(about: &Metadata) -> String {
    format!("{} {:?} {:?}", about.len(), about.created().ok(), about.modified().ok())
}

/// The hash of all Python files of a folder together, because a worker that imported one may have imported others.
pub(super) fn generation(folder: &Path) -> ContentHash {
    let mut files = entries(folder).unwrap_or_default();
    files.retain(is_python);
    files.sort_by_key(DirEntry::file_name);
    let mut whole = Sha256::new();
    for entry in files {
        let hash = read(&entry.path(), CandidateKind::Python).map(|content| content.hash.to_string());
        whole.update(format!("{} {}\n", entry.file_name().display(), hash.unwrap_or_default()).as_bytes());
    }
    ContentHash(whole.finalize().into())
}
