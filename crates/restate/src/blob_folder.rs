//! A folder that several workers reach, with large values by their hash: whole outputs, pictures, what agents were told.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use updraft_journal::{Blob, hash_of};
use updraft_run::{ContentHash, Record};

/// The file that says which folder it is.
const MARK: &str = "updraft-blobs";
/// How many digits a hash has.
const HASH: usize = 64;

/// A folder with large values. Cheap to clone.
#[derive(Clone, Debug)]
pub struct BlobFolder {
    folder: PathBuf,
    id: String,
}

impl BlobFolder {
    /// Opens a folder, and makes it if there is none. `fresh` is a random text for a new one.
    pub fn open(folder: &Path, fresh: &str) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let id = kept_text(&folder.join(MARK), fresh)?;
        Ok(Self { folder: folder.to_owned(), id })
    }

    /// Which folder it is: the same text on every machine that has it.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    fn file_of(&self, hash: &ContentHash) -> PathBuf {
        let name = hash.to_string();
        self.folder.join(&name[..2]).join(name)
    }

    /// Stores a value, and returns once it is on disk under its name.
    pub(crate) fn put(&self, blob: &Blob) -> io::Result<()> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let target = self.file_of(&blob.hash());
        if target.metadata().is_ok_and(|about| about.len() == blob.bytes().len() as u64) {
            return Ok(());
        }
        let parent = target.parent().unwrap_or(&self.folder);
        fs::create_dir_all(parent)?;
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        // Others may write the same value at the same time, from other machines.
        let draft = target.with_extension(format!("{}.{}.{number}.part", own_number(), std::process::id()));
        let written = write_synced(&draft, blob.bytes()).and_then(|()| fs::rename(&draft, &target));
        if written.is_err() {
            let _ = fs::remove_file(&draft);
        }
        written?;
        // Names in a folder cannot be synced on Windows.
        if cfg!(windows) { Ok(()) } else { File::open(parent)?.sync_all() }
    }

    /// The value with this hash, if it is there and whole. An error means that it may be there.
    pub(crate) fn get(&self, hash: &ContentHash) -> io::Result<Option<Blob>> {
        match fs::read(self.file_of(hash)) {
            Ok(bytes) => Ok((hash_of(&bytes) == *hash).then(|| Blob::new(bytes))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The values that records name, as far as they are here.
    pub(crate) fn named_in(&self, records: &[Record]) -> io::Result<Vec<Blob>> {
        let texts = records.iter().filter_map(|record| record.to_json().ok());
        let hashes: BTreeSet<ContentHash> = texts.flat_map(|text| hashes_in(&text)).collect();
        hashes.iter().filter_map(|hash| self.get(hash).transpose()).collect()
    }
}

/// Every hash that a text contains. Most of them name no value of ours, which costs one look at the disk each.
fn hashes_in(text: &[u8]) -> Vec<ContentHash> {
    let is_digit = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
    let runs = text.split(|byte| !is_digit(byte)).filter(|run| run.len() == HASH);
    runs.filter_map(|run| std::str::from_utf8(run).ok()?.parse().ok()).collect()
}

/// The text that a file holds; a new file gets this one. If several begin at the same moment, one of them wins.
pub(crate) fn kept_text(file: &Path, fresh: &str) -> io::Result<String> {
    if !file.exists() {
        let draft = file.with_extension(format!("{}.{}.part", own_number(), std::process::id()));
        write_synced(&draft, fresh.as_bytes())?;
        let made = fs::hard_link(&draft, file);
        fs::remove_file(&draft)?;
        match made {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(fs::read_to_string(file)?.trim().to_owned())
}

/// A random number of this process: those of several machines could have the same id.
pub(crate) fn own_number() -> u64 {
    static OWN: std::sync::LazyLock<u64> = std::sync::LazyLock::new(|| {
        use std::hash::{BuildHasher, Hasher};
        std::hash::RandomState::new().build_hasher().finish()
    });
    *OWN
}

/// Writes a new file, and returns once it is on disk. A file or link that is there already is an error.
pub(crate) fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use updraft_run::{Input, Timestamp};

    use super::*;

    #[test]
    fn values_are_found_by_the_hashes_that_records_name_and_damaged_ones_are_not() {
        let place = tempfile::tempdir().unwrap();
        let folder = BlobFolder::open(place.path(), "one").unwrap();
        let again = BlobFolder::open(place.path(), "two").unwrap();
        assert_eq!((folder.id(), again.id()), ("one", "one"));
        let (blob, other) = (Blob::new(b"much".to_vec()), Blob::new(b"more".to_vec()));
        folder.put(&blob).unwrap();
        folder.put(&blob).unwrap();
        let message = format!("see {} and {}", blob.hash(), other.hash());
        let record = Record { at: Timestamp(1), input: Input::Tell { message }, events: Vec::new() };
        assert_eq!(again.named_in(std::slice::from_ref(&record)).unwrap(), std::slice::from_ref(&blob));
        fs::write(folder.file_of(&blob.hash()), b"much else").unwrap();
        assert_eq!(again.named_in(std::slice::from_ref(&record)).unwrap(), []);
        // What cannot be read now is not taken for missing: a copy without it would lack it for good.
        fs::remove_file(folder.file_of(&blob.hash())).unwrap();
        fs::create_dir(folder.file_of(&blob.hash())).unwrap();
        assert!(again.named_in(&[record]).is_err());
    }
}
