//! The shared part of tools that change a file: they plan the change, write it, report it, and find out after a crash
//! whether it was written.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};
use updraft_run::{
    ContentHash, EffectClass, EffectFacts, ExpectedWrite, Failure, FailureKind, FileChange, FileMetadata, PreparedCall,
    RecoveryOutcome, Reply, ToolOutput,
};
use updraft_workspace::{LinkPolicy, PathContent, Place, WorkspacePath, WriteOutcome, hash, text};

use crate::tool::CallContext;
use crate::truncate;

/// Most bytes of a diff. That is enough to see what happened; the files hold the rest.
pub(super) const DIFF: usize = 16 << 10;
/// No diff is made of a file larger than this, in bytes.
pub(super) const DIFFED: usize = 2 << 20;

/// New content for a file, worked out but not yet written.
pub(crate) struct WritePlan {
    pub(crate) path: WorkspacePath,
    pub(crate) before: Option<PathContent>,
    pub(crate) after: Vec<u8>,
    /// The text that the model gets when the file is written.
    pub(crate) text: String,
}

/// Prepares a call that writes the file `path`.
pub(crate) fn prepare(args: &Value, class: EffectClass, place: &Place) -> PreparedCall {
    match locate(args, place) {
        Ok(path) => {
            let because = place.workspace.why_guarded(&path).map(str::to_owned);
            let outside = because.is_some();
            // A file that is run later runs outside the sandbox, so it could send anything anywhere.
            let sends = outside;
            PreparedCall { class, writes: vec![path.to_string()], outside, because, sends, ..PreparedCall::default() }
        }
        Err(fault) => PreparedCall { class, fault: Some(fault), ..PreparedCall::default() },
    }
}

fn locate(args: &Value, place: &Place) -> Result<WorkspacePath, Failure> {
    place.workspace.locate_for_writing(args["path"].as_str().unwrap_or_default())
}

/// How often a change is planned again because another program changed the file meanwhile.
pub(super) const ATTEMPTS: usize = 10;

/// Plans a change and carries it out while no other call of this process writes that file, so two edits at the same
/// time both take effect. If another program writes the file meanwhile, the change is planned again from the new
/// content.
pub(crate) fn make(args: &Value, cx: &CallContext, plan: impl Fn(&Place) -> Result<WritePlan, Failure>) -> Reply {
    let path = match locate(args, &cx.place) {
        Ok(path) => path,
        Err(failure) => return Reply::Failed(failure),
    };
    let _turn = cx.place.workspace.turn(&path);
    for _ in 0..ATTEMPTS {
        match plan(&cx.place).map(|plan| plan.carry_out(cx)) {
            Ok(Some(reply)) => return reply,
            Ok(None) => {}
            Err(failure) => return Reply::Failed(failure),
        }
    }
    let why = format!("`{path}` is being changed by another program again and again; nothing was written");
    Reply::Failed(Failure::new(FailureKind::Tool, why))
}

/// Counts lines added and removed between two texts. Returns `None` if they are too large to compare or are not text.
pub fn changed_lines(before: &str, after: &str) -> Option<(usize, usize)> {
    if before.len() > DIFFED || after.len() > DIFFED || before.contains('\0') || after.contains('\0') {
        return None;
    }
    let diff = TextDiff::from_lines(before, after);
    let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
    Some((count(ChangeTag::Insert), count(ChangeTag::Delete)))
}

impl WritePlan {
    /// The hashes that show later whether the change was carried out.
    pub(crate) fn facts(&self) -> EffectFacts {
        let files = vec![ExpectedWrite {
            path: self.path.to_string(),
            before: self.before.as_ref().and_then(|existing| existing.hash),
            after: Some(hash(&self.after)),
        }];
        EffectFacts { files, ..EffectFacts::default() }
    }

    /// The content that would be replaced, for undo.
    pub(crate) fn previous_contents(self) -> Vec<Vec<u8>> {
        let is_same = |existing: &PathContent| existing.hash == Some(hash(&self.after));
        self.before.filter(|existing| !is_same(existing)).and_then(|existing| existing.bytes).into_iter().collect()
    }

    /// Writes the file, and keeps the previous content. Returns `None` if the file has changed since this was
    /// planned.
    fn carry_out(self, cx: &CallContext) -> Option<Reply> {
        let change = FileChange {
            path: self.path.to_string(),
            before: self.before.as_ref().and_then(|existing| existing.hash),
            after: Some(hash(&self.after)),
            was: self.before.as_ref().map(PathContent::form),
            now: None,
            lost: self.before.as_ref().is_some_and(|existing| existing.bytes.is_none()),
            ..FileChange::default()
        };
        let mut output = told(&self.path, change, self.text, self.after.len());
        if cx.cancel.is_cancelled() {
            return Some(Reply::Cancelled);
        }
        if let Some(mut change) = output.changes.pop() {
            let may = cx.around.reaches_outside;
            match cx.place.workspace.replace(&self.path, &self.after, self.before.as_ref(), may) {
                Ok(WriteOutcome::Done(folders)) => output.changes = folders,
                Ok(WriteOutcome::Overtaken) => return None,
                Err(failure) => return Some(Reply::Failed(failure)),
            }
            change.now = look(&cx.place, &self.path);
            output.changes.push(change);
        }
        if self.before.as_ref().is_some_and(|existing| existing.stamp.has_other_names()) && !output.changes.is_empty() {
            output.text.push_str("[it had other names (hard links); under those nothing changed]\n");
        }
        let old = self.before.map_or(Some(Vec::new()), |existing| existing.bytes);
        if let (Some(old), Some(value)) = (&old, output.value.as_mut()) {
            add_diff(value, &self.path, old, &self.after);
        }
        if let Some(old) = old.filter(|_| output.changes.last().is_some_and(|change| change.before.is_some())) {
            cx.keep(old);
        }
        Some(Reply::Output(Arc::new(output)))
    }
}

/// The metadata of the file as it is now.
pub(super) fn look(place: &Place, path: &WorkspacePath) -> Option<FileMetadata> {
    // The file is already written, so it is no failure if it has been removed since.
    place.workspace.about(path, LinkPolicy::Never).ok().map(|about| about.form())
}

/// Whether a write happened, by the hashes before and after.
pub(crate) fn reconcile(
    facts: &EffectFacts,
    place: &Place,
    text: impl FnOnce(&ExpectedWrite) -> String,
) -> RecoveryOutcome {
    let [expected] = facts.files.as_slice() else {
        return RecoveryOutcome::CannotTell("the file's hashes before the write were not recorded".into());
    };
    let current = place
        .workspace
        .locate_for_writing(&expected.path)
        .and_then(|path| Ok((place.workspace.existing(&path, 0)?, path)));
    let (current, path) = match current {
        Ok((existing, path)) => (existing, path),
        Err(Failure { message, .. }) => return RecoveryOutcome::CannotTell(message),
    };
    let now = current.as_ref().and_then(|existing| existing.hash);
    if now == expected.after {
        let now = current.as_ref().map(PathContent::form);
        // A write keeps the mode of the file it replaces, so the old mode can be read from the new file.
        let was = now.filter(|_| expected.before.is_some()).map(|now| FileMetadata { len: 0, modified: None, ..now });
        let (before, after) = (expected.before, expected.after);
        let change = FileChange { path: path.to_string(), before, after, was, now, ..FileChange::default() };
        let len = current.map_or(0, |existing| existing.stamp.len as usize);
        return RecoveryOutcome::Happened(Reply::Output(Arc::new(told(&path, change, text(expected), len))));
    }
    if now == expected.before {
        return RecoveryOutcome::DidNotHappen;
    }
    let shown = |hash: Option<ContentHash>| hash.map_or_else(|| "absent".into(), |hash| format!("sha256 {hash}"));
    RecoveryOutcome::CannotTell(format!(
        "`{path}` is neither as it was before the write nor as it would be after it: now {}; before {}; after {}",
        shown(now),
        shown(expected.before),
        shown(expected.after)
    ))
}

/// The output of a write. If the file already had that content, nothing changed.
fn told(path: &WorkspacePath, change: FileChange, text: String, bytes: usize) -> ToolOutput {
    let created = change.before.is_none();
    let is_same = change.before == change.after;
    ToolOutput {
        text: if is_same { format!("`{path}` has that content already; nothing was changed\n") } else { text },
        value: Some(json!({ "path": path.as_str(), "created": created, "bytes": bytes })),
        changes: if is_same { Vec::new() } else { vec![change] },
        ..ToolOutput::default()
    }
}

/// A unified diff.
pub(super) struct UnifiedDiff {
    pub(super) text: String,
    added: usize,
    removed: usize,
}

/// The diff of a file, if both versions are text and not too large.
pub(super) fn unified(path: &str, old: &[u8], new: &[u8]) -> Option<UnifiedDiff> {
    if old.len() > DIFFED || new.len() > DIFFED {
        return None;
    }
    let ((old, _), (new, _)) = (text::decode(old)?, text::decode(new)?);
    let diff = TextDiff::configure().timeout(Duration::from_millis(200)).diff_lines(&old, &new);
    let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
    let (added, removed) = (count(ChangeTag::Insert), count(ChangeTag::Delete));
    let (before, after) = (format!("a/{path}"), format!("b/{path}"));
    let text = diff.unified_diff().context_radius(3).header(&before, &after).to_string();
    Some(UnifiedDiff { text, added, removed })
}

/// Adds a diff to a result.
fn add_diff(value: &mut Value, path: &WorkspacePath, old: &[u8], new: &[u8]) {
    let Some(UnifiedDiff { text, added, removed }) = unified(path.as_str(), old, new) else { return };
    value["added"] = added.into();
    value["removed"] = removed.into();
    value["diff"] = truncate::head_and_tail(&text, DIFF).unwrap_or(text).into();
}
