//! Adds to a command's output which files it changed: as the sandbox recorded it, or as far as timestamps show it.

pub(crate) mod by_time;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use updraft_run::{FileChange, FileKind, ToolOutput, UnlistedCount, is_made_again};
use updraft_sandbox::{ChildResult, StagedChange, StagedChanges, UnlistedChanges};
use updraft_workspace::{Changes, Workspace, bytes_of, hash};

use super::write_plan;
use crate::diffs::Diffs;
use crate::tool::CallContext;

/// Most bytes of previous contents kept for one command, the smallest files first.
const IMAGES: u64 = 64 << 20;
/// A file larger than this is not read: its length and modification time replace its hash.
const LARGEST: u64 = IMAGES;
/// Most bytes read to hash the files that the command left.
const READ: u64 = 256 << 20;
/// Most changes that the output itself lists; the full list is in a blob.
const NAMED: usize = 100;

/// Adds to the output what the command changed in the workspace and in other writable folders, and passes on the
/// previous contents to be stored.
pub(crate) async fn tell(
    output: &mut ToolOutput,
    ended: &ChildResult,
    beyond: &[PathBuf],
    began: SystemTime,
    cx: &CallContext,
) {
    let (staged, workspace) = (ended.staged.clone(), cx.place.workspace.clone());
    let root = workspace.root().to_owned();
    let moved: BTreeSet<String> = ended
        .moved_aside
        .iter()
        .filter_map(|moved| Some(moved.path.strip_prefix(&root).ok()?.to_str()?.to_owned()))
        .collect();
    let gathered = tokio::task::spawn_blocking(move || {
        if let Some(staged) = staged {
            return gathered(&staged, &workspace, &moved);
        }
        let seen = by_time::since(&workspace, began);
        let unlisted = seen.unlisted();
        (Changes { list: seen.list, unlisted, ..Changes::default() }, Vec::new())
    });
    let Ok((mut changes, remarks)) = gathered.await else {
        output.unlisted = Some("the command's changes could not be collected".to_owned());
        return;
    };
    let UnlistedChanges { changes: more, taken } = ended.unlisted;
    if more > 0 {
        let why = format!("{more} more changes are not listed and cannot be undone; {taken} of them took a file away");
        (changes.unlisted, output.more) = (Some(why), Some(UnlistedCount { changes: more, taken }));
    }
    let beyond = by_time::beyond(beyond, began).await;
    changes.unlisted = changes.unlisted.or_else(|| beyond.unlisted());
    changes.list.extend(beyond.list);
    if !output.text.is_empty() && !output.text.ends_with('\n') && (!remarks.is_empty() || ended.unstaged.is_some()) {
        output.text.push('\n');
    }
    for remark in remarks {
        let _ = writeln!(output.text, "[{remark}]");
    }
    if let Some(why) = ended.unstaged.as_ref().filter(|_| changes.unlisted.is_none()) {
        changes.unlisted = Some(format!("what it removed is not listed: {why}"));
    }
    if let Some(why) = ended.unstaged.as_ref().filter(|_| !changes.list.is_empty()) {
        let _ = writeln!(output.text, "[what the command changed cannot be undone: {why}]");
    }
    add(output, changes, cx);
}

/// Appends changes to those in an output, and passes on the contents to be stored.
pub(crate) fn add(output: &mut ToolOutput, changes: Changes, cx: &CallContext) {
    let Changes { list, images, diff, unlisted } = changes;
    output.unlisted = unlisted.or(output.unlisted.take());
    for image in images {
        cx.keep(image);
    }
    if !diff.is_empty() {
        output.diff = Some(cx.keep(diff.into_bytes()));
    }
    output.changes.extend(list);
    if output.changes.len() > NAMED {
        output.all_changes = serde_json::to_vec(&output.changes).ok().map(|all| cx.keep(all));
        // What people and models want to hear of comes first.
        output.changes.sort_by_key(|change| is_made_again(&change.path));
        output.changes.truncate(NAMED);
    }
}

/// The changes that the command made, and the notes about them for the model.
fn gathered(staged: &StagedChanges, workspace: &Workspace, moved: &BTreeSet<String>) -> (Changes, Vec<String>) {
    let mut all = match staged.changes() {
        Ok(all) => all,
        Err(error) => {
            let why = format!("what the command changed is not known: {error}");
            return (Changes { unlisted: Some(why.clone()), ..Changes::default() }, vec![why]);
        }
    };
    // Files that would run later were moved aside, so they are not changes.
    all.retain(|one| {
        !Path::new(&one.path).ancestors().any(|above| above.to_str().is_some_and(|at| moved.contains(at)))
    });
    let mut gathering =
        ChangeCollector { staged, workspace, images: 0, read: 0, diffs: Diffs::default(), found: Changes::default() };
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|at| all[*at].was.map_or(0, |look| look.len));
    let mut changes = vec![FileChange::default(); all.len()];
    for at in order {
        changes[at] = gathering.one(&all[at]);
    }
    let mut found = gathering.found;
    (found.list, found.diff) = (changes, gathering.diffs.text);
    let remarks = all.iter().filter(|one| one.contested).take(20).map(|one| {
        format!(
            "`{}` was also changed by another program while the command ran; it now has the command's content",
            one.path
        )
    });
    (found, remarks.collect())
}

struct ChangeCollector<'a> {
    staged: &'a StagedChanges,
    workspace: &'a Workspace,
    images: u64,
    read: u64,
    diffs: Diffs,
    found: Changes,
}

impl ChangeCollector<'_> {
    fn one(&mut self, changed: &StagedChange) -> FileChange {
        let was = changed.was;
        let mut change = FileChange { path: changed.path.clone(), was, now: changed.now, ..FileChange::default() };
        if !changed.is_exact {
            change.lost = true;
            return change;
        }
        let old = match was.map(|form| form.kind) {
            None | Some(FileKind::Folder) => Some(Vec::new()).filter(|_| was.is_none()),
            Some(FileKind::File | FileKind::Link) => self.image(changed),
            Some(_) => None,
        };
        let has_content = was.is_some_and(|form| form.kind != FileKind::Folder);
        change.before = old.as_deref().filter(|_| has_content).map(hash);
        let new = self.after(&mut change);
        if changed.has_same_content {
            change.before = change.after;
        } else {
            change.lost = has_content && old.is_none();
        }
        if let (Some(old), Some(new)) = (&old, &new) {
            self.diffs.add(&change, old, new);
        }
        if let Some(old) = old.filter(|_| has_content) {
            self.found.images.push(old);
        }
        change
    }

    /// The previous content, if it fits the limit of what is kept.
    fn image(&mut self, changed: &StagedChange) -> Option<Vec<u8>> {
        let (number, look) = (changed.kept?, changed.was?);
        if look.len > LARGEST || self.images + look.len > IMAGES {
            return None;
        }
        self.images += look.len;
        if look.kind == FileKind::Link {
            return std::fs::read_link(self.staged.kept(number)).ok().map(|target| bytes_of(target.into_os_string()));
        }
        let mut bytes = Vec::new();
        self.staged.open_kept(number).ok()?.take(LARGEST + 1).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// Hashes the file as the command left it, and returns its content if a diff can be made of it.
    fn after(&mut self, change: &mut FileChange) -> Option<Vec<u8>> {
        let Some(now) = change.now else { return Some(Vec::new()) };
        if now.kind == FileKind::Folder || now.len > LARGEST || self.read + now.len > READ {
            return None;
        }
        self.read += now.len;
        let inside = self.workspace.locate(&change.path).ok()?;
        let standing = self.workspace.standing(&inside, write_plan::DIFFED).ok()??;
        // Another program may have written the file since; that content is not the command's.
        let is_its = (standing.form().len, standing.form().modified) == (now.len, now.modified);
        change.after = standing.hash.filter(|_| is_its);
        standing.bytes.filter(|_| is_its)
    }
}
