//! Compares two snapshots for an output: each change, the previous content, and a diff.

use std::collections::{BTreeMap, BTreeSet};

use updraft_run::{ContentHash, FileChange, FileKind};
use updraft_workspace::{Changes, Workspace, hash};

use super::snapshot::{Entry, Snapshot};
use crate::diffs::Diffs;

/// Most bytes of a file that is read only to compute its hash.
const HASHED: u64 = 32 << 20;

/// Paths that other calls changed in between, with their state after that.
pub(super) type ChangesByOthers = BTreeMap<Vec<u8>, Option<Entry>>;

/// All differences between two snapshots. `is_unsure` says whether another call may have changed a path.
pub(super) fn compare(
    workspace: &Workspace,
    before: &Snapshot,
    moved: &ChangesByOthers,
    after: &Snapshot,
    is_unsure: impl Fn(Option<&Entry>) -> bool,
) -> Changes {
    let mut found = Changes::default();
    let mut diffs = Diffs::default();
    let paths: BTreeSet<&Vec<u8>> = before.entries.keys().chain(after.entries.keys()).chain(moved.keys()).collect();
    for path in paths {
        let was = moved.get(path).map_or_else(|| before.entries.get(path), Option::as_ref);
        let now = after.entries.get(path);
        if is_known_same(was, now) {
            continue;
        }
        let (old, new) = (bytes(was), bytes(now));
        if is_same(was, now, old.as_deref(), new.as_deref()) {
            continue;
        }
        let (name, is_exact) = match std::str::from_utf8(path) {
            Ok(name) => (name.to_owned(), true),
            Err(_) => (String::from_utf8_lossy(path).into_owned(), false),
        };
        let has_content = was.is_some_and(|was| was.form().kind != FileKind::Folder);
        let change = FileChange {
            before: old.as_deref().map(hash),
            after: new.as_deref().map(hash).or_else(|| hash_of(workspace, &name, now)),
            was: was.map(Entry::form),
            now: now.map(Entry::form),
            lost: !is_exact || (has_content && old.is_none()),
            unsure: is_unsure(now),
            path: name,
        };
        let side = |entry: Option<&Entry>, bytes: &Option<Vec<u8>>| {
            if entry.is_none() { Some(Vec::new()) } else { bytes.clone() }
        };
        if let (Some(old), Some(new)) = (side(was, &old), side(now, &new)) {
            diffs.add(&change, &old, &new);
        }
        found.images.extend(old);
        found.list.push(change);
    }
    found.diff = diffs.text;
    found
}

/// Whether the stamps alone say that nothing changed.
fn is_known_same(was: Option<&Entry>, now: Option<&Entry>) -> bool {
    let (Some(was), Some(now)) = (was, now) else { return false };
    if was.form().kind == FileKind::Folder && now.form().kind == FileKind::Folder {
        // A folder's stamp changes with every entry added or removed, and those entries are listed themselves.
        return was.form().mode == now.form().mode;
    }
    was.stamp == now.stamp && !was.is_fresh
}

fn is_same(was: Option<&Entry>, now: Option<&Entry>, old: Option<&[u8]>, new: Option<&[u8]>) -> bool {
    let (Some(was), Some(now)) = (was, now) else { return was.is_none() && now.is_none() };
    let is_alike = was.form().kind == now.form().kind && was.form().mode == now.form().mode;
    match (old, new) {
        (Some(old), Some(new)) => is_alike && old == new,
        // Without both contents, only the stamps can be compared.
        (_, _) => is_alike && was.stamp == now.stamp,
    }
}

fn bytes(entry: Option<&Entry>) -> Option<Vec<u8>> {
    entry?.content.as_ref()?.bytes()
}

/// The hash of a file whose content was not stored, if it has not changed since the scan.
fn hash_of(workspace: &Workspace, path: &str, now: Option<&Entry>) -> Option<ContentHash> {
    let form = now?.form();
    if form.kind != FileKind::File || form.len > HASHED {
        return None;
    }
    let standing = workspace.standing(&workspace.locate(path).ok()?, 0).ok()??;
    standing.hash.filter(|_| (standing.form().len, standing.form().modified) == (form.len, form.modified))
}
