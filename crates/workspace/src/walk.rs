//! Walking the workspace: folder by folder, in the order of full paths, without following links.

use updraft_run::Failure;

use super::ignored::{HiddenFiles, IgnoreRules};
use super::stamp::PathKind;
use super::{Folder, LinkPolicy, Workspace, WorkspacePath};

/// Folders below folders: deeper ones are passed over, since each level is a descriptor held open.
const DEPTH: usize = 64;

/// What a walk comes by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WalkEntry {
    /// A regular file, or a link to one inside the workspace.
    File {
        /// Its path.
        path: WorkspacePath,
        /// Its size.
        bytes: u64,
        /// Whether it is a link: its content stands elsewhere under its own name.
        is_link: bool,
    },
    /// A folder, or a link to one inside the workspace.
    Folder(WorkspacePath),
}

/// A walk through a folder. Entries come sorted by their full path.
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
    /// What is left of it, the next one last.
    rest: Vec<FolderEntry>,
}

struct FolderEntry {
    name: String,
    kind: PathKind,
}

impl<'a> Walk<'a> {
    /// Begins at a folder. Rules of the folders above it count too, but a folder that is named is walked even if they
    /// would pass it over.
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

    /// Whether there was more than the budget allowed to look at.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    fn enter(&mut self, path: WorkspacePath, folder: Folder, ignored: &IgnoreRules) {
        let ignored = ignored.within(&folder, path.parts().count());
        let mut rest = self.entries(&path, &folder, &ignored);
        // With a slash after folders, the order within a folder is that of full paths.
        rest.sort_by(|a, b| b.key().cmp(&a.key()));
        self.open.push(WalkLevel { path, folder, ignored, rest });
    }

    /// What is in a folder and not ignored. What cannot be read, or has a name that is not text, is passed over.
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
            // Some file systems do not tell with the name.
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

    /// Descends into a folder, unless it is no longer one.
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

    /// What a link stands for, if that is inside.
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
