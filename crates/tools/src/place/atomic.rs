//! Writing a file so that others see the old content or the new, never something between, whenever the power goes.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, RenameFlags, Stat, Uid};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use updraft_run::{Change, Failure, FailureKind, Form, FormKind, Hash};

use crate::text::Encoding;

use super::{Inside, Links, Workspace, failure, open_beneath, refuse_unless_file};

/// Bytes of a file that is hashed: more would take longer than a call may.
const LARGEST: u64 = 1 << 30;

/// A file that is about to be replaced.
pub(crate) struct Existing {
    /// The hash of its content.
    pub(crate) hash: Hash,
    /// Its content, unless it is larger than was asked for.
    pub(crate) bytes: Option<Vec<u8>>,
    stat: Stat,
}

impl Existing {
    /// How many bytes it has.
    pub(crate) fn len(&self) -> usize {
        self.stat.st_size as usize
    }

    /// Whether it can be reached by a second name.
    pub(crate) fn has_other_names(&self) -> bool {
        self.stat.st_nlink > 1
    }

    /// What it is besides its content.
    pub(crate) fn form(&self) -> Form {
        form_of(&self.stat)
    }
}

/// What something is besides its content.
pub(crate) fn form_of(stat: &Stat) -> Form {
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => FormKind::File,
        FileType::Symlink => FormKind::Link,
        FileType::Directory => FormKind::Folder,
        _ => FormKind::Other,
    };
    let has_content = matches!(kind, FormKind::File | FormKind::Link);
    let modified = stat.st_mtime.saturating_mul(1_000_000_000).saturating_add(stat.st_mtime_nsec.cast_signed());
    Form {
        kind,
        mode: stat.st_mode & 0o7777,
        len: if has_content { stat.st_size as u64 } else { 0 },
        modified: has_content.then_some(modified),
    }
}

impl Workspace {
    /// Takes a path that may be written to: a file, and not of git's own storage. What git acts on (hooks, settings) may
    /// be, if a person agrees; who prepares the call says so.
    pub(crate) fn locate_for_writing(&self, path: &str) -> Result<Inside, Failure> {
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

    /// The file at a path, reached without links; `None` if there is none. Holds up to `most` bytes of it.
    pub(crate) fn existing(&self, path: &Inside, most: usize) -> Result<Option<Existing>, Failure> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = match open_beneath(self.dir(), path.as_str(), flags, Mode::empty(), Links::Never) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(failure(path, errno)),
        };
        let stat = rustix::fs::fstat(&file).map_err(|errno| failure(path, errno))?;
        refuse_unless_file(path, &stat)?;
        if stat.st_size as u64 > LARGEST {
            let why = format!("`{path}` has {} bytes; files of more than {LARGEST} are not changed", stat.st_size);
            return Err(Failure::new(FailureKind::Tool, why));
        }
        let (hash, bytes) = taken_in(File::from(file), most)
            .map_err(|error| Failure::new(FailureKind::Tool, format!("`{path}` could not be read: {error}")))?;
        Ok(Some(Existing { hash, bytes, stat }))
    }

    /// Puts new content at a path, through a file beside it that is synced and renamed. Folders that are missing are
    /// made, and given back. On failure the old content stands and nothing is left beside it, but for the folders.
    pub(crate) fn replace(
        &self,
        path: &Inside,
        content: &[u8],
        existing: Option<&Existing>,
    ) -> Result<Vec<Change>, Failure> {
        let (folder, name) = split(path)?;
        let (folder, made) = self.make_folders(&folder)?;
        let stat = existing.map(|existing| &existing.stat);
        replace_in(folder.as_fd(), name, content, stat).map_err(|errno| failure(path, errno))?;
        Ok(made)
    }

    /// Adds a line to a file and returns once it is on disk. One that does not end its last line is given an end first.
    pub(crate) fn append(&self, path: &Inside, line: &str) -> Result<Vec<Change>, Failure> {
        let (folder, name) = split(path)?;
        // A device is not opened for writing even for a moment: for some, opening is an act.
        if let Ok(stat) = self.stat(path, Links::Never) {
            refuse_unless_file(path, &stat)?;
        }
        let (folder, made) = self.make_folders(&folder)?;
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = open_beneath(folder.as_fd(), name, flags, Mode::from(0o666), Links::Never)
            .map_err(|errno| failure(path, errno))?;
        let stat = rustix::fs::fstat(&file).map_err(|errno| failure(path, errno))?;
        refuse_unless_file(path, &stat)?;
        if stat.st_nlink > 1 {
            // Unlike a write, which puts a new file in place of this name only.
            let why = "has other names (hard links), which the line would be added to as well; use write_file";
            return Err(Failure::new(FailureKind::Security, format!("`{path}` {why}")));
        }
        let wrote = append_to(&file, stat.st_size as u64, line).and_then(|()| rustix::fs::fsync(&folder));
        wrote.map_err(|errno| failure(path, errno))?;
        Ok(made)
    }

    /// Opens a folder without following links, making what is missing of it. Says what was made.
    pub(super) fn make_folders(&self, path: &Inside) -> Result<(OwnedFd, Vec<Change>), Failure> {
        let failed = |errno| failure(path, errno);
        let mut folder = self.open_folder(&Inside::root(), Links::Never)?;
        let (mut made, mut at) = (Vec::new(), Inside::root());
        for part in path.parts() {
            at = at.join(part);
            folder = match open_part(folder.as_fd(), part) {
                Err(Errno::NOENT) => {
                    let is_ours = match rustix::fs::mkdirat(&folder, part, Mode::from(0o777)) {
                        Ok(()) => true,
                        Err(Errno::EXIST) => false,
                        Err(errno) => return Err(failed(errno)),
                    };
                    let opened = open_part(folder.as_fd(), part).map_err(failed)?;
                    if is_ours {
                        rustix::fs::fsync(&folder).map_err(failed)?;
                        let now = rustix::fs::fstat(&opened).map(|stat| form_of(&stat)).map_err(failed)?;
                        made.push(Change { path: at.to_string(), now: Some(now), ..Change::default() });
                    }
                    opened
                }
                opened => opened.map_err(failed)?,
            };
        }
        Ok((folder, made))
    }
}

pub(super) fn split(path: &Inside) -> Result<(Inside, &str), Failure> {
    path.split()
        .ok_or_else(|| Failure::new(FailureKind::Validation, "the path is the workspace itself; expected a file"))
}

fn open_part(folder: BorrowedFd<'_>, name: &str) -> Result<OwnedFd, Errno> {
    open_beneath(folder, name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty(), Links::Never)
}

/// The hash of a file, and its content if that is at most `most` bytes.
pub(super) fn taken_in(mut file: File, most: usize) -> std::io::Result<(Hash, Option<Vec<u8>>)> {
    let mut bytes = Vec::new();
    (&mut file).take(most as u64 + 1).read_to_end(&mut bytes)?;
    let mut digest = Sha256::new_with_prefix(&bytes);
    if bytes.len() <= most {
        return Ok((Hash(digest.finalize().into()), Some(bytes)));
    }
    let mut chunk = vec![0; 256 << 10];
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok((Hash(digest.finalize().into()), None)),
            count => digest.update(&chunk[..count]),
        }
    }
}

/// Puts a file in its place, with the owner and mode of the one whose place it takes.
pub(super) fn replace_in(
    folder: BorrowedFd<'_>,
    name: &str,
    content: &[u8],
    existing: Option<&Stat>,
) -> Result<(), Errno> {
    let (mut beside, file) = Beside::create(folder, if existing.is_some() { 0o600 } else { 0o666 })?;
    write_all(&file, content)?;
    if let Some(stat) = existing {
        let (owner, group) = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
        // Only root may give files away; for others it stays the file of whoever wrote it.
        let _ = rustix::fs::fchown(&file, Some(owner), Some(group));
        rustix::fs::fchmod(&file, Mode::from_raw_mode(stat.st_mode & 0o777))?;
    }
    rustix::fs::fsync(&file)?;
    beside.put(name, existing.is_some())?;
    rustix::fs::fsync(folder)
}

/// Puts a file in its place with the mode given, in place of what is there.
pub(super) fn restore_in(
    folder: BorrowedFd<'_>,
    name: &str,
    content: &[u8],
    mode: u32,
    replaced: Option<&Stat>,
) -> Result<(), Errno> {
    let (mut beside, file) = Beside::create(folder, 0o600)?;
    write_all(&file, content)?;
    if let Some(stat) = replaced {
        // Only root may give files away; for others it stays the file of whoever wrote it.
        let _ = rustix::fs::fchown(&file, Some(Uid::from_raw(stat.st_uid)), Some(Gid::from_raw(stat.st_gid)));
    }
    rustix::fs::fchmod(&file, Mode::from_raw_mode(mode & 0o7777))?;
    rustix::fs::fsync(&file)?;
    beside.put(name, replaced.is_some())?;
    rustix::fs::fsync(folder)
}

/// The new content while it is not yet in its place. Removed when dropped.
struct Beside<'a> {
    folder: BorrowedFd<'a>,
    name: String,
    is_there: bool,
}

impl<'a> Beside<'a> {
    fn create(folder: BorrowedFd<'a>, mode: u32) -> Result<(Self, OwnedFd), Errno> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        loop {
            // Hidden, so that listings pass it over. One of that name may be left from a process that died.
            let n = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = format!(".updraft-{:x}-{n:x}.tmp", std::process::id());
            match open_beneath(folder, &name, flags, Mode::from(mode), Links::Never) {
                Ok(file) => return Ok((Self { folder, name, is_there: true }, file)),
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
        }
    }
}

impl Beside<'_> {
    /// Moves it to its place. Where nothing was there before, what someone else has put there since is not replaced.
    fn put(&mut self, name: &str, may_replace: bool) -> Result<(), Errno> {
        let flags = if may_replace { RenameFlags::empty() } else { RenameFlags::NOREPLACE };
        let moved = match rustix::fs::renameat_with(self.folder, self.name.as_str(), self.folder, name, flags) {
            // Some file systems know no flags.
            Err(Errno::INVAL) => rustix::fs::renameat(self.folder, self.name.as_str(), self.folder, name),
            other => other,
        };
        self.is_there = moved.is_err();
        moved
    }
}

impl Drop for Beside<'_> {
    fn drop(&mut self) {
        if self.is_there {
            let _ = rustix::fs::unlinkat(self.folder, self.name.as_str(), AtFlags::empty());
        }
    }
}

/// Bytes at the end of a file that show how its lines end.
const LOOKED_AT: usize = 8 << 10;

fn append_to(file: &OwnedFd, len: u64, line: &str) -> Result<(), Errno> {
    let read = |from: u64, most: usize| -> Result<Vec<u8>, Errno> {
        let mut bytes = vec![0; most.min((len - from) as usize)];
        let count = rustix::io::pread(file, bytes.as_mut_slice(), from)?;
        bytes.truncate(count);
        Ok(bytes)
    };
    let encoding = Encoding::of(&read(0, 3)?);
    let end = read(len.saturating_sub(LOOKED_AT as u64) & !1, LOOKED_AT + 1)?;
    write_all(file, &encoding.line_behind(&end, line))?;
    rustix::fs::fsync(file)
}

fn write_all(file: &OwnedFd, content: &[u8]) -> Result<(), Errno> {
    let mut file = File::from(file.try_clone().map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?);
    file.write_all(content).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_that_cannot_be_put_in_its_place_leaves_nothing_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("taken")).unwrap();
        std::fs::write(folder.path().join("file"), "theirs").unwrap();
        let opened = File::open(folder.path()).unwrap();
        for name in ["taken", "file", "no/such/folder"] {
            assert!(replace_in(opened.as_fd(), name, b"ours", None).is_err(), "{name}");
        }
        let mut names: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["file", "taken"]);
        assert_eq!(std::fs::read(folder.path().join("file")).unwrap(), b"theirs");
    }
}
