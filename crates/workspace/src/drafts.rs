//! Drafts: temporary files that are written before they are renamed into place. Names them, and removes those left by
//! processes that died.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use super::{Folder, OpenMode, disk};
use super::{LinkPolicy, Workspace};

/// How the name of a draft begins; its process id and a counter follow.
const START: &str = ".updraft-";
/// How the name of a draft ends.
const END: &str = ".tmp";

/// The folders in which this process has looked for leftover drafts, by device and inode.
#[derive(Default)]
pub(super) struct SweptFolders(Mutex<BTreeSet<(u64, u64)>>);

/// The name of this process's n-th draft.
pub(super) fn name(n: u64) -> String {
    format!("{START}{:x}-{n:x}{END}", std::process::id())
}

/// Whether a path is a draft of this process.
pub fn is_draft(path: &str) -> bool {
    path.rsplit('/').next().and_then(writer) == Some(std::process::id())
}

/// Whether a path is a draft of any of our processes.
pub fn is_draft_of_any(path: &str) -> bool {
    path.rsplit('/').next().and_then(writer).is_some()
}

/// The id of the process that made a draft with this name.
fn writer(name: &str) -> Option<u32> {
    let (process, own) = name.strip_prefix(START)?.strip_suffix(END)?.split_once('-')?;
    u64::from_str_radix(own, 16).ok()?;
    u32::from_str_radix(process, 16).ok()
}

impl Workspace {
    /// Removes drafts that dead processes left in a folder. Done once for each folder: drafts that processes leave
    /// later are found by other processes.
    pub(super) fn sweep(&self, folder: &Folder) {
        let Ok(about) = folder.itself() else { return };
        if self.0.swept.0.lock().unwrap_or_else(PoisonError::into_inner).insert(about.inode) {
            sweep(folder);
        }
    }
}

fn sweep(folder: &Folder) {
    let Ok(entries) = folder.entries() else { return };
    for (name, _) in entries.flatten() {
        let Some((name, process)) = name.to_str().and_then(|name| Some((name, writer(name)?))) else { continue };
        if disk::is_running(process) {
            continue;
        }
        // A process in another container has an id that may not exist here, but while it writes it holds the lock.
        let left = folder.file(name, OpenMode::Read, LinkPolicy::Never).is_ok_and(|file| file.try_lock().is_ok());
        if left {
            let _ = folder.remove_file(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process id that is higher than any real one.
    const DEAD: u32 = 0x7fff_fff0;

    #[test]
    fn the_next_write_in_a_folder_clears_away_what_dead_processes_left_there_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let (left, open) = (format!(".updraft-{DEAD:x}-0.tmp"), format!(".updraft-{DEAD:x}-1.tmp"));
        let ours = name(u64::MAX);
        for name in [&left, &open, &ours, &".updraft-x.tmp".to_owned(), &format!(".updraft-{DEAD:x}-0.txt")] {
            std::fs::write(folder.path().join(name), "half").unwrap();
        }
        let writing = std::fs::File::open(folder.path().join(&open)).unwrap();
        writing.lock().unwrap();
        let workspace = Workspace::open(folder.path()).unwrap();
        let path = workspace.locate("file").unwrap();
        workspace.replace(&path, b"whole", None, false).unwrap();
        let mut names: Vec<String> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        let mut kept =
            vec![open, ours, ".updraft-x.tmp".to_owned(), format!(".updraft-{DEAD:x}-0.txt"), "file".to_owned()];
        kept.sort();
        assert_eq!(names, kept);
    }
}
