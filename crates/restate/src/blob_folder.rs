//! A folder that several workers reach, with large values by their hash: whole outputs, pictures, what agents were told.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use updraft_journal::{Blob, FileReaders, hash_of, process_number, write_value_file};
use updraft_run::ContentHash;

/// The file that says which folder it is.
pub(crate) const MARK: &str = "updraft-blobs";

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

    /// Sees whether a folder can be used: writes, reads and deletes a small file. `fresh` is a random text.
    pub fn check(folder: &Path, fresh: &str) -> io::Result<()> {
        let file = folder.join(format!("updraft-check-{}", &hash_of(fresh.as_bytes()).to_string()[..16]));
        write_synced(&file, fresh.as_bytes())?;
        let found = fs::read_to_string(&file);
        fs::remove_file(&file)?;
        if found? == fresh { Ok(()) } else { Err(io::Error::other("what was written was not read again")) }
    }

    /// The folder.
    pub(crate) fn place(&self) -> &Path {
        &self.folder
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
        write_value_file(&self.file_of(&blob.hash()), blob.bytes(), &self.folder, FileReaders::Usual)
    }

    /// The value with this hash, if it is there and whole. An error means that it may be there.
    pub(crate) fn get(&self, hash: &ContentHash) -> io::Result<Option<Blob>> {
        match fs::read(self.file_of(hash)) {
            Ok(bytes) => Ok((hash_of(&bytes) == *hash).then(|| Blob::new(bytes))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The text that a file holds; a new file gets this one. If several begin at the same moment, one of them wins.
pub(crate) fn kept_text(file: &Path, fresh: &str) -> io::Result<String> {
    if !file.exists() {
        let draft = file.with_extension(format!("{}.{}.part", process_number(), std::process::id()));
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

/// Writes a new file, and returns once it is on disk. A file or link that is there already is an error.
pub(crate) fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_tried_out_and_left_as_it_was() {
        let place = tempfile::tempdir().unwrap();
        BlobFolder::check(place.path(), "one").unwrap();
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
        assert_eq!(BlobFolder::check(&place.path().join("none"), "one").unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
