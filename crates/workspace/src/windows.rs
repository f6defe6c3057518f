//! File system access on Windows: folders are held by their real path, and every path is checked before it is used.
//! Untested there.
//!
//! This is weaker than descriptors: between the check and the use, another process may replace a folder with a link.
//! Modes are only "writable" or not, hard links are not detected, and a change that resets a file's times is not
//! noticed.

#![cfg_attr(not(windows), allow(dead_code, reason = "elsewhere this is built for its tests only"))]

use std::ffi::OsString;
use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use crate::LinkPolicy;
use crate::open_mode::OpenMode;
use crate::stamp::{PathKind, Stamp};

/// A folder, by its real path.
#[derive(Debug)]
pub struct WindowsFolder(PathBuf);

impl WindowsFolder {
    /// Opens a folder by its absolute path.
    pub fn open(path: &Path) -> io::Result<Self> {
        let real = path.canonicalize()?;
        if real.is_dir() { Ok(Self(real)) } else { Err(ErrorKind::NotADirectory.into()) }
    }

    /// Opens a file inside the folder.
    pub fn file(&self, path: impl AsRef<Path>, how: OpenMode, links: LinkPolicy) -> io::Result<File> {
        let path = self.reach(path.as_ref(), links)?;
        if path.is_dir() {
            return Err(ErrorKind::IsADirectory.into());
        }
        let mut options = OpenOptions::new();
        match how {
            OpenMode::Read => options.read(true),
            OpenMode::Append(_) => options.read(true).append(true).create(true),
            OpenMode::New(_) => options.write(true).create_new(true),
        };
        open_no_link(&mut options);
        let file = options.open(path)?;
        if file.metadata()?.is_symlink() { Err(LinkInPath.into()) } else { Ok(file) }
    }

    /// Opens a folder inside the folder.
    pub fn folder(&self, path: impl AsRef<Path>, links: LinkPolicy) -> io::Result<Self> {
        let path = self.reach(path.as_ref(), links)?;
        if path.metadata()?.is_dir() { Ok(Self(path)) } else { Err(ErrorKind::NotADirectory.into()) }
    }

    /// The stamp of a path inside the folder.
    pub fn about(&self, path: impl AsRef<Path>, links: LinkPolicy) -> io::Result<Stamp> {
        Ok(about(&self.reach(path.as_ref(), links)?.symlink_metadata()?))
    }

    /// The stamp of an entry of the folder; of a link, that of the link itself.
    pub fn look(&self, name: impl AsRef<Path>) -> io::Result<Stamp> {
        Ok(about(&self.0.join(name).symlink_metadata()?))
    }

    /// The stamp of the folder itself.
    pub fn itself(&self) -> io::Result<Stamp> {
        Ok(about(&self.0.metadata()?))
    }

    /// The target of a link in the folder.
    pub fn read_link(&self, name: &str) -> io::Result<Vec<u8>> {
        Ok(bytes_of(std::fs::read_link(self.0.join(name))?.into_os_string()))
    }

    /// Creates a link.
    pub fn make_link(&self, target: &[u8], name: &str) -> io::Result<()> {
        let target = str::from_utf8(target).map_err(|_| io::Error::from(ErrorKind::InvalidFilename))?;
        make_link(&self.0, Path::new(target), &self.0.join(name))
    }

    /// Creates a folder.
    pub fn make_folder(&self, name: &str) -> io::Result<()> {
        std::fs::create_dir(self.0.join(name))
    }

    /// Renames a file within the folder. An existing file is replaced only if `may_replace` is set.
    pub fn rename(&self, from: &str, to: &str, may_replace: bool) -> io::Result<()> {
        let (from, to) = (self.0.join(from), self.0.join(to));
        if may_replace {
            return std::fs::rename(from, to);
        }
        // A hard link fails if the name exists; a rename would replace it.
        match std::fs::hard_link(&from, &to) {
            Ok(()) => std::fs::remove_file(from),
            Err(_) if to.symlink_metadata().is_ok() => Err(ErrorKind::AlreadyExists.into()),
            // Some file systems do not support hard links.
            Err(_) => std::fs::rename(from, to),
        }
    }

    /// Removes a file or a link.
    pub fn remove_file(&self, name: &str) -> io::Result<()> {
        let path = self.0.join(name);
        // On Windows, a link to a folder is removed like a folder.
        if cfg!(windows) && path.is_symlink() && path.is_dir() {
            std::fs::remove_dir(path)
        } else {
            std::fs::remove_file(path)
        }
    }

    /// Removes an empty folder.
    pub fn remove_folder(&self, name: &str) -> io::Result<()> {
        std::fs::remove_dir(self.0.join(name))
    }

    /// All entries of the folder.
    pub fn entries(&self) -> io::Result<impl Iterator<Item = io::Result<(OsString, PathKind)>>> {
        let entry = |entry: std::fs::DirEntry| Ok((entry.file_name(), kind(entry.file_type()?)));
        Ok(std::fs::read_dir(&self.0)?.map(move |found| found.and_then(entry)))
    }

    /// Takes the folder's lock. Folders cannot be locked on Windows, so this always succeeds.
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "as where folders can be locked")]
    pub fn try_lock(&self) -> io::Result<bool> {
        Ok(true)
    }

    /// Does nothing: a folder cannot be synced on Windows; the file system does that itself.
    #[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "the same signature as where it can fail")]
    pub fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    /// The full path, after checking that it stays inside.
    fn reach(&self, path: &Path, links: LinkPolicy) -> io::Result<PathBuf> {
        let mut whole = self.0.clone();
        let mut is_there = true;
        for part in path.components() {
            match part {
                Component::CurDir => continue,
                // On Windows a colon names a stream of a file, and a drive.
                Component::Normal(name) if !name.as_encoded_bytes().contains(&b':') => whole.push(name),
                _ => return Err(ErrorKind::CrossesDevices.into()),
            }
            if matches!(links, LinkPolicy::Never) && is_there {
                match whole.symlink_metadata() {
                    Ok(about) if about.is_symlink() => return Err(LinkInPath.into()),
                    Ok(_) => {}
                    Err(error) if error.kind() == ErrorKind::NotFound => is_there = false,
                    Err(error) => return Err(error),
                }
            }
        }
        match links {
            LinkPolicy::Inside => {
                let real = whole.canonicalize()?;
                if real.starts_with(&self.0) { Ok(real) } else { Err(ErrorKind::CrossesDevices.into()) }
            }
            LinkPolicy::Never => {
                // A folder also has a short name, which the list of guarded names does not contain.
                let there = whole.ancestors().find(|above| above.exists()).unwrap_or(&self.0);
                let real = there.canonicalize()?;
                let is_same = real.as_os_str().eq_ignore_ascii_case(there.as_os_str());
                if is_same { Ok(whole) } else { Err(LinkInPath.into()) }
            }
        }
    }
}

/// The path has a link that is not followed.
#[derive(Debug, thiserror::Error)]
#[error("it goes through a link or a short name, which is not followed")]
struct LinkInPath;

impl From<LinkInPath> for io::Error {
    fn from(link: LinkInPath) -> Self {
        io::Error::other(link)
    }
}

/// The stamp of an open file.
pub fn stamp_of(file: &File) -> io::Result<Stamp> {
    Ok(about(&file.metadata()?))
}

/// Whether a process with this id exists. That is not known here, so every process counts as running.
pub(crate) fn is_running(_: u32) -> bool {
    true
}

/// Makes a file writable or read-only; Windows has no other modes.
pub(crate) fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    let mut permissions = file.metadata()?.permissions();
    permissions.set_readonly(mode & 0o200 == 0);
    file.set_permissions(permissions)
}

/// Does nothing: a new file belongs to its creator.
pub(crate) fn give(_: &File, _: &Stamp) {}

/// The bytes of a link's target.
pub fn bytes_of(path: OsString) -> Vec<u8> {
    path.into_encoded_bytes()
}

/// Whether the error means that the path has a link that is not followed.
pub(crate) fn met_a_link(error: &io::Error) -> bool {
    error.get_ref().is_some_and(<dyn std::error::Error + Send + Sync>::is::<LinkInPath>)
}

/// Always false: devices are not files on Windows.
pub(crate) fn met_a_device(_: &io::Error) -> bool {
    false
}

/// Always false: no special kernel feature is needed on Windows.
pub(crate) fn met_an_old_kernel(_: &io::Error) -> bool {
    false
}

fn kind(told: FileType) -> PathKind {
    if told.is_symlink() {
        PathKind::Link
    } else if told.is_dir() {
        PathKind::Folder
    } else if told.is_file() {
        PathKind::File
    } else {
        PathKind::Unknown
    }
}

fn about(told: &Metadata) -> Stamp {
    let since_1970 = |time: io::Result<SystemTime>| {
        let passed = time.ok().and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok()).unwrap_or_default();
        i64::try_from(passed.as_nanos()).unwrap_or(i64::MAX)
    };
    let (modified, made) = (since_1970(told.modified()), since_1970(told.created()));
    let full = if told.is_dir() { 0o777 } else { 0o666 };
    Stamp {
        kind: kind(told.file_type()),
        mode: if told.permissions().readonly() { full & 0o555 } else { full },
        len: told.len(),
        names: 1,
        owner: (0, 0),
        modified,
        changed: modified.max(made),
        inode: (0, 0),
    }
}

/// Opens the link itself if the last component of the path is a link.
#[cfg(windows)]
fn open_no_link(options: &mut OpenOptions) {
    const OPEN_REPARSE_POINT: u32 = 0x0020_0000;
    std::os::windows::fs::OpenOptionsExt::custom_flags(options, OPEN_REPARSE_POINT);
}

#[cfg(not(windows))]
fn open_no_link(_: &mut OpenOptions) {}

/// On Windows a link stores whether it leads to a folder.
#[cfg(windows)]
fn make_link(folder: &Path, target: &Path, at: &Path) -> io::Result<()> {
    if folder.join(target).is_dir() {
        std::os::windows::fs::symlink_dir(target, at)
    } else {
        std::os::windows::fs::symlink_file(target, at)
    }
}

#[cfg(not(windows))]
fn make_link(_: &Path, target: &Path, at: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, at)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn tree() -> (tempfile::TempDir, WindowsFolder) {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("root");
        std::fs::create_dir_all(root.join("a")).unwrap();
        std::fs::write(root.join("a/f"), "inside").unwrap();
        std::fs::write(outer.path().join("secret"), "outside").unwrap();
        symlink("../secret", root.join("out")).unwrap();
        symlink("..", root.join("a/up")).unwrap();
        symlink("a", root.join("in")).unwrap();
        let folder = WindowsFolder::open(&root).unwrap();
        (outer, folder)
    }

    #[test]
    fn links_are_followed_inside_only_and_never_for_writing() {
        let (_outer, folder) = tree();
        let read = |path: &str, links| {
            folder.file(path, OpenMode::Read, links).map_err(|error| (met_a_link(&error), error.kind()))
        };
        assert!(read("in/f", LinkPolicy::Inside).is_ok());
        for path in ["out", "in/up/../../secret", "../secret", "/etc/passwd", "a:b"] {
            assert_eq!(read(path, LinkPolicy::Inside).unwrap_err(), (false, ErrorKind::CrossesDevices), "{path}");
        }
        for path in ["out", "in/f", "a/up/a/f"] {
            assert!(read(path, LinkPolicy::Never).unwrap_err().0, "{path}");
        }
        assert!(folder.file("in/new", OpenMode::Append(0o666), LinkPolicy::Never).is_err());
        assert_eq!(read("a/none/deeper", LinkPolicy::Never).unwrap_err(), (false, ErrorKind::NotFound));
        assert_eq!(read("a", LinkPolicy::Never).unwrap_err(), (false, ErrorKind::IsADirectory));
    }

    #[test]
    fn a_new_name_replaces_nothing_unless_it_may() {
        let (outer, folder) = tree();
        let folder = folder.folder("a", LinkPolicy::Never).unwrap();
        drop(folder.file("new", OpenMode::New(0o600), LinkPolicy::Never).unwrap());
        assert_eq!(folder.rename("new", "f", false).unwrap_err().kind(), ErrorKind::AlreadyExists);
        folder.rename("new", "g", false).unwrap();
        assert_eq!(folder.look("new").unwrap_err().kind(), ErrorKind::NotFound);
        folder.rename("g", "f", true).unwrap();
        assert_eq!(std::fs::read(outer.path().join("root/a/f")).unwrap(), b"");
    }

    #[test]
    fn what_is_there_is_told_without_following_it() {
        let (_outer, folder) = tree();
        let mut all: Vec<_> = folder.entries().unwrap().map(Result::unwrap).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        assert_eq!(
            all,
            [("a".into(), PathKind::Folder), ("in".into(), PathKind::Link), ("out".into(), PathKind::Link)]
        );
        assert_eq!(folder.look("out").unwrap().kind, PathKind::Link);
        assert_eq!(folder.read_link("in").unwrap(), b"a");
        assert_eq!(folder.about("in", LinkPolicy::Inside).unwrap().kind, PathKind::Folder);
    }
}
