//! Finds what changed in a workspace since a given time, by the times of files, and reads files safely.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

use updraft_journal::hash_of;
use updraft_run::Timestamp;
use updraft_workspace::{Stamp, Survey, Workspace};

/// How many files and folders are checked; if there are more, the whole workspace counts as changed.
const LOOKED_AT: usize = 200_000;
/// How many changed files are listed separately.
const NAMED: usize = 500;
/// From this many on, the files of one folder are combined if the list is too long.
const TOGETHER: usize = 20;
/// Clocks of file systems are coarse, and some are late. In milliseconds.
const SLACK: i64 = 2_000;
/// A larger file is identified by its name alone.
const LARGEST: u64 = 32 << 20;

/// The folders of a workspace at one time, each identified by its path and its inode; `None` if there are too many.
pub(crate) type FolderSnapshot = Option<BTreeSet<u64>>;

/// The folders that exist now.
pub(super) fn folders(root: &Path) -> FolderSnapshot {
    let survey = survey(root);
    let folders = survey.stamps.iter().filter(|(_, stamp)| stamp.is_folder());
    (!survey.is_cut).then(|| folders.map(|(path, stamp)| standing(path, stamp)).collect())
}

/// Everything in the workspace; empty if the workspace no longer exists.
fn survey(root: &Path) -> Survey {
    Workspace::open(root).map(|opened| opened.survey(LOOKED_AT)).unwrap_or_default()
}

/// Identifies a folder at its path: another folder at the same path differs, and so does the same folder at another
/// path.
fn standing(path: &[u8], stamp: &Stamp) -> u64 {
    let (place, itself) = stamp.inode;
    let hash = hash_of(&[path, &place.to_le_bytes(), &itself.to_le_bytes()].concat()).to_string();
    u64::from_str_radix(hash.get(..16).unwrap_or_default(), 16).unwrap_or_default()
}

/// The files that changed since a given time, or that are in a folder that was not there then, because it may have been
/// renamed with everything in it. The time used here cannot be set by programs; renaming a file updates it.
pub(super) fn since(root: &Path, moment: Timestamp, before: &FolderSnapshot) -> Vec<String> {
    let moment = moment.0 - SLACK;
    let survey = survey(root);
    if survey.is_cut {
        return vec![".".to_owned()];
    }
    let mut new: BTreeSet<&[u8]> = BTreeSet::new();
    let mut changed = Vec::new();
    for (path, stamp) in &survey.stamps {
        let above = path.iter().rposition(|byte| *byte == b'/').map(|at| &path[..at]);
        let is_in_new = above.is_some_and(|above| new.contains(above));
        let is_touched = stamp.changed / 1_000_000 >= moment;
        if stamp.is_folder() {
            let is_other = match before {
                Some(before) => !before.contains(&standing(path, stamp)),
                // A folder that changed although nothing was created or removed in it was renamed.
                None => is_touched && stamp.modified / 1_000_000 < moment,
            };
            if is_in_new || is_other {
                new.insert(path);
            }
        } else if is_in_new || is_touched {
            changed.push(String::from_utf8_lossy(path).into_owned());
        }
    }
    few(changed)
}

/// Shortens a list that is too long: to folders, from the top down, or to the whole workspace.
fn few(changed: Vec<String>) -> Vec<String> {
    if changed.len() <= NAMED {
        return changed;
    }
    let mut tops: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in changed {
        let top = path.split('/').next().unwrap_or_default().to_owned();
        tops.entry(top).or_default().push(path);
    }
    let together = |(top, paths): (String, Vec<String>)| if paths.len() < TOGETHER { paths } else { vec![top] };
    let named: Vec<String> = tops.into_iter().flat_map(together).collect();
    if named.len() <= NAMED { named } else { vec![".".to_owned()] }
}

/// The content of a regular file, if it is not too large. Links are not followed, and pipes are not waited for.
pub(super) fn content(path: &Path) -> Option<Vec<u8>> {
    let file = updraft_tools::open_unlinked(path).ok()?;
    let about = file.metadata().ok()?;
    if !about.is_file() || about.len() > LARGEST {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_changed_files_of_one_folder_stand_together() {
        let built = (0..1_000).map(|n| format!("target/{n}.o"));
        let few = few(built.chain(["src/a.rs".to_owned()]).collect());
        assert_eq!(few, ["src/a.rs", "target"]);
    }
}
