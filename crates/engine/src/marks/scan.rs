//! What changed in a workspace since a moment, by the times of files, and what a file holds.

use std::collections::BTreeMap;
use std::fs::DirEntry;
use std::io::Read;
use std::path::{Path, PathBuf};

use updraft_run::Timestamp;

use super::times;

/// Files and folders that are looked at; with more, the whole workspace counts as changed.
const LOOKED_AT: usize = 200_000;
/// Changed files that are kept apart.
const NAMED: usize = 500;
/// From this many on, the files of one folder stand together where there are too many.
const TOGETHER: usize = 20;
/// Clocks of file systems are coarse, and some run behind.
const SLACK: i64 = 2_000;
/// A larger file is told by its name alone.
const LARGEST: u64 = 32 << 20;

/// The files that changed since a moment. Nobody can set the time that counts here; a file that was renamed has a new one.
pub(super) fn since(root: &Path, moment: Timestamp) -> Vec<String> {
    let moment = moment.0 - SLACK;
    let (mut changed, mut looked_at, mut left) = (Vec::new(), 0, vec![PathBuf::new()]);
    while let Some(folder) = left.pop() {
        for entry in std::fs::read_dir(root.join(&folder)).into_iter().flatten().flatten() {
            looked_at += 1;
            if looked_at > LOOKED_AT {
                return vec![".".to_owned()];
            }
            let path = folder.join(entry.file_name());
            match news_of(&entry, moment) {
                News::Changed => changed.push(path.to_string_lossy().into_owned()),
                News::Look => left.push(path),
                News::Nothing => {}
            }
        }
    }
    few(changed)
}

enum News {
    Changed,
    Look,
    Nothing,
}

fn news_of(entry: &DirEntry, moment: i64) -> News {
    // What cannot be looked at is gone.
    let Ok(about) = entry.metadata() else { return News::Nothing };
    let is_new = times::touched(&about) / 1_000_000 >= moment;
    if !about.is_dir() {
        return if is_new { News::Changed } else { News::Nothing };
    }
    // A folder in which nothing was made or removed, and that changed all the same, was given its name.
    let is_renamed = is_new && times::modified(&about) / 1_000_000 < moment;
    if is_renamed { News::Changed } else { News::Look }
}

/// The same in fewer words, where there are too many: folders, from the top down, or all.
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

/// What a regular file holds, if it is not too large. A link is not followed, and a pipe not waited for.
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
