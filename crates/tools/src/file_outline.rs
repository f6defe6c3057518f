//! Names the files below a folder in few lines: small folders by their files, large and deep ones by how many they have.

use std::collections::BTreeMap;
use std::fmt;

/// Files from this size on are shown with it, in bytes.
const SIZED: u64 = 100_000;
/// Bytes that the size of a file, or the number of a folder's files, takes at most.
const BYTES_OF_A_NUMBER: usize = 16;

/// The files below a folder.
#[derive(Clone, Debug)]
pub struct FileOutline {
    root: String,
    /// By path; that of the root is empty, others end with a slash.
    folders: BTreeMap<String, OutlinedFolder>,
}

#[derive(Clone, Debug, Default)]
struct OutlinedFolder {
    files: Vec<(String, u64)>,
    folders: Vec<String>,
    /// Files in it and below it.
    count: usize,
}

/// How much an outline names.
#[derive(Clone, Copy, Debug)]
pub struct OutlineBounds {
    /// Most files and folders.
    pub names: usize,
    /// Most bytes, with a line for each.
    pub bytes: usize,
}

/// What a line of an outline is about. It is written behind the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutlineEntry {
    /// A file of this size.
    File(u64),
    /// A folder with this number of files.
    Folder(usize),
}

impl FileOutline {
    /// An outline of a folder, given by its path without a slash at its end; empty for the workspace.
    pub fn new(root: &str) -> Self {
        let root = if root.is_empty() || root == "." { String::new() } else { format!("{root}/") };
        let folders = BTreeMap::from([(root.clone(), OutlinedFolder::default())]);
        Self { root, folders }
    }

    /// Adds a file below the root.
    pub fn add_file(&mut self, path: &str, bytes: u64) {
        let Some(below) = path.strip_prefix(self.root.as_str()) else { return };
        let mut own = self.root.len();
        for (slash, _) in below.match_indices('/') {
            let deeper = self.root.len() + slash + 1;
            let is_new = !self.folders.contains_key(&path[..deeper]);
            let folder = self.folders.entry(path[..own].to_owned()).or_default();
            folder.count += 1;
            if is_new {
                folder.folders.push(path[..deeper].to_owned());
                self.folders.insert(path[..deeper].to_owned(), OutlinedFolder::default());
            }
            own = deeper;
        }
        let folder = self.folders.entry(path[..own].to_owned()).or_default();
        folder.count += 1;
        folder.files.push((path.to_owned(), bytes));
    }

    /// The names, in the order of their paths. Folders are opened level by level, those with the fewest entries first, as long
    /// as there is room. The root is always open.
    pub fn entries(&self, bounds: OutlineBounds) -> BTreeMap<String, OutlineEntry> {
        let mut entries = BTreeMap::new();
        // An open folder has its entries in place of its own.
        let (mut names, mut bytes) = (bounds.names.saturating_sub(1), bounds.bytes);
        let mut level = vec![&self.root];
        while !level.is_empty() {
            level.sort_by_key(|path| (self.folders[*path].entries(), *path));
            let mut next = Vec::new();
            for path in level {
                let folder = &self.folders[path];
                let is_open = *path == self.root || (folder.entries() <= names + 1 && folder.bytes() <= bytes);
                if !is_open {
                    continue;
                }
                entries.remove(path);
                names = (names + 1).saturating_sub(folder.entries());
                bytes = bytes.saturating_sub(folder.bytes());
                entries.extend(folder.files.iter().map(|(path, bytes)| (path.clone(), OutlineEntry::File(*bytes))));
                let inner = folder.folders.iter();
                entries.extend(inner.map(|path| (path.clone(), OutlineEntry::Folder(self.folders[path].count))));
                next.extend(&folder.folders);
            }
            level = next;
        }
        entries
    }

    /// The files and folders right below the root.
    pub fn entries_of_root(&self) -> BTreeMap<String, OutlineEntry> {
        self.entries(OutlineBounds { names: 0, bytes: 0 })
    }

    /// How many files there are.
    pub fn count(&self) -> usize {
        self.folders[&self.root].count
    }
}

impl OutlinedFolder {
    fn entries(&self) -> usize {
        self.files.len() + self.folders.len()
    }

    /// Bytes of the lines about its files and folders.
    fn bytes(&self) -> usize {
        let names = self.files.iter().map(|(path, _)| path).chain(&self.folders);
        names.map(|path| path.len() + BYTES_OF_A_NUMBER).sum()
    }
}

impl fmt::Display for OutlineEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(bytes) if *bytes < SIZED => Ok(()),
            Self::File(bytes) if *bytes < 1_000_000 => write!(f, "{} kB", bytes / 1_000),
            Self::File(bytes) => write!(f, "{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10),
            Self::Folder(1) => f.write_str("1 file"),
            Self::Folder(count) => write!(f, "{count} files"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outline(root: &str, files: &[&str]) -> FileOutline {
        let mut outline = FileOutline::new(root);
        for file in files {
            outline.add_file(file, 1);
        }
        outline
    }

    fn names(outline: &FileOutline, names: usize) -> String {
        let entries = outline.entries(OutlineBounds { names, bytes: 10_000 });
        entries.iter().map(|(path, entry)| format!("{path} {entry}").trim().to_owned()).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn small_folders_are_opened_before_large_ones_and_each_is_at_least_named() {
        let of = outline("", &["a.md", "big/1", "big/2", "big/3", "big/deep/4", "z/one", "z/in/two"]);
        assert_eq!(names(&of, 3), "a.md, big/ 4 files, z/ 2 files");
        assert_eq!(names(&of, 6), "a.md, big/ 4 files, z/in/two, z/one");
        assert_eq!(names(&of, 7), "a.md, big/1, big/2, big/3, big/deep/4, z/in/two, z/one");
        assert_eq!(of.entries_of_root().len(), 3);
        assert_eq!(of.count(), 7);
    }

    #[test]
    fn names_are_counted_in_bytes_too() {
        let of = outline("", &["a", "b/1", "b/2"]);
        assert_eq!(of.entries(OutlineBounds { names: 9, bytes: 40 }).len(), 2);
        assert_eq!(of.entries(OutlineBounds { names: 9, bytes: 100 }).len(), 3);
    }

    #[test]
    fn a_folder_is_outlined_with_whole_paths() {
        let of = outline("src", &["src/a.rs", "src/in/b.rs", "other/c.rs"]);
        assert_eq!(names(&of, 2), "src/a.rs, src/in/b.rs");
        assert_eq!(of.count(), 2);
    }
}
