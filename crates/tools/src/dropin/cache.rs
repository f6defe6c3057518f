//! The cached descriptions of drop-in files, by the hash of their content: one small file for each folder of tools.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use updraft_run::ContentHash;

use super::definition::FileDescription;

/// The descriptions of the files in one folder.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct DescriptionCache {
    /// The version that described them: a newer one may find more.
    reader: String,
    files: BTreeMap<String, DescriptionEntry>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct DescriptionEntry {
    hash: ContentHash,
    described: FileDescription,
}

impl DescriptionCache {
    /// Loads the cache of a folder. It is empty if another version wrote it or it cannot be read.
    pub(super) fn load(cache: &Path, folder: &Path, reader: &str) -> Self {
        let kept = std::fs::read(file(cache, folder)).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        kept.filter(|cache: &Self| cache.reader == reader).unwrap_or_else(|| Self::new(reader))
    }

    /// An empty cache.
    pub(super) fn new(reader: &str) -> Self {
        Self { reader: reader.to_owned(), ..Self::default() }
    }

    pub(super) fn get(&self, name: &str, hash: &ContentHash) -> Option<&FileDescription> {
        self.files.get(name).filter(|entry| entry.hash == *hash).map(|entry| &entry.described)
    }

    pub(super) fn put(&mut self, name: &str, hash: ContentHash, described: FileDescription) {
        self.files.insert(name.to_owned(), DescriptionEntry { hash, described });
    }

    /// Saves the cache, without files that no longer exist. If saving fails, the files are described again next time.
    pub(super) fn save(&mut self, cache: &Path, folder: &Path, is_there: impl Fn(&str) -> bool) {
        self.files.retain(|name, _| is_there(name));
        let text = serde_json::to_vec(self).unwrap_or_default();
        if let Err(error) = crate::replace_private(&file(cache, folder), &text) {
            tracing::debug!(%error, "could not save the cache of tool descriptions");
        }
    }
}

fn file(cache: &Path, folder: &Path) -> PathBuf {
    cache.join(format!("{}.json", updraft_workspace::hash(folder.as_os_str().as_encoded_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_counts_for_the_same_content_and_the_same_reader_only() {
        let place = tempfile::tempdir().unwrap();
        let (old, new) = (updraft_workspace::hash(b"old"), updraft_workspace::hash(b"new"));
        let mut cache = DescriptionCache::load(place.path(), Path::new("/tools"), "1");
        cache.put("a.py", old, FileDescription::faulty("broken"));
        cache.put("gone.py", old, FileDescription::default());
        cache.save(place.path(), Path::new("/tools"), |name| name == "a.py");

        let again = DescriptionCache::load(place.path(), Path::new("/tools"), "1");
        assert_eq!(again.get("a.py", &old), Some(&FileDescription::faulty("broken")));
        assert_eq!((again.get("a.py", &new), again.get("gone.py", &old)), (None, None));
        assert_eq!(DescriptionCache::load(place.path(), Path::new("/tools"), "2").get("a.py", &old), None);
        assert_eq!(DescriptionCache::load(place.path(), Path::new("/others"), "1").get("a.py", &old), None);
    }
}
