//! The state of every file of a workspace at one moment, with the contents of those that are not too large.
//!
//! A file whose stamp is the same as in the last snapshot is not read again. The time of the last change of a file's
//! state cannot be set by anyone, but it has the grain of the kernel's clock: what changed just before it was looked at
//! may have changed once more without another stamp, so that is read again.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;

use updraft_run::FileMetadata;
use updraft_workspace::{GRAIN, LinkPolicy, OpenMode, PathKind, Stamp, Workspace, ago, stamp_of};

use super::store::{Content, Store};

/// Files and folders that are looked at. Beyond this, looking takes longer than most calls.
pub(super) const MOST: usize = 50_000;
/// Bytes of a file beyond which its content is not kept.
const LARGEST: u64 = 32 << 20;
/// Bytes of all contents of one snapshot, the smallest files first.
const CONTENTS: u64 = 64 << 20;
/// Files whose contents are kept.
const FILES: usize = 20_000;
/// The state of every file, by its path.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    pub(super) entries: BTreeMap<Vec<u8>, Entry>,
    /// Some folders were not looked into.
    pub(super) is_partial: bool,
}

/// The state of one file, link or folder.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) stamp: Stamp,
    /// It may have changed since without another stamp.
    pub(super) is_fresh: bool,
    pub(super) content: Option<Content>,
}

impl Entry {
    fn of(stamp: Stamp, settled: i64) -> Self {
        Entry { stamp, is_fresh: stamp.changed >= settled, content: None }
    }

    /// As it is recorded, besides its content.
    pub(super) fn form(&self) -> FileMetadata {
        self.stamp.form()
    }

    fn has_content(&self) -> bool {
        matches!(self.stamp.kind, PathKind::File | PathKind::Link)
    }
}

/// Looks at everything. Nothing, if there is too much of it.
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
            // It did not fit then, and reading it again would take as long.
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

/// One path as it is now, with its content. Nothing, if it is gone or cannot be read.
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
            // Somebody may be writing it at this moment.
            entry.is_fresh |= stamp_of(&file).ok() != Some(entry.stamp);
            bytes
        }
        _ => return Some(entry),
    };
    entry.content = Some(bytes).filter(|bytes| bytes.len() as u64 <= LARGEST).and_then(|bytes| store.put(&bytes).ok());
    Some(entry)
}
