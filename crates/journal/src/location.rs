//! Checks where a journal may be: on a local disk, in a writable folder. Also helpers for private files.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::Error;

/// Less free space than this counts as none: SQLite's index of the write-ahead log alone needs 32 KiB.
const LEAST_ROOM: u64 = 256 << 10;

/// Creates the folder, and makes the path canonical, so that every process uses the same path.
pub(crate) fn prepare(path: &Path) -> Result<PathBuf, Error> {
    let folder = folder_of(path);
    let fresh = !folder.exists();
    let denied = |source: std::io::Error| match source.kind() {
        std::io::ErrorKind::StorageFull => Error::Full { path: path.to_path_buf() },
        _ => Error::ReadOnly { path: path.to_path_buf(), why: source.to_string() },
    };
    make_folder(folder).map_err(denied)?;
    if fresh {
        folder.ancestors().skip(1).take(2).for_each(|above| drop(sync_folder(above)));
    }
    settle(path)
}

/// The canonical path of a journal in an existing folder.
pub(crate) fn settle(path: &Path) -> Result<PathBuf, Error> {
    let folder = folder_of(path);
    refuse_network(path, folder)?;
    let name = path
        .file_name()
        .ok_or_else(|| Error::NotAJournal { path: path.to_path_buf(), why: "it is not the name of a file".into() })?;
    let folder = folder.canonicalize().map_err(|source| Error::io(path, source))?;
    Ok(folder.join(name))
}

/// Creates a folder that only its owner can read, because runs contain what people and files said.
pub(crate) fn make_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

/// Creates a file that only its owner can read, because it contains what agents were told and answered.
pub(crate) fn create_private(path: &Path) -> std::io::Result<std::fs::File> {
    let mut options = fs::OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.write(true).create(true).truncate(true).open(path)
}

/// Opens a file that only its owner can read, for reading and writing; without `create` it must exist.
pub(crate) fn open_private(path: &Path, create: bool) -> std::io::Result<std::fs::File> {
    let mut options = fs::OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.read(true).write(true).create(create).truncate(false).open(path)
}

/// Syncs the names in a folder. Not possible on Windows.
pub(crate) fn sync_folder(folder: &Path) -> std::io::Result<()> {
    if cfg!(windows) {
        return Ok(());
    }
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    File::open(folder)?.sync_all()
}

/// The path with a suffix: `-wal` for the write-ahead log.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Whether the disk of a file has almost no space left.
pub(crate) fn is_full(path: &Path) -> bool {
    room(path).is_some_and(|room| room < LEAST_ROOM)
}

/// How many bytes are free on the disk of a file, if that is known.
#[cfg(unix)]
#[allow(clippy::useless_conversion, reason = "systems give their numbers other widths")]
pub(crate) fn room(path: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder_of(path)).ok()?;
    (disk.f_blocks > 0).then(|| disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Not checked on this system: SQLite itself reports a full disk. Untested.
#[cfg(not(unix))]
pub(crate) fn room(_: &Path) -> Option<u64> {
    None
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn refuse_network(path: &Path, folder: &Path) -> Result<(), Error> {
    match network_kind(folder) {
        Some(kind) => Err(Error::Network { path: path.to_path_buf(), kind }),
        None => Ok(()),
    }
}

#[cfg(target_os = "linux")]
fn network_kind(folder: &Path) -> Option<&'static str> {
    rustix::fs::statfs(folder).ok().and_then(|disk| kind_of(disk.f_type as u32))
}

#[cfg(not(target_os = "linux"))]
fn network_kind(_folder: &Path) -> Option<&'static str> {
    None
}

/// The magic numbers of statfs(2). FUSE is allowed: there is often a local disk behind it (virtiofs, encrypted
/// folders), and if it does not support shared memory, SQLite itself reports that.
#[cfg(target_os = "linux")]
fn kind_of(magic: u32) -> Option<&'static str> {
    Some(match magic {
        0x6969 => "NFS",
        0x517b => "SMB",
        0xfe53_4d42 => "SMB2",
        0xff53_4d42 => "CIFS",
        0x0102_1997 => "9p",
        0x5346_414f => "AFS",
        0x00c3_6400 => "Ceph",
        0x7375_7245 => "Coda",
        0x0bd0_0bd0 => "Lustre",
        0x564c => "NCP",
        _ => return None,
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_named_and_local_ones_are_not() {
        assert_eq!(kind_of(0x6969), Some("NFS"));
        assert_eq!(kind_of(0xff53_4d42), Some("CIFS"));
        assert_eq!(kind_of(0xef53), None, "ext4");
        assert_eq!(kind_of(0x6573_5546), None, "FUSE");
    }

    #[test]
    fn a_path_is_spelled_the_same_however_it_was_given() {
        let folder = tempfile::tempdir().unwrap();
        let plain = prepare(&folder.path().join("a/j.db")).unwrap();
        let crooked = prepare(&folder.path().join("a/../a/./j.db")).unwrap();
        assert_eq!(plain, crooked);
    }
}
