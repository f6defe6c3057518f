//! Opens the file of an index. A damaged one is moved aside: everything in it can be made again from the files.

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::path::{Path, PathBuf};

use updraft_knowledge::{Error, Index};

/// An open index, and which file it is.
pub(super) struct OpenIndex {
    index: Index,
    file: Option<u64>,
}

/// The open index. It is opened again if another process has replaced the file.
pub(super) fn current<'a>(open: &'a mut Option<OpenIndex>, file: &Path) -> Result<&'a Index, Error> {
    let number = number_of(file);
    if open.as_ref().is_some_and(|open| open.file != number) {
        *open = None;
    }
    if let Some(open) = open {
        return Ok(&open.index);
    }
    let (index, _) = open_or_replace(file)?;
    Ok(&open.insert(OpenIndex { index, file: number_of(file) }).index)
}

/// Opens an index, and says where the previous one is if that was damaged.
pub(super) fn open_or_replace(file: &Path) -> Result<(Index, Option<PathBuf>), Error> {
    make_folder(file)?;
    match Index::open(file) {
        Err(error) if error.is_damage() => {
            let moved = move_damaged(file)?;
            Ok((Index::open(file)?, moved))
        }
        opened => Ok((opened?, None)),
    }
}

/// Moves a damaged index aside and says where it is, unless another process has replaced it already.
pub(super) fn move_damaged(file: &Path) -> Result<Option<PathBuf>, Error> {
    let _alone = lock(file)?;
    if Index::open(file).and_then(|index| index.check()).is_ok() {
        return Ok(None);
    }
    let aside = with_ending(file, ".damaged");
    std::fs::rename(file, &aside).map_err(|source| Error::Io { path: file.to_owned(), source })?;
    for ending in ["-wal", "-shm"] {
        // Most often SQLite has removed them.
        let _ = std::fs::rename(with_ending(file, ending), with_ending(&aside, ending));
    }
    Ok(Some(aside))
}

/// Waits until no other process changes what lies beside the index.
pub(super) fn lock(file: &Path) -> Result<File, Error> {
    make_folder(file)?;
    let path = with_ending(file, ".lock");
    let locked = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
    let locked = locked.and_then(|opened| opened.lock().map(|()| opened));
    locked.map_err(|source| Error::Io { path, source })
}

/// A path beside the index, by its ending.
pub(super) fn with_ending(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// The index holds what files say, so nobody else may read it.
fn make_folder(file: &Path) -> Result<(), Error> {
    let Some(folder) = file.parent() else { return Ok(()) };
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder).map_err(|source| Error::Io { path: folder.to_owned(), source })
}

/// The number by which the file system knows a file; it stays the same while the file is changed.
fn number_of(file: &Path) -> Option<u64> {
    file.metadata().ok().map(|about| number(&about))
}

#[cfg(unix)]
fn number(about: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(about)
}

/// Windows does not let a file be replaced while it is open.
#[cfg(not(unix))]
fn number(_: &Metadata) -> u64 {
    0
}
