//! The state of every file of a workspace at one moment, with the contents of those that are not too large.
//!
//! A file whose stamp is the same as in the last snapshot is not read again. The time of the last change of a file's
//! state cannot be set by anyone, but it has the grain of the kernel's clock: what changed just before it was looked at
//! may have changed once more without another stamp, so that is read again.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use updraft_run::{Form, FormKind};

use super::store::{Content, Store};
use updraft_workspace::{Folder, How, Links, Stamp, Workspace, bytes_of, stamp_of};

/// Files and folders that are looked at. Beyond this, looking takes longer than most calls.
pub(super) const MOST: usize = 50_000;
/// Folders below folders, each held open on the way.
const DEPTH: usize = 64;
/// Bytes of a file beyond which its content is not kept.
const LARGEST: u64 = 32 << 20;
/// Bytes of all contents of one snapshot, the smallest files first.
const CONTENTS: u64 = 64 << 20;
/// Files whose contents are kept.
const FILES: usize = 20_000;
/// File systems stamp with the clock of the last tick, at most 10 ms old.
const GRAIN: Duration = Duration::from_millis(20);

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
    pub(super) form: Form,
    /// With the times of the last change of content and of state.
    pub(super) stamp: Stamp,
    /// It may have changed since without another stamp.
    pub(super) is_fresh: bool,
    pub(super) content: Option<Content>,
}

impl Entry {
    fn of(stamp: Stamp, settled: i64) -> Self {
        Entry { form: stamp.form(), stamp, is_fresh: stamp.changed >= settled, content: None }
    }

    fn has_content(&self) -> bool {
        matches!(self.form.kind, FormKind::File | FormKind::Link)
    }
}

/// A moment a little before now, as files are stamped: in nanoseconds since 1970.
#[expect(clippy::disallowed_methods, reason = "compared with the times of files, which the system's clock gives")]
pub(super) fn ago(length: Duration) -> i64 {
    let past = SystemTime::now().checked_sub(length).unwrap_or(UNIX_EPOCH);
    let since = past.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// Looks at everything. Nothing, if there is too much of it.
pub(super) fn look(workspace: &Workspace, last: Option<&Snapshot>, store: Option<&Arc<Store>>) -> Option<Snapshot> {
    let mut look = Look { settled: ago(GRAIN), found: Snapshot::default() };
    look.folder(workspace.folder(), OsStr::new("."), &mut Vec::new(), DEPTH)?;
    let mut found = look.found;
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
            None => unread.push((entry.form.len, path.clone())),
        }
    }
    unread.sort_unstable();
    for (len, path) in unread {
        if len > LARGEST || bytes + len > CONTENTS || files >= FILES {
            break;
        }
        let Some(entry) = found.entries.get_mut(&path) else { continue };
        if let Some(read) = std::str::from_utf8(&path).ok().and_then(|path| read(workspace, path, look.settled, store))
        {
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
    let bare = workspace.about(&inside, Links::Never).ok().map(|about| Entry::of(about, settled));
    match store {
        Some(store) if bare.as_ref().is_none_or(|bare| bare.has_content() && bare.form.len <= LARGEST) => {
            read(workspace, path, settled, store).or(bare)
        }
        _ => bare,
    }
}

fn read(workspace: &Workspace, path: &str, settled: i64, store: &Arc<Store>) -> Option<Entry> {
    let (above, name) = path.rsplit_once('/').unwrap_or((".", path));
    let folder = workspace.folder().folder(above, Links::Never).ok()?;
    let mut entry = Entry::of(folder.look(name).ok()?, settled);
    let bytes = match entry.form.kind {
        FormKind::Link => folder.read_link(name).ok()?,
        FormKind::File => {
            let file = folder.file(name, How::Read, Links::Never).ok()?;
            let mut bytes = Vec::with_capacity(usize::try_from(entry.form.len).ok()?);
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

struct Look {
    settled: i64,
    found: Snapshot,
}

impl Look {
    /// Looks at one folder and all below. Nothing, if there is too much of it.
    fn folder(&mut self, above: &Folder, name: &OsStr, path: &mut Vec<u8>, depth: usize) -> Option<()> {
        let opened = above.folder(name, Links::Never);
        let (Ok(folder), true) = (opened, depth > 0) else {
            self.found.is_partial = true;
            return Some(());
        };
        let names: Vec<OsString> = folder.entries().into_iter().flatten().flatten().map(|(name, _)| name).collect();
        for name in names {
            if self.found.entries.len() >= MOST {
                return None;
            }
            // It may be gone since.
            let Ok(about) = folder.look(&name) else { continue };
            let length = path.len();
            if length > 0 {
                path.push(b'/');
            }
            path.extend_from_slice(&bytes_of(name.clone()));
            self.found.entries.insert(path.clone(), Entry::of(about, self.settled));
            if about.is_folder() {
                self.folder(&folder, &name, path, depth - 1)?;
            }
            path.truncate(length);
        }
        Some(())
    }
}
