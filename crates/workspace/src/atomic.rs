//! Writes files atomically: others see the old content or the new, never a mixture, even after a power failure.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::sync::atomic::{AtomicU64, Ordering};

use ring::digest::{Context, SHA256};
use updraft_run::{ContentHash, Failure, FailureKind, FileChange};

use crate::text::{self, Encoding};

use super::stamp::Stamp;
use super::{Folder, OpenMode, disk};
use super::{LinkPolicy, PathContent, Workspace, WorkspacePath, drafts, failure, refuse_unless_file};

/// Most bytes of a file that is hashed: a larger one would take longer than a call may.
const LARGEST: u64 = 1 << 30;

/// The outcome of a write.
pub enum WriteOutcome {
    /// The new content was written; these folders were created for it.
    Done(Vec<FileChange>),
    /// Another program changed the file since it was read: nothing was written.
    Overtaken,
}

impl PathContent {
    /// Whether the file is still there, with the same content.
    fn still_stands(&self, folder: &Folder, name: &str) -> io::Result<bool> {
        let file = match folder.file(name, OpenMode::Read, LinkPolicy::Never) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        if disk::stamp_of(&file)? != self.stamp {
            return Ok(false);
        }
        // A change within one tick of the file system's clock leaves the same stamp, so the content is compared.
        match self.bytes {
            Some(_) => Ok(Some(hash_of(file)?) == self.hash),
            None => Ok(true),
        }
    }
}

impl Workspace {
    /// Parses a path that may be written to: a file outside git's own storage. Files that git acts on (hooks,
    /// settings) may be written with a person's consent, which the caller's preparation of the call asks for.
    pub fn locate_for_writing(&self, path: &str) -> Result<WorkspacePath, Failure> {
        let names_folder = path.ends_with('/');
        let path = self.locate(path)?;
        if names_folder {
            return Err(Failure::new(FailureKind::Validation, format!("`{path}/` names a folder; expected a file")));
        }
        if path.is_root() {
            return Err(Failure::new(FailureKind::Validation, "the path is the workspace itself; expected a file"));
        }
        if path.is_in_git() && self.why_guarded(&path).is_none() {
            let why = "is in git's own storage, which tools do not write to";
            return Err(Failure::new(FailureKind::Security, format!("`{path}` {why}")));
        }
        Ok(path)
    }

    /// The file at a path, reached without following links; `None` if it does not exist. Holds up to `most` bytes of
    /// it.
    pub fn existing(&self, path: &WorkspacePath, most: usize) -> Result<Option<PathContent>, Failure> {
        let file = match self.folder().file(path.as_str(), OpenMode::Read, LinkPolicy::Never) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failure(path, &error)),
        };
        let about = disk::stamp_of(&file).map_err(|error| failure(path, &error))?;
        refuse_unless_file(path, &about)?;
        if about.len > LARGEST {
            let why = format!("`{path}` has {} bytes; files of more than {LARGEST} are not changed", about.len);
            return Err(Failure::new(FailureKind::Tool, why));
        }
        let (hash, bytes) = taken_in(file, most)
            .map_err(|error| Failure::new(FailureKind::Tool, format!("`{path}` could not be read: {error}")))?;
        Ok(Some(PathContent { stamp: about, hash: Some(hash), bytes }))
    }

    /// Writes new content to a path, through a temporary file beside it that is synced and renamed. Missing folders
    /// are created and returned. If this fails, the old content is unchanged and only the new folders are left
    /// behind.
    ///
    /// `existing` is the content that the new one was made from. If the file has changed since, nothing is replaced.
    pub fn replace(
        &self,
        path: &WorkspacePath,
        content: &[u8],
        existing: Option<&PathContent>,
        reaches_outside: bool,
    ) -> Result<WriteOutcome, Failure> {
        let _alone = self.guard(path, reaches_outside)?;
        let (folder, name) = split(path)?;
        let (folder, made) = self.make_folders(&folder)?;
        self.sweep(&folder);
        match replace_in(&folder, name, content, existing) {
            Ok(true) => Ok(WriteOutcome::Done(made)),
            Ok(false) => Ok(WriteOutcome::Overtaken),
            Err(error) => Err(failure(path, &error)),
        }
    }

    /// Removes a file and returns once that is on disk. `existing` is the file as it was read; if it has changed since,
    /// it stays.
    pub fn remove(
        &self,
        path: &WorkspacePath,
        existing: &PathContent,
        reaches_outside: bool,
    ) -> Result<WriteOutcome, Failure> {
        let _alone = self.guard(path, reaches_outside)?;
        let (folder, name) = split(path)?;
        let folder = self.open_folder(&folder, LinkPolicy::Never)?;
        let failed = |error| failure(path, &error);
        if !existing.still_stands(&folder, name).map_err(failed)? {
            return Ok(WriteOutcome::Overtaken);
        }
        folder.remove_file(name).and_then(|()| folder.sync()).map_err(failed)?;
        Ok(WriteOutcome::Done(Vec::new()))
    }

    /// Adds a line to a file and returns once it is on disk. If the last line has no line ending, it gets one first.
    pub fn append(&self, path: &WorkspacePath, line: &str, reaches_outside: bool) -> Result<Vec<FileChange>, Failure> {
        let _alone = self.guard(path, reaches_outside)?;
        let (folder, name) = split(path)?;
        // A device must not be opened for writing, not even briefly: for some devices, opening has an effect.
        if let Ok(about) = self.about(path, LinkPolicy::Never) {
            refuse_unless_file(path, &about)?;
        }
        let (folder, made) = self.make_folders(&folder)?;
        let failed = |error| failure(path, &error);
        let file = folder.file(name, OpenMode::Append(0o666), LinkPolicy::Never).map_err(failed)?;
        let about = disk::stamp_of(&file).map_err(failed)?;
        refuse_unless_file(path, &about)?;
        if about.names > 1 {
            // A write does not have this problem: it puts a new file under this name only.
            let why = "has other names (hard links), which the line would be added to as well; use write_file";
            return Err(Failure::new(FailureKind::Security, format!("`{path}` {why}")));
        }
        let ends = FileEnds::of(&file, about.len).map_err(failed)?;
        if let Some(why) = text::why_not_added_between(&ends.start, &ends.end, line) {
            return Err(Failure::new(FailureKind::Tool, format!("`{path}` {why}")));
        }
        append_to(&file, &ends, line).and_then(|()| folder.sync()).map_err(failed)?;
        Ok(made)
    }

    /// Opens a folder without following links, and creates its missing parts. Also returns what was created.
    pub(super) fn make_folders(&self, path: &WorkspacePath) -> Result<(Folder, Vec<FileChange>), Failure> {
        let failed = |error| failure(path, &error);
        let mut folder = self.open_folder(&WorkspacePath::root(), LinkPolicy::Never)?;
        let (mut made, mut at) = (Vec::new(), WorkspacePath::root());
        for part in path.parts() {
            at = at.join(part);
            folder = match folder.folder(part, LinkPolicy::Never) {
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    let is_ours = match folder.make_folder(part) {
                        Ok(()) => true,
                        Err(error) if error.kind() == ErrorKind::AlreadyExists => false,
                        Err(error) => return Err(failed(error)),
                    };
                    let opened = folder.folder(part, LinkPolicy::Never).map_err(failed)?;
                    if is_ours {
                        folder.sync().map_err(failed)?;
                        let now = opened.itself().map_err(failed)?.form();
                        made.push(FileChange { path: at.to_string(), now: Some(now), ..FileChange::default() });
                    }
                    opened
                }
                opened => opened.map_err(failed)?,
            };
        }
        Ok((folder, made))
    }
}

pub(super) fn split(path: &WorkspacePath) -> Result<(WorkspacePath, &str), Failure> {
    path.split()
        .ok_or_else(|| Failure::new(FailureKind::Validation, "the path is the workspace itself; expected a file"))
}

/// Reads a file: its hash, and its content if that has at most `most` bytes.
pub(super) fn taken_in(mut file: File, most: usize) -> std::io::Result<(ContentHash, Option<Vec<u8>>)> {
    let mut bytes = Vec::new();
    (&mut file).take(most as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() <= most {
        return Ok((super::hash(&bytes), Some(bytes)));
    }
    let mut digest = Context::new(&SHA256);
    digest.update(&bytes);
    let mut chunk = vec![0; 256 << 10];
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok((super::hash_from(&digest.finish()), None)),
            count => digest.update(&chunk[..count]),
        }
    }
}

/// The hash of a file's content.
fn hash_of(file: File) -> io::Result<ContentHash> {
    taken_in(file, 0).map(|(hash, _)| hash)
}

/// Puts a file in place, with the owner and mode of the file it replaces. Returns false if that file has changed or
/// is gone, or if there is a file now where none was expected.
fn replace_in(folder: &Folder, name: &str, content: &[u8], existing: Option<&PathContent>) -> io::Result<bool> {
    let (mut beside, mut file) = DraftFile::create(folder, if existing.is_some() { 0o600 } else { 0o666 })?;
    file.write_all(content)?;
    if let Some(PathContent { stamp: about, .. }) = existing {
        disk::give(&file, about);
        disk::set_mode(&file, about.mode & 0o777)?;
    }
    file.sync_all()?;
    // As late as possible: a program that does not use our locks can only interfere between this check and the
    // rename.
    let Some(existing) = existing else {
        return match beside.put(name, false) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            put => put.and_then(|()| folder.sync()).map(|()| true),
        };
    };
    if !existing.still_stands(folder, name)? {
        return Ok(false);
    }
    beside.put(name, true)?;
    folder.sync().map(|()| true)
}

/// Puts a file with the given mode in place, replacing any existing file.
pub(super) fn restore_in(
    folder: &Folder,
    name: &str,
    content: &[u8],
    mode: u32,
    replaced: Option<&Stamp>,
) -> io::Result<()> {
    let (mut beside, mut file) = DraftFile::create(folder, 0o600)?;
    file.write_all(content)?;
    if let Some(about) = replaced {
        disk::give(&file, about);
    }
    disk::set_mode(&file, mode & 0o7777)?;
    file.sync_all()?;
    beside.put(name, replaced.is_some())?;
    folder.sync()
}

/// The temporary file with the new content. Removed when dropped.
struct DraftFile<'a> {
    folder: &'a Folder,
    name: String,
    is_there: bool,
}

impl<'a> DraftFile<'a> {
    fn create(folder: &'a Folder, mode: u32) -> io::Result<(Self, File)> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        loop {
            // The name is hidden, so that listings skip it. A file of that name may be left from a process that died.
            let n = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = drafts::name(n);
            match folder.file(&name, OpenMode::New(mode), LinkPolicy::Never) {
                Ok(file) => {
                    // The lock shows that this draft is not left over from a dead process. On file systems without
                    // locks, our process id in its name shows the same.
                    let _ = file.try_lock();
                    return Ok((Self { folder, name, is_there: true }, file));
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Renames it to its final name. If no file was expected there, a file that another program has created since is
    /// not replaced.
    fn put(&mut self, name: &str, may_replace: bool) -> io::Result<()> {
        let moved = self.folder.rename(&self.name, name, may_replace);
        self.is_there = moved.is_err();
        moved
    }
}

impl Drop for DraftFile<'_> {
    fn drop(&mut self) {
        if self.is_there {
            let _ = self.folder.remove_file(&self.name);
        }
    }
}

/// Bytes at each end of a file that are read to find out its encoding and line endings.
const LOOKED_AT: usize = 8 << 10;

/// The beginning and the end of a file.
struct FileEnds {
    start: Vec<u8>,
    end: Vec<u8>,
}

impl FileEnds {
    fn of(mut file: &File, len: u64) -> io::Result<Self> {
        let mut read = |from: u64, most: usize| -> io::Result<Vec<u8>> {
            let mut bytes = Vec::new();
            file.seek(SeekFrom::Start(from))?;
            file.take(most as u64).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let start = read(0, LOOKED_AT)?;
        Ok(Self { start, end: read(len.saturating_sub(LOOKED_AT as u64) & !1, LOOKED_AT + 1)? })
    }
}

fn append_to(mut file: &File, ends: &FileEnds, line: &str) -> io::Result<()> {
    file.write_all(&Encoding::of(&ends.start).line_behind(&ends.end, line))?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_a_file_is_sha_256_whether_it_is_kept_or_only_read() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(crate::hash(b"abc").to_string(), abc);
        let content: Vec<u8> = (0..1_000_000u32).map(|at| at as u8).collect();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&content).unwrap();
        for most in [0, 10, content.len()] {
            file.rewind().unwrap();
            let (hash, kept) = taken_in(file.try_clone().unwrap(), most).unwrap();
            assert_eq!(hash, crate::hash(&content), "{most}");
            assert_eq!(kept.is_some(), most == content.len());
        }
    }

    #[test]
    fn a_write_that_cannot_be_put_in_its_place_leaves_nothing_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("taken")).unwrap();
        std::fs::write(folder.path().join("file"), "theirs").unwrap();
        let opened = Folder::open(folder.path()).unwrap();
        for name in ["taken", "file", "no/such/folder"] {
            assert!(!matches!(replace_in(&opened, name, b"ours", None), Ok(true)), "{name}");
        }
        let mut names: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["file", "taken"]);
        assert_eq!(std::fs::read(folder.path().join("file")).unwrap(), b"theirs");
    }

    #[test]
    fn what_somebody_else_wrote_since_it_was_read_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        let workspace = Workspace::open(folder.path()).unwrap();
        let path = workspace.locate("file").unwrap();
        let write = |content: &str, existing: Option<&PathContent>| {
            let written = workspace.replace(&path, content.as_bytes(), existing, false).unwrap();
            (matches!(written, WriteOutcome::Done(_)), std::fs::read_to_string(&file).unwrap())
        };
        std::fs::write(&file, "theirs").unwrap();
        assert_eq!(write("ours", None), (false, "theirs".into()));
        let read = workspace.existing(&path, 100).unwrap().unwrap();
        assert_eq!(write("ours", Some(&read)), (true, "ours".into()));
        // The same file, of the same length, with the same stamps.
        let read = workspace.existing(&path, 100).unwrap().unwrap();
        std::fs::write(&file, "more").unwrap();
        let stamp = disk::stamp_of(&File::open(&file).unwrap()).unwrap();
        assert_eq!(write("ours", Some(&PathContent { stamp, ..read })), (false, "more".into()));
    }
}
