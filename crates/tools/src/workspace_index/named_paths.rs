//! What people and agents named to be indexed beyond the workspace's own files: folders elsewhere, files that git
//! ignores, texts. A list beside the index, since the index itself may be made again at any time.

use std::path::{Path, PathBuf};

use updraft_knowledge::Error;
use updraft_workspace::replace_private;

use super::storage;

/// Most letters of a title that a file's name shows.
const SHOWN: usize = 60;

/// The list, and the folder of texts.
pub(super) struct NamedPaths {
    index: PathBuf,
}

impl NamedPaths {
    pub(super) fn beside(index: &Path) -> Self {
        Self { index: index.to_owned() }
    }

    /// Everything that was named, and the folder of texts if there is one.
    pub(super) fn all(&self) -> Vec<PathBuf> {
        let mut all = self.list();
        all.extend(Some(self.texts()).filter(|texts| texts.is_dir()));
        all
    }

    /// The folder of texts that are documents by themselves.
    pub(super) fn texts(&self) -> PathBuf {
        storage::with_ending(&self.index, ".texts")
    }

    /// Adds paths to the list.
    pub(super) fn add(&self, paths: &[PathBuf]) -> Result<(), Error> {
        self.change(|list| {
            // A file that was deleted is forgotten; one on a disk that is not there now is not.
            list.retain(|one| one.exists() || !one.parent().is_some_and(Path::is_dir));
            list.extend(paths.iter().cloned());
        })
    }

    /// Removes paths, and everything below them, from the list.
    pub(super) fn remove(&self, paths: &[PathBuf]) -> Result<(), Error> {
        self.change(|list| list.retain(|one| !paths.iter().any(|path| one.starts_with(path))))
    }

    /// Keeps a text as a document. The same title replaces it.
    pub(super) fn keep(&self, title: &str, text: &str) -> Result<PathBuf, Error> {
        let file = self.texts().join(file_name(title));
        let has_heading = text.trim_start().starts_with('#');
        let text = if has_heading { text.to_owned() } else { format!("# {title}\n\n{text}\n") };
        replace_private(&file, text.as_bytes()).map_err(|source| Error::Io { path: file.clone(), source })?;
        Ok(file)
    }

    fn file(&self) -> PathBuf {
        storage::with_ending(&self.index, ".paths.json")
    }

    fn list(&self) -> Vec<PathBuf> {
        let bytes = std::fs::read(self.file()).ok();
        bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    fn change(&self, change: impl FnOnce(&mut Vec<PathBuf>)) -> Result<(), Error> {
        let _alone = storage::lock(&self.index)?;
        let before = self.list();
        let mut list = before.clone();
        change(&mut list);
        list.sort();
        list.dedup();
        if list == before {
            return Ok(());
        }
        let file = self.file();
        let bytes = serde_json::to_vec_pretty(&list).unwrap_or_default();
        replace_private(&file, &bytes).map_err(|source| Error::Io { path: file, source })
    }
}

/// A name for a title: readable, and different for every title.
fn file_name(title: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ') { c } else { '-' };
    let shown: String = title.chars().take(SHOWN).map(plain).collect();
    let shown = shown.trim_matches(['.', ' ']);
    if shown == title && !shown.is_empty() {
        return format!("{shown}.md");
    }
    let hash = updraft_workspace::hash(title.as_bytes()).to_string();
    format!("{shown}-{}.md", &hash[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_become_names_that_stay_in_the_folder_and_differ() {
        assert_eq!(file_name("Tide tables 2026"), "Tide tables 2026.md");
        let odd = ["../../etc/passwd", "a/b", "a:b", "", "..", &"x".repeat(300)].map(file_name);
        assert!(odd.iter().all(|name| !name.contains('/') && !name.starts_with('.') && name.len() < 300), "{odd:?}");
        assert_eq!(odd.iter().collect::<std::collections::BTreeSet<_>>().len(), odd.len());
    }
}
