//! Finds out which files of the workspace are run later by other programs, so that a write to one needs a person's
//! consent.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::guarded_names;
use updraft_run::{Failure, FailureKind};

use super::{LinkPolicy, Workspace, WorkspacePath};

/// Entries by which a folder is recognized as a repository.
const MARKS: [&str; 4] = ["HEAD", "objects", "refs", "commondir"];

impl Workspace {
    /// What would run the file or act on it; `None` if nothing does. Looks at names, and checks whether the folders
    /// above are repositories under other names.
    pub fn why_guarded(&self, path: &WorkspacePath) -> Option<&'static str> {
        let parts: Vec<&str> = path.parts().collect();
        for (at, name) in parts.iter().enumerate() {
            let folder = parts[at.saturating_sub(2)..at].join("/");
            if let Some(why) = guarded_names::why_guarded(&folder, name) {
                return Some(why);
            }
            let is_file = at + 1 == parts.len();
            if is_file && guarded_names::is_repository_name(name) {
                return Some("it points git to another repository, with hooks and settings of its own");
            }
            if let Some(why) = self.why_in_repository(&parts[..at], &parts[at..]) {
                return Some(why);
            }
        }
        None
    }

    /// Checks again at the moment of writing, because the answer depends on the surrounding files: calls that were
    /// approved together may form a repository together. While the guard lives, no other call of this process writes
    /// such a file.
    pub(super) fn guard(
        &self,
        path: &WorkspacePath,
        reaches_outside: bool,
    ) -> Result<Option<MutexGuard<'static, ()>>, Failure> {
        // Shared by all workspaces: one may be inside another.
        static ALONE: Mutex<()> = Mutex::new(());
        if !may_belong_to_repository(path) {
            return Ok(None);
        }
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        match self.why_guarded(path).filter(|_| !reaches_outside) {
            None => Ok(Some(alone)),
            Some(why) => {
                let message = format!(
                    "`{path}` was not written: since the call was allowed, other new files have made it one that runs \
                     programs ({why}); call it again, alone, so that it can be asked about"
                );
                Err(Failure::new(FailureKind::Security, message))
            }
        }
    }

    /// What makes git run the file `below`, if `folder` is a repository or becomes one by this write.
    fn why_in_repository(&self, folder: &[&str], below: &[&str]) -> Option<&'static str> {
        let (name, inner) = below.split_last()?;
        let by_name = folder.last().is_some_and(|name| guarded_names::is_repository_name(name));
        if !by_name && !self.is_repository(folder, None) {
            let becomes_one = self.is_repository(folder, below.first().copied());
            return becomes_one.then_some("it makes the folder a git repository, whose hooks git would run");
        }
        // A deeper file is judged by its last folder: git has no deeper folders that it acts on.
        guarded_names::why_guarded_in_repository(&inner.join("/"), name)
            .or_else(|| (inner.first() == Some(&"hooks")).then_some("it is a git hook, which git runs by itself"))
    }

    /// Whether git would treat a folder as a repository, given its entries and the one to be added.
    fn is_repository(&self, folder: &[&str], with: Option<&str>) -> bool {
        let has = |mark: &str| {
            let path = WorkspacePath::from_parts(folder.iter().copied().chain([mark]));
            with == Some(mark) || self.about(&path, LinkPolicy::Inside).is_ok()
        };
        let [head, objects, refs, commondir] = MARKS.map(has);
        (head && (objects || refs || commondir)) || (objects && refs)
    }
}

/// Whether a path has a name that could mean something to git if one of its folders were a repository.
fn may_belong_to_repository(path: &WorkspacePath) -> bool {
    let parts: Vec<&str> = path.parts().collect();
    let Some((name, folders)) = parts.split_last() else { return false };
    let is_mark = |part: &&str| MARKS.contains(part) || *part == "hooks";
    parts.iter().any(is_mark)
        || (0..=folders.len())
            .any(|at| guarded_names::why_guarded_in_repository(&folders[at..].join("/"), name).is_some())
}
