//! Read access to the workspace for programs rather than models: whole texts, metadata of a path, lists of files.

use std::io::{ErrorKind, Read};

use updraft_run::{Failure, FailureKind, FileMetadata};

use super::{HiddenFiles, LinkPolicy, Stamp, Walk, WalkEntry, Workspace, WorkspacePath, failure};
use crate::text;

/// The text of a file, exactly as it is in the file, but without a byte order mark, which is kept when it is written
/// back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WholeText {
    /// The text, or its beginning.
    pub text: String,
    /// The size of the file in bytes.
    pub bytes: u64,
    /// Whether the text is complete.
    pub is_whole: bool,
}

/// The files of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathList {
    /// Folders, if the listing is not recursive.
    pub folders: Vec<String>,
    /// Files, sorted.
    pub files: Vec<String>,
    /// Whether there are more.
    pub is_cut: bool,
}

impl Workspace {
    /// The text of a file. If it has more than `most` bytes, only the beginning, cut between two characters.
    pub fn whole_text(&self, path: &WorkspacePath, most: u64) -> Result<WholeText, Failure> {
        let (file, about) = self.open_file(path, LinkPolicy::Inside)?;
        let failed = |message: String| Failure::new(FailureKind::Tool, message);
        let mut bytes = Vec::with_capacity(about.len.min(most) as usize + 1);
        let read = file.take(most.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|error| failed(format!("`{path}` could not be read: {error}")))?;
        let is_whole = bytes.len() as u64 <= most;
        bytes.truncate(most as usize);
        // A character that was cut in the middle leaves at most three unusable bytes.
        let mut cuts = if is_whole { 0..=0 } else { 0..=3 };
        let text = cuts.find_map(|cut| text::decode(bytes.get(..bytes.len().checked_sub(cut)?)?));
        let (text, _) = text
            .ok_or_else(|| failed(format!("`{path}` is not text: expected UTF-8, or UTF-16 with a byte order mark")))?;
        let bytes = if is_whole { bytes.len() as u64 } else { about.len.max(most + 1) };
        Ok(WholeText { text, bytes, is_whole })
    }

    /// The metadata of a path, after following links inside the workspace; `None` if it does not exist. A link that
    /// leads nowhere, or out of the workspace, is reported as a link.
    pub fn form(&self, path: &WorkspacePath) -> Result<Option<FileMetadata>, Failure> {
        let followed = self.folder().about(path.as_str(), LinkPolicy::Inside);
        let found = followed.or_else(|error| self.entry(path).map_err(|_| error));
        match found {
            Ok(about) => Ok(Some(about.form())),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Err(failure(path, &error)),
        }
    }

    /// The stamp of an entry in its folder; of a link, that of the link itself.
    fn entry(&self, path: &WorkspacePath) -> std::io::Result<Stamp> {
        let (above, name) = path.split().ok_or(ErrorKind::NotFound)?;
        self.folder().folder(above.as_str(), LinkPolicy::Inside)?.look(name)
    }

    /// The files of a folder and, if requested, of its subfolders, without files that git ignores and git's own
    /// storage. At most the given number of files and folders is looked at.
    pub fn paths(
        &self,
        folder: &WorkspacePath,
        recursive: bool,
        hidden: HiddenFiles,
        most: usize,
    ) -> Result<PathList, Failure> {
        let mut walk = Walk::new(self, folder, recursive, hidden, most)?;
        let mut paths = PathList::default();
        for found in walk.by_ref() {
            match found {
                WalkEntry::File { path, .. } => paths.files.push(path.to_string()),
                WalkEntry::Folder(path) if !recursive => paths.folders.push(path.to_string()),
                WalkEntry::Folder(_) => {}
            }
        }
        paths.is_cut = walk.is_cut();
        Ok(paths)
    }
}

#[cfg(test)]
mod tests {
    use updraft_run::FileKind;

    use super::*;

    fn workspace() -> (tempfile::TempDir, Workspace) {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path()).unwrap();
        (folder, workspace)
    }

    #[test]
    fn a_text_is_whole_or_says_that_it_is_cut_between_characters() {
        let (folder, workspace) = workspace();
        let path = workspace.locate("a.txt").unwrap();
        std::fs::write(folder.path().join("a.txt"), "aé€\r\n").unwrap();
        let whole = workspace.whole_text(&path, 100).unwrap();
        assert_eq!(whole, WholeText { text: "aé€\r\n".into(), bytes: 8, is_whole: true });
        assert_eq!(workspace.whole_text(&path, 8).unwrap(), whole);
        for (most, text) in [(7, "aé€\r"), (5, "aé"), (4, "aé"), (3, "aé"), (2, "a"), (1, "a"), (0, "")] {
            let cut = workspace.whole_text(&path, most).unwrap();
            assert_eq!(cut, WholeText { text: text.into(), bytes: 8, is_whole: false }, "{most}");
        }
        std::fs::write(folder.path().join("a.txt"), "").unwrap();
        assert_eq!(workspace.whole_text(&path, 8).unwrap().text, "");
        std::fs::write(folder.path().join("a.txt"), b"\xFF\xFEa\0\x3D\xD8\0\xDEb\0").unwrap();
        assert_eq!(workspace.whole_text(&path, 100).unwrap().text, "a😀b");
        assert_eq!(workspace.whole_text(&path, 7).unwrap().text, "a");
        std::fs::write(folder.path().join("a.txt"), b"\xFF\xD8\0").unwrap();
        assert!(workspace.whole_text(&path, 100).unwrap_err().message.contains("not text"));
    }

    #[test]
    fn what_is_at_a_path_is_told_of_folders_and_other_files_too() {
        let (folder, workspace) = workspace();
        std::fs::create_dir(folder.path().join("made")).unwrap();
        std::fs::write(folder.path().join("made/x.bin"), [0, 1]).unwrap();
        let kind = |path: &str| workspace.form(&workspace.locate(path).unwrap()).unwrap().map(|form| form.kind);
        assert_eq!(kind("made"), Some(FileKind::Folder));
        assert_eq!(kind("made/x.bin"), Some(FileKind::File));
        assert_eq!((kind("none"), kind("made/x.bin/y")), (None, None));
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("out")).unwrap();
        std::os::unix::fs::symlink("nowhere", folder.path().join("made/dangling")).unwrap();
        assert_eq!((kind("out"), kind("made/dangling")), (Some(FileKind::Link), Some(FileKind::Link)));
    }

    #[test]
    fn a_list_of_files_says_when_it_is_cut() {
        let (folder, workspace) = workspace();
        std::fs::create_dir(folder.path().join("b")).unwrap();
        for name in ["a", "b/c", "b/d", "e"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let all = workspace.paths(&WorkspacePath::root(), true, HiddenFiles::LeftOut, 100).unwrap();
        assert_eq!((all.files, all.is_cut), (["a", "b/c", "b/d", "e"].map(str::to_owned).to_vec(), false));
        let flat = workspace.paths(&WorkspacePath::root(), false, HiddenFiles::LeftOut, 100).unwrap();
        assert_eq!((flat.files, flat.folders), (vec!["a".to_owned(), "e".to_owned()], vec!["b".to_owned()]));
        assert!(workspace.paths(&WorkspacePath::root(), true, HiddenFiles::LeftOut, 3).unwrap().is_cut);
    }

    #[test]
    fn hidden_files_are_listed_where_they_are_wanted_and_gits_own_never() {
        let (folder, workspace) = workspace();
        for name in [".git", ".vscode"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        for (name, text) in [(".git/x", ""), (".vscode/y.json", ""), (".gitignore", ".secret\n"), (".secret", "")] {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let listed = |hidden| workspace.paths(&WorkspacePath::root(), true, hidden, 100).unwrap().files;
        assert_eq!(listed(HiddenFiles::LeftOut), [""; 0]);
        assert_eq!(listed(HiddenFiles::Shown), [".gitignore", ".vscode/y.json"]);
    }
}
