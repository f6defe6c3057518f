//! Stores values by their content hash: small ones in a table, large ones each in a file.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::OptionalExtension;
use updraft_run::{ContentHash, Timestamp};

use crate::batch::{Blob, hash_of};
use crate::journal::{JournalInner, blocking};
use crate::value_file::{FileReaders, write_value_file};
use crate::{Error, location};

/// Larger values are files. SQLite reads and writes smaller ones faster than the file system does.
const INLINE: usize = 1 << 20;

/// The age, in milliseconds, from which an unreferenced file is an orphan. A newer one may belong to a record that is
/// just being written.
const ORPHANED: u64 = 3_600_000;

/// Whether a value of this length is stored as a file.
pub(crate) fn is_file(len: usize) -> bool {
    len > INLINE
}

/// Writes the values that are stored as files, and returns once they are on disk under their names.
///
/// Must be called before the transaction that refers to them: a reference in the journal must never point to nothing.
pub(crate) async fn store_files(journal: &Path, blobs: &[Blob]) -> Result<(), Error> {
    let files: Vec<Blob> = blobs.iter().filter(|blob| is_file(blob.bytes().len())).cloned().collect();
    if files.is_empty() {
        return Ok(());
    }
    let journal = journal.to_path_buf();
    let writing = move || files.iter().try_for_each(|blob| write_file(&journal, blob));
    blocking(writing).await
}

/// Writes a value's file again if it is missing.
pub(crate) fn ensure_file(journal: &Path, blob: &Blob) -> Result<(), Error> {
    let whole = file_of(journal, &blob.hash()).metadata().is_ok_and(|about| about.len() == blob.bytes().len() as u64);
    if whole { Ok(()) } else { write_file(journal, blob) }
}

/// The value with this hash, checked against it.
pub(crate) fn read(journal: &JournalInner, hash: &ContentHash) -> Result<Option<Vec<u8>>, Error> {
    let found = journal.read(|connection| {
        connection
            .prepare_cached("SELECT body FROM blobs WHERE hash = ?1")?
            .query_row([hash.0], |row| row.get::<_, Option<Vec<u8>>>(0))
            .optional()
    })?;
    let bytes = match found {
        None => return Ok(None),
        Some(Some(body)) => body,
        Some(None) => {
            let file = file_of(&journal.shared.store.path, hash);
            fs::read(&file).map_err(|source| match source.kind() {
                std::io::ErrorKind::NotFound => {
                    Error::BadBlob { hash: *hash, why: format!("is missing: `{}` does not exist", file.display()) }
                }
                _ => Error::io(&file, source),
            })?
        }
    };
    if hash_of(&bytes) == *hash {
        Ok(Some(bytes))
    } else {
        Err(Error::BadBlob { hash: *hash, why: "is damaged: its content has another hash".into() })
    }
}

/// Removes a value's file; it is no error if the file is already gone.
pub(crate) fn remove_file(journal: &Path, hash: &ContentHash) -> Result<(), Error> {
    let file = file_of(journal, hash);
    match fs::remove_file(&file) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => Err(Error::io(&file, source)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Files that are old enough to be orphans if no record refers to them. Temporary files of that age are removed at
/// once.
pub(crate) fn old_files(journal: &Path, now: Timestamp) -> Vec<ContentHash> {
    let folders = fs::read_dir(folder(journal)).into_iter().flatten().flatten();
    let files = folders.filter_map(|folder| fs::read_dir(folder.path()).ok()).flatten().flatten();
    let mut found = Vec::new();
    for file in files.filter(|file| is_old(file, now)) {
        match file.file_name().to_str().and_then(|name| name.parse().ok()) {
            Some(hash) => found.push(hash),
            None => drop(fs::remove_file(file.path())),
        }
    }
    found
}

fn is_old(file: &fs::DirEntry, now: Timestamp) -> bool {
    let written = file.metadata().and_then(|about| about.modified()).ok();
    let written = written.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    written.is_some_and(|at| now.since(Timestamp(at.as_millis() as i64)).0 > ORPHANED)
}

/// The folder of the files: next to the journal and named after it, so that two journals in one folder do not share it.
pub(crate) fn folder(journal: &Path) -> PathBuf {
    location::beside(journal, "-blobs")
}

fn file_of(journal: &Path, hash: &ContentHash) -> PathBuf {
    folder(journal).join(format!("{:02x}", hash.0[0])).join(hash.to_string())
}

fn write_file(journal: &Path, blob: &Blob) -> Result<(), Error> {
    let target = file_of(journal, &blob.hash());
    let top = journal.parent().unwrap_or(journal);
    write_value_file(&target, blob.bytes(), top, FileReaders::Owner).map_err(|source| Error::io(&target, source))
}
