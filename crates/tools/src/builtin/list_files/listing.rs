//! A list of files that fits: folders that are too deep for it are counted instead of listed.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};
use updraft_run::ToolOutput;
use updraft_workspace::WorkspacePath;

use super::super::read_target::ReadPath;

/// Files from this size on are shown with it, in bytes.
const SIZED: u64 = 100_000;
/// Bytes for a remark about what is not listed.
const REMARK: usize = 200;

/// How much is listed.
pub(super) struct ListingBounds {
    /// Most files and folders.
    pub(super) listed: usize,
    /// Most bytes.
    pub(super) bytes: usize,
    /// Whether subfolders are listed as far as there is room.
    pub(super) recursive: bool,
}

/// The files below a folder.
pub(super) struct FileListing<'a> {
    start: &'a ReadPath,
    bounds: ListingBounds,
    files: Vec<(WorkspacePath, u64)>,
    /// Folders that are listed even if they have no files.
    folders: Vec<WorkspacePath>,
}

/// What a line of the list is about.
enum ListedEntry {
    /// A file of this size.
    File(u64),
    /// A folder with this number of files.
    Folder(usize),
}

impl<'a> FileListing<'a> {
    pub(super) fn new(start: &'a ReadPath, bounds: ListingBounds) -> Self {
        Self { start, bounds, files: Vec::new(), folders: Vec::new() }
    }

    pub(super) fn add_file(&mut self, path: WorkspacePath, bytes: u64) {
        self.files.push((path, bytes));
    }

    /// Adds a folder, which is listed if its own files are not.
    pub(super) fn add_folder(&mut self, path: WorkspacePath) {
        if !self.bounds.recursive && path.parts().count() == self.above() + 1 {
            self.folders.push(path);
        }
    }

    /// How deep the folder is that is listed.
    fn above(&self) -> usize {
        self.start.path.parts().count()
    }

    /// The list. `is_cut` says that there are more files, which were not looked at.
    pub(super) fn output(&self, is_cut: bool) -> ToolOutput {
        let deepest = self.files.iter().map(|(path, _)| path.parts().count() - self.above()).max().unwrap_or(1);
        let wanted = if self.bounds.recursive { deepest } else { 1 };
        let mut depth = 1;
        let mut entries = self.entries(depth);
        while depth < wanted {
            let deeper = self.entries(depth + 1);
            if !self.fits(&deeper) {
                break;
            }
            (depth, entries) = (depth + 1, deeper);
        }
        let (mut text, shown) = self.text(&entries);
        let (all, least) = (self.files.len(), if is_cut { "at least " } else { "" });
        if entries.is_empty() {
            let _ = writeln!(text, "[no files in `{}`]", self.start);
        } else if shown < entries.len() {
            let _ = writeln!(text, "[{least}{} more are left out; narrow path or glob]", entries.len() - shown);
        } else if depth < wanted {
            let _ =
                writeln!(text, "[{least}{all} files; those of counted folders are not listed: narrow path or glob]");
        } else if is_cut {
            text.push_str("[there are more, which were not looked at; list a subfolder]\n");
        }
        ToolOutput { text, value: Some(self.data()), ..ToolOutput::default() }
    }

    /// The entries if folders are entered down to a depth, in the order of their paths.
    fn entries(&self, depth: usize) -> BTreeMap<String, ListedEntry> {
        let mut entries: BTreeMap<String, ListedEntry> = BTreeMap::new();
        let level = self.above() + depth;
        for folder in &self.folders {
            entries.insert(format!("{folder}/"), ListedEntry::Folder(0));
        }
        for (path, bytes) in &self.files {
            // The end of the last folder that is entered, if the file is below it.
            match path.as_str().match_indices('/').nth(level - 1) {
                None => {
                    entries.insert(path.to_string(), ListedEntry::File(*bytes));
                }
                Some((end, _)) => {
                    let folder = entries.entry(path.as_str()[..=end].to_owned()).or_insert(ListedEntry::Folder(0));
                    if let ListedEntry::Folder(count) = folder {
                        *count += 1;
                    }
                }
            }
        }
        entries
    }

    fn fits(&self, entries: &BTreeMap<String, ListedEntry>) -> bool {
        entries.len() <= self.bounds.listed && self.text(entries).1 == entries.len()
    }

    /// The lines that there is room for, and their number.
    fn text(&self, entries: &BTreeMap<String, ListedEntry>) -> (String, usize) {
        let (mut text, mut shown) = (String::new(), 0);
        for (path, entry) in entries.iter().take(self.bounds.listed) {
            let line = format!("{}{entry}\n", self.start.name_of(path));
            if text.len() + line.len() + REMARK > self.bounds.bytes {
                break;
            }
            text.push_str(&line);
            shown += 1;
        }
        (text, shown)
    }

    fn data(&self) -> Value {
        let file = |(path, bytes): &(WorkspacePath, u64)| json!({ "path": path.as_str(), "bytes": bytes });
        let is_listed = |path: &WorkspacePath| self.bounds.recursive || path.parts().count() == self.above() + 1;
        let files = self.files.iter().filter(|(path, _)| is_listed(path));
        let more = files.clone().count().saturating_sub(self.bounds.listed);
        let files: Vec<Value> = files.take(self.bounds.listed).map(file).collect();
        let mut value = json!({ "files": files, "more": more });
        if !self.folders.is_empty() {
            value["folders"] = self.folders.iter().map(WorkspacePath::as_str).collect();
        }
        value
    }
}

impl std::fmt::Display for ListedEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(bytes) if *bytes < SIZED => Ok(()),
            Self::File(bytes) if *bytes < 1_000_000 => write!(f, "  {} kB", bytes / 1_000),
            Self::File(bytes) => write!(f, "  {}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10),
            Self::Folder(1) => f.write_str("  1 file"),
            Self::Folder(count) => write!(f, "  {count} files"),
        }
    }
}
