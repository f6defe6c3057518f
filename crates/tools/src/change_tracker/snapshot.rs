//! The state of every file of a workspace at one moment, with the contents of files that are not too large.
//!
//! A file whose stamp is the same as in the last snapshot is not read again. No program can set a file's inode change
//! time (ctime), but its resolution is that of the kernel's clock tick: a file that changed just before it was
//! scanned may change once more with the same stamp, so such a file is read again.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;

use updraft_run::FileMetadata;
use updraft_workspace::{GRAIN, LinkPolicy, OpenMode, PathKind, Stamp, Workspace, ago, stamp_of};

use super::store::{Content, Store};

/// Most files and folders that are scanned. With more, a scan takes longer than most calls.
pub(super) const MOST: usize = 50_000;
/// Most bytes of a file whose content is stored.
const LARGEST: u64 = 32 << 20;
/// Most bytes of all contents of one snapshot, the smallest files first.
const CONTENTS: u64 = 64 << 20;
/// Most files whose contents are stored.
const FILES: usize = 20_000;
/// The state of every file, by its path.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    pub(super) entries: BTreeMap<Vec<u8>, Entry>,
    /// Whether some folders could not be scanned.
    pub(super) is_partial: bool,
}

/// The state of one file, link or folder.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) stamp: Stamp,
    /// Whether it may have changed since with the same stamp.
    pub(super) is_fresh: bool,
    pub(super) content: Option<Content>,
}

impl Entry {
    fn of(stamp: Stamp, settled: i64) -> Self {
        Entry { stamp, is_fresh: stamp.changed >= settled, content: None }
    }

    /// Its metadata as recorded, without the content.
    pub(super) fn form(&self) -> FileMetadata {
        self.stamp.form()
    }

    fn has_content(&self) -> bool {
        matches!(self.stamp.kind, PathKind::File | PathKind::Link)
    }
}

/// Scans the workspace. Returns `None` if it has too many files.
pub(super) fn look(workspace: &Workspace, last: Option<&Snapshot>, store: Option<&Arc<Store>>) -> Option<Snapshot> {
    let settled = ago(GRAIN);
    let survey = workspace.survey(MOST);
    if survey.is_cut {
        return None;
    }
    let entries = survey.stamps.into_iter().map(|(path, stamp)| (path, Entry::of(stamp, settled))).collect();
    let mut found = Snapshot { entries, is_partial: survey.is_partial };
    let Some(store) = store else { return Some(found) };
    let (mut bytes, mut files, mut unread) = (0, 0, Vec::new());
    for (path, entry) in found.entries.iter_mut().filter(|(_, entry)| entry.has_content()) {
        let known = last.and_then(|last| last.entries.get(path));
        let known = known.filter(|known| known.stamp == entry.stamp && !known.is_fresh);
        match known.map(|known| &known.content) {
            Some(Some(content)) => {
                (bytes, files) = (bytes + content.len(), files + 1);
                entry.content = Some(content.clone());
            }
            // It did not fit last time, and reading it again would take as long.
            Some(None) => {}
            None => unread.push((entry.stamp.len, path.clone())),
        }
    }
    unread.sort_unstable();
    for (len, path) in unread {
        if len > LARGEST || bytes + len > CONTENTS || files >= FILES {
            break;
        }
        let Some(entry) = found.entries.get_mut(&path) else { continue };
        if let Some(read) = std::str::from_utf8(&path).ok().and_then(|path| read(workspace, path, settled, store)) {
            *entry = read;
            (bytes, files) = (bytes + entry.content.as_ref().map_or(0, Content::len), files + 1);
        }
    }
    Some(found)
}

/// The current state of one path, with its content. Returns `None` if it does not exist or cannot be read.
pub(super) fn one(workspace: &Workspace, path: &str, store: Option<&Arc<Store>>) -> Option<Entry> {
    let inside = workspace.locate(path).ok()?;
    let settled = ago(GRAIN);
    let bare = workspace.about(&inside, LinkPolicy::Never).ok().map(|about| Entry::of(about, settled));
    match store {
        Some(store) if bare.as_ref().is_none_or(|bare| bare.has_content() && bare.stamp.len <= LARGEST) => {
            read(workspace, path, settled, store).or(bare)
        }
        _ => bare,
    }
}

fn read(workspace: &Workspace, path: &str, settled: i64, store: &Arc<Store>) -> Option<Entry> {
    let (above, name) = path.rsplit_once('/').unwrap_or((".", path));
    let folder = workspace.folder().folder(above, LinkPolicy::Never).ok()?;
    let mut entry = Entry::of(folder.look(name).ok()?, settled);
    let bytes = match entry.stamp.kind {
        PathKind::Link => folder.read_link(name).ok()?,
        PathKind::File => {
            let file = folder.file(name, OpenMode::Read, LinkPolicy::Never).ok()?;
            let mut bytes = Vec::with_capacity(usize::try_from(entry.stamp.len).ok()?);
            (&file).take(LARGEST + 1).read_to_end(&mut bytes).ok()?;
            // Another program may be writing it right now.
            entry.is_fresh |= stamp_of(&file).ok() != Some(entry.stamp);
            bytes
        }
        _ => return Some(entry),
    };
    entry.content = Some(bytes).filter(|bytes| bytes.len() as u64 <= LARGEST).and_then(|bytes| store.put(&bytes).ok());
    Some(entry)
}
