//! Finds out whether code changed a file, by comparing the kernel's stamps of every file in the workspace before and
//! after.

use std::collections::BTreeMap;
use std::path::PathBuf;

use updraft_workspace::{Stamp, Workspace, bytes_of, is_draft};

/// Most files and folders that are looked at. With more, looking takes longer than most code runs.
const MOST: usize = 50_000;
/// The stamp of every file. It includes the inode change time (ctime), which no program can set.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FileStates(BTreeMap<Vec<u8>, Stamp>);

impl FileStates {
    /// Looks at every file in the workspace and in the other writable folders. Returns `None` if there are too many
    /// or they cannot be read.
    pub(super) async fn of(workspace: &Workspace, beyond: &[PathBuf]) -> Option<Self> {
        let (workspace, beyond) = (workspace.clone(), beyond.to_vec());
        let looking = tokio::task::spawn_blocking(move || {
            let mut found = BTreeMap::from([(Vec::new(), workspace.folder().itself().ok()?)]);
            look(&workspace, &[], &mut found)?;
            for path in beyond {
                let opened = Workspace::open(&path).ok()?;
                look(&opened, &[bytes_of(path.into_os_string()), b"/".to_vec()].concat(), &mut found)?;
            }
            Some(Self(found))
        });
        looking.await.ok().flatten()
    }

    /// The first path whose state differs.
    pub(super) fn first_change(&self, after: &Self) -> Option<String> {
        let named = |path: &[u8]| match path {
            [] => ".".to_owned(),
            path => String::from_utf8_lossy(path).into_owned(),
        };
        let is_same = |about: &Stamp, path: &Vec<u8>| after.0.get(path).is_some_and(|now| about.is_as(now));
        let differs = |(path, about): &(&Vec<u8>, &Stamp)| !is_same(about, path);
        let changed = self.0.iter().filter(differs).map(|(path, _)| path);
        let new = after.0.keys().filter(|path| !self.0.contains_key(*path));
        changed.chain(new).max_by_key(|path| path.len()).map(|path| named(path))
    }
}

/// Adds the files of a folder. Returns `None` if not all of them could be read.
fn look(folder: &Workspace, above: &[u8], found: &mut BTreeMap<Vec<u8>, Stamp>) -> Option<()> {
    let survey = folder.survey(MOST.saturating_sub(found.len()));
    if survey.is_cut || survey.is_partial {
        return None;
    }
    // A draft that another call has not yet renamed into place is not a change made by this code.
    let is_ours = |path: &[u8]| std::str::from_utf8(path).is_ok_and(is_draft);
    let stamps = survey.stamps.into_iter().filter(|(path, _)| !is_ours(path));
    found.extend(stamps.map(|(path, stamp)| ([above, &path].concat(), stamp)));
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_write_of_ours_that_is_under_way_is_no_change_but_any_other_file_is() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("in")).unwrap();
        let workspace = Workspace::open(folder.path()).unwrap();
        let before = FileStates::of(&workspace, &[]).await.unwrap();
        let draft = format!("in/.updraft-{:x}-7.tmp", std::process::id());
        std::fs::write(at(&draft), "half").unwrap();
        let now = FileStates::of(&workspace, &[]).await.unwrap();
        assert_eq!((before.first_change(&now), now.first_change(&before)), (None, None));
        std::fs::write(at("in/.updraft-x.tmp"), "whole").unwrap();
        let now = FileStates::of(&workspace, &[]).await.unwrap();
        assert_eq!(before.first_change(&now).as_deref(), Some("in/.updraft-x.tmp"));
    }
}
