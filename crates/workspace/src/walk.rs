//! Walking the workspace: folder by folder, in the order of full paths, without following links.

use updraft_run::Failure;

use super::ignored::{Hidden, Ignored};
use super::stamp::Kind;
use super::{Folder, Inside, Links, Workspace};

/// Folders below folders: deeper ones are passed over, since each level is a descriptor held open.
const DEPTH: usize = 64;

/// What a walk comes by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A regular file, or a link to one inside the workspace.
    File {
        /// Its path.
        path: Inside,
        /// Its size.
        bytes: u64,
        /// Whether it is a link: its content stands elsewhere under its own name.
        is_link: bool,
    },
    /// A folder, or a link to one inside the workspace.
    Folder(Inside),
}

/// A walk through a folder. Entries come sorted by their full path.
pub struct Walk<'a> {
    workspace: &'a Workspace,
    /// Folders being read, the innermost last.
    open: Vec<Level>,
    recursive: bool,
    /// How many more entries may be looked at.
    budget: usize,
    is_cut: bool,
}

struct Level {
    path: Inside,
    folder: Folder,
    ignored: Ignored,
    /// What is left of it, the next one last.
    rest: Vec<Entry>,
}

struct Entry {
    name: String,
    kind: Kind,
}

impl<'a> Walk<'a> {
    /// Begins at a folder. Rules of the folders above it count too, but a folder that is named is walked even if they
    /// would pass it over.
    pub fn new(
        workspace: &'a Workspace,
        start: &Inside,
        recursive: bool,
        hidden: Hidden,
        budget: usize,
    ) -> Result<Self, Failure> {
        let mut ignored = Ignored::new(hidden);
        let mut above = Inside::root();
        for (depth, part) in start.parts().enumerate() {
            if let Ok(folder) = workspace.open_folder(&above, Links::Inside) {
                ignored = ignored.within(&folder, depth);
            }
            above = above.join(part);
        }
        let mut walk = Self { workspace, open: Vec::new(), recursive, budget, is_cut: false };
        let folder = workspace.open_folder(start, Links::Inside)?;
        walk.enter(start.clone(), folder, &ignored);
        Ok(walk)
    }

    /// Whether there was more than the budget allowed to look at.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    fn enter(&mut self, path: Inside, folder: Folder, ignored: &Ignored) {
        let ignored = ignored.within(&folder, path.parts().count());
        let mut rest = self.entries(&path, &folder, &ignored);
        // With a slash after folders, the order within a folder is that of full paths.
        rest.sort_by(|a, b| b.key().cmp(&a.key()));
        self.open.push(Level { path, folder, ignored, rest });
    }

    /// What is in a folder and not ignored. What cannot be read, or has a name that is not text, is passed over.
    fn entries(&mut self, path: &Inside, folder: &Folder, ignored: &Ignored) -> Vec<Entry> {
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
                Kind::Unknown => folder.look(name).map_or(Kind::Unknown, |about| about.kind),
                known => known,
            };
            if !ignored.covers(path.join(name).as_str(), kind == Kind::Folder) {
                entries.push(Entry { name: name.to_owned(), kind });
            }
        }
        entries
    }

    /// Descends into a folder, unless it is no longer one.
    fn descend(&mut self, path: &Inside, name: &str) {
        if self.open.len() >= DEPTH {
            self.is_cut = true;
            return;
        }
        let Some(above) = self.open.last() else { return };
        if let Ok(folder) = above.folder.folder(name, Links::Never) {
            let ignored = above.ignored.clone();
            self.enter(path.clone(), folder, &ignored);
        }
    }

    fn file(&self, path: Inside, name: &str) -> Option<Found> {
        let about = self.open.last()?.folder.look(name).ok()?;
        Some(Found::File { path, bytes: about.len, is_link: false })
    }

    /// What a link stands for, if that is inside.
    fn link(&self, path: Inside) -> Option<Found> {
        let about = self.workspace.about(&path, Links::Inside).ok()?;
        match about.kind {
            Kind::File => Some(Found::File { path, bytes: about.len, is_link: true }),
            Kind::Folder => Some(Found::Folder(path)),
            _ => None,
        }
    }
}

impl Iterator for Walk<'_> {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        loop {
            let folder = self.open.last_mut()?;
            let Some(Entry { name, kind }) = folder.rest.pop() else {
                self.open.pop();
                continue;
            };
            let path = folder.path.join(&name);
            let found = match kind {
                Kind::File => self.file(path, &name),
                Kind::Link => self.link(path),
                Kind::Folder => {
                    if self.recursive {
                        self.descend(&path, &name);
                    }
                    Some(Found::Folder(path))
                }
                _ => None,
            };
            if found.is_some() {
                return found;
            }
        }
    }
}

impl Entry {
    fn key(&self) -> impl Ord {
        let mut key = self.name.clone();
        if self.kind == Kind::Folder {
            key.push('/');
        }
        key
    }
}
