//! A list of files that fits: folders for which there is no room are counted instead of listed.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};
use updraft_run::ToolOutput;
use updraft_workspace::WorkspacePath;

use super::super::read_target::ReadPath;
use crate::file_outline::{FileOutline, OutlineBounds, OutlineEntry};

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
    outline: FileOutline,
    /// Folders that are listed even if they have no files.
    folders: Vec<WorkspacePath>,
}

impl<'a> FileListing<'a> {
    pub(super) fn new(start: &'a ReadPath, bounds: ListingBounds) -> Self {
        let outline = FileOutline::new(start.path.as_str());
        Self { start, bounds, files: Vec::new(), outline, folders: Vec::new() }
    }

    pub(super) fn add_file(&mut self, path: WorkspacePath, bytes: u64) {
        self.outline.add_file(path.as_str(), bytes);
        self.files.push((path, bytes));
    }

    /// Adds a folder, which is listed if its own files are not.
    pub(super) fn add_folder(&mut self, path: WorkspacePath) {
        if !self.bounds.recursive && self.is_at_top(&path) {
            self.folders.push(path);
        }
    }

    /// Whether it is right in the folder that is listed.
    fn is_at_top(&self, path: &WorkspacePath) -> bool {
        path.parts().count() == self.start.path.parts().count() + 1
    }

    /// The list. `is_cut` says that there are more files, which were not looked at.
    pub(super) fn output(&self, is_cut: bool) -> ToolOutput {
        let entries = self.entries();
        let (mut text, shown) = self.text(&entries);
        let (all, least) = (self.files.len(), if is_cut { "at least " } else { "" });
        let is_counted = entries.values().any(|entry| matches!(entry, OutlineEntry::Folder(_)));
        if entries.is_empty() {
            let _ = writeln!(text, "[no files in `{}`]", self.start);
        } else if shown < entries.len() {
            let _ = writeln!(text, "[{least}{} more are left out; narrow path or glob]", entries.len() - shown);
        } else if is_counted && self.bounds.recursive {
            let _ =
                writeln!(text, "[{least}{all} files; those of counted folders are not listed: narrow path or glob]");
        } else if is_cut {
            text.push_str("[there are more, which were not looked at; list a subfolder]\n");
        }
        ToolOutput { text, value: Some(self.data()), ..ToolOutput::default() }
    }

    fn entries(&self) -> BTreeMap<String, OutlineEntry> {
        if self.bounds.recursive {
            let bytes = self.bounds.bytes.saturating_sub(REMARK);
            return self.outline.entries(OutlineBounds { names: self.bounds.listed, bytes });
        }
        let empty = self.folders.iter().map(|folder| (format!("{folder}/"), OutlineEntry::Folder(0)));
        empty.chain(self.outline.entries_of_root()).collect()
    }

    /// The lines that there is room for, and their number.
    fn text(&self, entries: &BTreeMap<String, OutlineEntry>) -> (String, usize) {
        let (mut text, mut shown) = (String::new(), 0);
        for (path, entry) in entries.iter().take(self.bounds.listed) {
            let line = format!("{}  {entry}", self.start.name_of(path));
            let line = line.trim_end();
            if text.len() + line.len() + 1 + REMARK > self.bounds.bytes {
                break;
            }
            let _ = writeln!(text, "{line}");
            shown += 1;
        }
        (text, shown)
    }

    fn data(&self) -> Value {
        let file = |(path, bytes): &(WorkspacePath, u64)| json!({ "path": path.as_str(), "bytes": bytes });
        let is_listed = |path: &WorkspacePath| self.bounds.recursive || self.is_at_top(path);
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
