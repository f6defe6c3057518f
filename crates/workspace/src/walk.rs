//! Walks the workspace folder by folder, sorted by full paths, without following links.

use updraft_run::Failure;

use super::ignored::{HiddenFiles, IgnoreRules};
use super::stamp::PathKind;
use super::{Folder, LinkPolicy, Workspace, WorkspacePath};

/// The deepest level of folders that is walked: each level holds a descriptor open, so deeper ones are skipped.
const DEPTH: usize = 64;

/// An entry that a walk finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WalkEntry {
    /// A regular file, or a link to one inside the workspace.
    File {
        /// Its path.
        path: WorkspacePath,
        /// Its size.
        bytes: u64,
        /// Whether it is a link; its content is also found under the path of its target.
        is_link: bool,
    },
    /// A folder, or a link to one inside the workspace.
    Folder(WorkspacePath),
}

/// A walk through a folder. Entries are sorted by their full path.
pub struct Walk<'a> {
    workspace: &'a Workspace,
    /// Folders being read, the innermost last.
    open: Vec<WalkLevel>,
    recursive: bool,
    /// How many more entries may be looked at.
    budget: usize,
    is_cut: bool,
}

struct WalkLevel {
    path: WorkspacePath,
    folder: Folder,
    ignored: IgnoreRules,
    /// The remaining entries, the next one last.
    rest: Vec<FolderEntry>,
}

struct FolderEntry {
    name: String,
    kind: PathKind,
}

impl<'a> Walk<'a> {
    /// Starts at a folder. The ignore rules of the folders above it apply too, but the start folder itself is walked
    /// even if they match it.
    pub fn new(
        workspace: &'a Workspace,
        start: &WorkspacePath,
        recursive: bool,
        hidden: HiddenFiles,
        budget: usize,
    ) -> Result<Self, Failure> {
        let mut ignored = IgnoreRules::new(hidden);
        let mut above = WorkspacePath::root();
        for (depth, part) in start.parts().enumerate() {
            if let Ok(folder) = workspace.open_folder(&above, LinkPolicy::Inside) {
                ignored = ignored.within(&folder, depth);
            }
            above = above.join(part);
        }
        let mut walk = Self { workspace, open: Vec::new(), recursive, budget, is_cut: false };
        let folder = workspace.open_folder(start, LinkPolicy::Inside)?;
        walk.enter(start.clone(), folder, &ignored);
        Ok(walk)
    }

    /// Whether there were more entries than the budget allowed.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    fn enter(&mut self, path: WorkspacePath, folder: Folder, ignored: &IgnoreRules) {
        let ignored = ignored.within(&folder, path.parts().count());
        let mut rest = self.entries(&path, &folder, &ignored);
        // With a slash after folders, sorting within a folder gives the order of full paths.
        rest.sort_by(|a, b| b.key().cmp(&a.key()));
        self.open.push(WalkLevel { path, folder, ignored, rest });
    }

    /// The entries of a folder that are not ignored. Entries that cannot be read, or whose names are not UTF-8, are
    /// skipped.
    fn entries(&mut self, path: &WorkspacePath, folder: &Folder, ignored: &IgnoreRules) -> Vec<FolderEntry> {
        let mut entries = Vec::new();
        let Ok(all) = folder.entries() else { return entries };
        for entry in all {
            let Ok((name, kind)) = entry else { break };
            let Some(name) = name.to_str() else { continue };
            if self.budget == 0 {
                self.is_cut = true;
                break;
            }
            self.budget -= 1;
            // Some file systems do not report the kind along with the name.
            let kind = match kind {
                PathKind::Unknown => folder.look(name).map_or(PathKind::Unknown, |about| about.kind),
                known => known,
            };
            if !ignored.covers(path.join(name).as_str(), kind == PathKind::Folder) {
                entries.push(FolderEntry { name: name.to_owned(), kind });
            }
        }
        entries
    }

    /// Descends into a folder, unless it is no longer a folder.
    fn descend(&mut self, path: &WorkspacePath, name: &str) {
        if self.open.len() >= DEPTH {
            self.is_cut = true;
            return;
        }
        let Some(above) = self.open.last() else { return };
        if let Ok(folder) = above.folder.folder(name, LinkPolicy::Never) {
            let ignored = above.ignored.clone();
            self.enter(path.clone(), folder, &ignored);
        }
    }

    fn file(&self, path: WorkspacePath, name: &str) -> Option<WalkEntry> {
        let about = self.open.last()?.folder.look(name).ok()?;
        Some(WalkEntry::File { path, bytes: about.len, is_link: false })
    }

    /// The target of a link, if that is inside.
    fn link(&self, path: WorkspacePath) -> Option<WalkEntry> {
        let about = self.workspace.about(&path, LinkPolicy::Inside).ok()?;
        match about.kind {
            PathKind::File => Some(WalkEntry::File { path, bytes: about.len, is_link: true }),
            PathKind::Folder => Some(WalkEntry::Folder(path)),
            _ => None,
        }
    }
}

impl Iterator for Walk<'_> {
    type Item = WalkEntry;

    fn next(&mut self) -> Option<WalkEntry> {
        loop {
            let folder = self.open.last_mut()?;
            let Some(FolderEntry { name, kind }) = folder.rest.pop() else {
                self.open.pop();
                continue;
            };
            let path = folder.path.join(&name);
            let found = match kind {
                PathKind::File => self.file(path, &name),
                PathKind::Link => self.link(path),
                PathKind::Folder => {
                    if self.recursive {
                        self.descend(&path, &name);
                    }
                    Some(WalkEntry::Folder(path))
                }
                _ => None,
            };
            if found.is_some() {
                return found;
            }
        }
    }
}

impl FolderEntry {
    fn key(&self) -> impl Ord {
        let mut key = self.name.clone();
        if self.kind == PathKind::Folder {
            key.push('/');
        }
        key
    }
}
