//! The state of a file at one moment, without its content, in the same form on every system.

#[cfg(unix)]
use rustix::fs::{FileType, Stat};
use updraft_run::{FileKind, FileMetadata};

/// The kind of a directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A named pipe.
    Pipe,
    /// A socket.
    Socket,
    /// A device.
    Device,
    /// Something else, or the system did not say.
    Unknown,
}

/// The state of a path. Values that a system does not provide are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Its kind.
    pub kind: PathKind,
    /// The permission bits.
    pub mode: u32,
    /// Bytes of content.
    pub len: u64,
    /// The number of hard links.
    pub names: u64,
    /// The owner: user and group.
    pub owner: (u32, u32),
    /// When its content last changed, in nanoseconds since 1970.
    pub modified: i64,
    /// When its inode last changed (ctime), in nanoseconds since 1970. On systems without that, the same as
    /// `modified`.
    pub changed: i64,
    /// The device and inode, which identify the file.
    pub inode: (u64, u64),
}

impl Stamp {
    /// The metadata as recorded.
    pub fn form(&self) -> FileMetadata {
        let kind = match self.kind {
            PathKind::File => FileKind::File,
            PathKind::Link => FileKind::Link,
            PathKind::Folder => FileKind::Folder,
            PathKind::Pipe | PathKind::Socket | PathKind::Device | PathKind::Unknown => FileKind::Other,
        };
        let has_content = matches!(kind, FileKind::File | FileKind::Link);
        let len = if has_content { self.len } else { 0 };
        FileMetadata { kind, mode: self.mode, len, modified: has_content.then_some(self.modified) }
    }

    /// Whether it is unchanged. A folder's times change with every entry added or removed; those entries are compared
    /// themselves.
    pub fn is_as(&self, other: &Stamp) -> bool {
        let of_folder = |about: &Stamp| (about.mode, about.owner, about.inode);
        if self.is_folder() && other.is_folder() { of_folder(self) == of_folder(other) } else { self == other }
    }

    /// Whether it has further hard links.
    pub fn has_other_names(&self) -> bool {
        self.names > 1
    }

    /// Whether it is a folder.
    pub fn is_folder(&self) -> bool {
        self.kind == PathKind::Folder
    }
}

#[cfg(unix)]
impl PathKind {
    /// From the file type that the system reports.
    pub fn of(told: FileType) -> Self {
        match told {
            FileType::RegularFile => PathKind::File,
            FileType::Directory => PathKind::Folder,
            FileType::Symlink => PathKind::Link,
            FileType::Fifo => PathKind::Pipe,
            FileType::Socket => PathKind::Socket,
            FileType::CharacterDevice | FileType::BlockDevice => PathKind::Device,
            FileType::Unknown => PathKind::Unknown,
        }
    }
}

#[cfg(unix)]
#[allow(clippy::unnecessary_cast, clippy::cast_lossless, reason = "systems give their numbers other widths")]
impl Stamp {
    /// From the metadata that the system reports.
    pub fn of(stat: &Stat) -> Self {
        let nanoseconds = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        Stamp {
            kind: PathKind::of(FileType::from_raw_mode(stat.st_mode)),
            mode: stat.st_mode as u32 & 0o7777,
            len: stat.st_size as u64,
            names: stat.st_nlink as u64,
            owner: (stat.st_uid, stat.st_gid),
            modified: nanoseconds(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            changed: nanoseconds(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
            inode: (stat.st_dev as u64, stat.st_ino),
        }
    }
}
