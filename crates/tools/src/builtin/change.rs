//! What tools that change a file have in common: looking first, writing, telling, and finding out after a crash.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};
use updraft_run::{
    ContentHash, EffectClass, EffectFacts, ExpectedWrite, Failure, FailureKind, FileChange, FileMetadata, PreparedCall,
    RecoveryOutcome, Reply, ToolOutput,
};
use updraft_workspace::{LinkPolicy, PathContent, Place, WorkspacePath, WriteOutcome, hash, text};

use crate::cut;
use crate::tool::CallContext;

/// Bytes of a diff: enough to see what happened; the files hold the rest.
const DIFF: usize = 16 << 10;
/// Bytes of a file beyond which no diff is made.
pub(super) const DIFFED: usize = 2 << 20;

/// New content for a file, worked out but not yet written.
pub(super) struct WritePlan {
    pub(super) path: WorkspacePath,
    pub(super) before: Option<PathContent>,
    pub(super) after: Vec<u8>,
    /// What the model is told when it is done.
    pub(super) text: String,
}

/// What a call that reads the file or folder `path` would touch; without one, the whole workspace.
pub(super) fn reading(args: &Value, place: &Place) -> PreparedCall {
    let path = args["path"].as_str().map_or(Ok(WorkspacePath::root()), |path| place.workspace.locate(path));
    // A path that leads nowhere is a failure of the call.
    let reads = path.map(|path| place.workspace.with_its_target(&path)).unwrap_or_default();
    PreparedCall { reads, ..PreparedCall::default() }
}

/// What a call that writes the file `path` would touch.
pub(super) fn prepare(args: &Value, class: EffectClass, place: &Place) -> PreparedCall {
    match locate(args, place) {
        Ok(path) => {
            let because = place.workspace.why_guarded(&path).map(str::to_owned);
            let outside = because.is_some();
            // What runs later runs outside of the sandbox, and so can send whatever it likes.
            let sends = outside;
            PreparedCall { class, writes: vec![path.to_string()], outside, because, sends, ..PreparedCall::default() }
        }
        Err(fault) => PreparedCall { class, fault: Some(fault), ..PreparedCall::default() },
    }
}

fn locate(args: &Value, place: &Place) -> Result<WorkspacePath, Failure> {
    place.workspace.locate_for_writing(args["path"].as_str().unwrap_or_default())
}

/// How often a change is worked out anew because somebody else changed the file meanwhile.
const ATTEMPTS: usize = 10;

/// Plans a change and carries it out, while nobody else of us writes that file: two edits at once both count. Where
/// somebody else writes it all the same, the change is worked out again from what is there by then.
pub(super) fn make(args: &Value, cx: &CallContext, plan: impl Fn(&Place) -> Result<WritePlan, Failure>) -> Reply {
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

/// Lines added and removed between two texts; nothing where they are too large to compare or hold no text.
pub fn changed_lines(before: &str, after: &str) -> Option<(usize, usize)> {
    if before.len() > DIFFED || after.len() > DIFFED || before.contains('\0') || after.contains('\0') {
        return None;
    }
    let diff = TextDiff::from_lines(before, after);
    let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
    Some((count(ChangeTag::Insert), count(ChangeTag::Delete)))
}

impl WritePlan {
    /// The hashes by which it can be told later whether it was carried out.
    pub(super) fn facts(&self) -> EffectFacts {
        let files = vec![ExpectedWrite {
            path: self.path.to_string(),
            before: self.before.as_ref().and_then(|existing| existing.hash),
            after: Some(hash(&self.after)),
        }];
        EffectFacts { files, ..EffectFacts::default() }
    }

    /// The content that would be replaced, for undo.
    pub(super) fn images(self) -> Vec<Vec<u8>> {
        let is_same = |existing: &PathContent| existing.hash == Some(hash(&self.after));
        self.before.filter(|existing| !is_same(existing)).and_then(|existing| existing.bytes).into_iter().collect()
    }

    /// Writes the file, and keeps what was there. Nothing if somebody else has changed the file since this was planned.
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

/// What the file is now, besides its content.
pub(super) fn look(place: &Place, path: &WorkspacePath) -> Option<FileMetadata> {
    // It is written by now, so one that somebody has taken away since is no failure.
    place.workspace.about(path, LinkPolicy::Never).ok().map(|about| about.form())
}

/// Whether a write happened, by the hashes before and after.
pub(super) fn reconcile(
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
        // A write keeps the mode of the file it replaces, so what it was can be told from what it is.
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

/// The output of a write. A file that had the content already did not change.
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

/// What became of a file, if both sides are text and not too large.
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
    value["diff"] = cut::head_and_tail(&text, DIFF).unwrap_or(text).into();
}
