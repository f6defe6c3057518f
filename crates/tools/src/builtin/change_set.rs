//! Changes to several files that are made together or not at all, also if the process ends between two of them.

use std::sync::Arc;

use serde_json::{Value, json};
use updraft_run::{
    ContentHash, EffectClass, EffectFacts, ExpectedWrite, Failure, FailureKind, FileChange, PreparedCall,
    RecoveryOutcome, Reply, ToolOutput,
};
use updraft_workspace::{PathContent, Place, Workspace, WorkspacePath, WriteOutcome, hash};

use super::write_plan::{ATTEMPTS, DIFF, look, unified};
use crate::tool::CallContext;
use crate::truncate;

/// New contents for files, worked out but not yet written.
pub(in crate::builtin) struct ChangeSet {
    pub(in crate::builtin) writes: Vec<FileWrite>,
}

/// What becomes of one file.
pub(in crate::builtin) struct FileWrite {
    pub(in crate::builtin) path: WorkspacePath,
    /// The file as it was read, with its content; `None` if there was none.
    pub(in crate::builtin) before: Option<PathContent>,
    /// The new content; `None` if the file is removed.
    pub(in crate::builtin) after: Option<Vec<u8>>,
    /// The permissions of a file that was moved here.
    pub(in crate::builtin) mode: Option<u32>,
}

impl FileWrite {
    fn before_hash(&self) -> Option<ContentHash> {
        self.before.as_ref().and_then(|existing| existing.hash)
    }

    fn after_hash(&self) -> Option<ContentHash> {
        self.after.as_ref().map(|content| hash(content))
    }

    fn changes_nothing(&self) -> bool {
        self.before_hash() == self.after_hash()
    }

    fn carry_out(&self, workspace: &Workspace, reaches_outside: bool) -> Result<WriteOutcome, Failure> {
        let done = match (&self.after, &self.before) {
            (Some(content), before) => workspace.replace(&self.path, content, before.as_ref(), reaches_outside)?,
            (None, Some(before)) => workspace.remove(&self.path, before, reaches_outside)?,
            (None, None) => WriteOutcome::Done(Vec::new()),
        };
        if let (Some(mode), WriteOutcome::Done(_)) = (self.mode, &done) {
            workspace.set_mode(&self.path, mode)?;
        }
        Ok(done)
    }

    /// Puts back what was there before.
    fn roll_back(&self, workspace: &Workspace) -> Result<(), Failure> {
        match &self.before {
            Some(PathContent { stamp, bytes: Some(bytes), .. }) => workspace.put_file(&self.path, bytes, stamp.mode),
            Some(_) => Err(Failure::new(FailureKind::Tool, "its content was not kept")),
            None => workspace.take_away(&self.path),
        }
    }

    fn change(&self, place: &Place) -> FileChange {
        FileChange {
            path: self.path.to_string(),
            before: self.before_hash(),
            after: self.after_hash(),
            was: self.before.as_ref().map(PathContent::form),
            now: self.after.as_ref().and_then(|_| look(place, &self.path)),
            ..FileChange::default()
        }
    }
}

/// Prepares a call that writes these files.
pub(in crate::builtin) fn prepare(writes: &[WorkspacePath], place: &Place) -> PreparedCall {
    let because = writes.iter().find_map(|path| place.workspace.why_guarded(path)).map(str::to_owned);
    let outside = because.is_some();
    let writes = writes.iter().map(ToString::to_string).collect();
    // A file that is run later runs outside the sandbox, so it could send anything anywhere.
    let (class, sends) = (EffectClass::Checkable, outside);
    PreparedCall { class, writes, outside, because, sends, ..PreparedCall::default() }
}

/// Plans changes and carries them out while no other call of ours writes files. If another program writes one of the
/// files meanwhile, the changes are planned again from the new content.
pub(in crate::builtin) fn make(cx: &CallContext, plan: impl Fn(&Place) -> Result<ChangeSet, Failure>) -> Reply {
    for _ in 0..ATTEMPTS {
        let changes = match plan(&cx.place) {
            Ok(changes) => changes.in_order(),
            Err(why) => return Reply::Failed(nothing_changed(&why)),
        };
        let Some(first) = changes.writes.first() else { return changes.reply(cx, Vec::new()) };
        if cx.cancel.is_cancelled() {
            return Reply::Cancelled;
        }
        // The turn of one file excludes all other writers: it locks the workspace.
        let turn = cx.place.workspace.turn(&first.path);
        let outcome = changes.carry_out(&cx.place.workspace, cx.around.reaches_outside);
        drop(turn);
        match outcome {
            Ok(Some(folders)) => return changes.reply(cx, folders),
            Ok(None) => {}
            Err(failure) => return Reply::Failed(failure),
        }
    }
    let why = "files are being changed by another program again and again; nothing was changed";
    Reply::Failed(Failure::new(FailureKind::Tool, why))
}

impl ChangeSet {
    /// The hashes that show later how far the changes were carried out.
    pub(in crate::builtin) fn facts(&self) -> EffectFacts {
        let files = self.writes.iter().filter(|write| !write.changes_nothing()).map(|write| ExpectedWrite {
            path: write.path.to_string(),
            before: write.before_hash(),
            after: write.after_hash(),
        });
        EffectFacts { files: files.collect(), ..EffectFacts::default() }
    }

    /// The contents that would be replaced, for undo.
    pub(in crate::builtin) fn previous_contents(self) -> Vec<Vec<u8>> {
        let changed = self.writes.into_iter().filter(|write| !write.changes_nothing());
        changed.filter_map(|write| write.before?.bytes).collect()
    }

    /// Files are written before others are removed, so that the content of a file that moves is always somewhere.
    fn in_order(mut self) -> Self {
        self.writes.retain(|write| !write.changes_nothing());
        self.writes.sort_by_key(|write| write.after.is_none());
        self
    }

    /// Makes all changes and returns the folders that were created, or makes none. Returns `None` if a file has
    /// changed since it was planned.
    fn carry_out(&self, workspace: &Workspace, reaches_outside: bool) -> Result<Option<Vec<FileChange>>, Failure> {
        let mut folders = Vec::new();
        for (write, done) in self.writes.iter().zip(0..) {
            let why = match write.carry_out(workspace, reaches_outside) {
                Ok(WriteOutcome::Done(created)) => {
                    folders.extend(created);
                    continue;
                }
                Ok(WriteOutcome::Overtaken) => None,
                Err(failure) => Some(failure),
            };
            let left = roll_back(&self.writes[..done], &folders, workspace);
            if !left.is_empty() {
                let why =
                    why.map_or_else(|| format!("`{}` was changed by another program", write.path), |why| why.message);
                let why = format!(
                    "{why}; these files were changed before that, and could not be put back: {}",
                    left.join(", ")
                );
                return Err(Failure::new(FailureKind::Tool, why));
            }
            return why.map_or(Ok(None), |why| Err(nothing_changed(&why)));
        }
        Ok(Some(folders))
    }

    /// What the model is told, and what is recorded.
    fn reply(&self, cx: &CallContext, folders: Vec<FileChange>) -> Reply {
        for content in self.writes.iter().filter_map(|write| write.before.as_ref()?.bytes.clone()) {
            cx.keep(content);
        }
        let changes = folders.into_iter().chain(self.writes.iter().map(|write| write.change(&cx.place)));
        let mut output = described(changes.collect());
        let diffs = self.writes.iter().filter_map(|write| {
            let old = write.before.as_ref().map_or(Some(&[][..]), |existing| existing.bytes.as_deref())?;
            Some(unified(write.path.as_str(), old, write.after.as_deref().unwrap_or_default())?.text)
        });
        let diff: String = diffs.collect();
        if let Some(value) = output.value.as_mut() {
            value["diff"] = truncate::head_and_tail(&diff, DIFF).unwrap_or(diff).into();
        }
        Reply::Output(Arc::new(output))
    }
}

fn nothing_changed(why: &Failure) -> Failure {
    Failure { message: format!("nothing was changed: {}", why.message), ..why.clone() }
}

/// Puts files back and removes folders that were created for them. Returns the paths for which that failed.
fn roll_back(written: &[FileWrite], folders: &[FileChange], workspace: &Workspace) -> Vec<String> {
    let put_back = written.iter().rev().filter(|write| write.roll_back(workspace).is_err());
    let left = put_back.map(|write| format!("`{}`", write.path)).collect();
    for folder in folders.iter().rev() {
        // A folder that has something in it by now stays.
        let _ = workspace.locate(&folder.path).and_then(|path| workspace.take_folder(&path));
    }
    left
}

/// Finds out how far changes were carried out, and makes the rest of them.
pub(in crate::builtin) fn reconcile(
    facts: &EffectFacts,
    place: &Place,
    plan: impl Fn(&dyn Fn(&WorkspacePath) -> bool) -> Result<ChangeSet, Failure>,
) -> RecoveryOutcome {
    if facts.files.is_empty() {
        return RecoveryOutcome::CannotTell("the files' hashes before the change were not recorded".into());
    }
    let (mut made, mut left) = (Vec::new(), Vec::new());
    for expected in &facts.files {
        let found = place.workspace.locate_for_writing(&expected.path);
        let found = found.and_then(|path| Ok((place.workspace.existing(&path, 0)?, path)));
        match found.map(|(existing, path)| (existing.and_then(|existing| existing.hash), path)) {
            Ok((now, _)) if now == expected.after => made.push(expected),
            Ok((now, path)) if now == expected.before => left.push((path, expected)),
            Ok((_, path)) => {
                let why = format!("`{path}` is neither as it was before the call nor as it would be after it");
                return RecoveryOutcome::CannotTell(why);
            }
            Err(failure) => return RecoveryOutcome::CannotTell(failure.message),
        }
    }
    if made.is_empty() {
        return RecoveryOutcome::DidNotHappen;
    }
    if !left.is_empty()
        && let Err(why) = complete(&left, place, plan)
    {
        let names: Vec<&str> = left.iter().map(|(path, _)| path.as_str()).collect();
        return RecoveryOutcome::CannotTell(format!(
            "it was carried out in part and could not be completed ({why}); not changed: {}",
            names.join(", ")
        ));
    }
    let changes = facts.files.iter().map(|expected| recovered(expected, place));
    RecoveryOutcome::Happened(Reply::Output(Arc::new(described(changes.collect()))))
}

/// Changes the files that are still as they were.
fn complete(
    left: &[(WorkspacePath, &ExpectedWrite)],
    place: &Place,
    plan: impl Fn(&dyn Fn(&WorkspacePath) -> bool) -> Result<ChangeSet, Failure>,
) -> Result<(), String> {
    let is_left = |path: &WorkspacePath| left.iter().any(|(one, _)| one == path);
    let mut changes = plan(&is_left).map_err(|failure| failure.message)?.in_order();
    // A file that moved has been written to its new place already.
    changes.writes.retain(|write| is_left(&write.path));
    let planned: Vec<_> = changes.writes.iter().map(|write| (write.path.as_str(), write.after_hash())).collect();
    if left.len() != planned.len() || !left.iter().all(|(path, to)| planned.contains(&(path.as_str(), to.after))) {
        return Err("the rest no longer gives the same result".into());
    }
    let Some(first) = changes.writes.first() else { return Ok(()) };
    let _turn = place.workspace.turn(&first.path);
    match changes.carry_out(&place.workspace, false) {
        Ok(Some(_)) => Ok(()),
        Ok(None) => Err("another program changes the files".into()),
        Err(failure) => Err(failure.message),
    }
}

/// A change as far as it is known after a restart. A write keeps the mode of the file it replaces.
fn recovered(expected: &ExpectedWrite, place: &Place) -> FileChange {
    let now = place.workspace.locate(&expected.path).ok().and_then(|path| look(place, &path));
    let was = now.filter(|_| expected.before.is_some());
    let was = was.map(|now| updraft_run::FileMetadata { len: 0, modified: None, ..now });
    FileChange {
        path: expected.path.clone(),
        before: expected.before,
        after: expected.after,
        was,
        now,
        ..FileChange::default()
    }
}

/// The output for these changes: `A` for an added file, `M` for a modified one, `D` for a deleted one.
fn described(changes: Vec<FileChange>) -> ToolOutput {
    let files = changes.iter().filter(|change| change.before.is_some() || change.after.is_some());
    let lines = files.map(|change| {
        let kind = match (change.before, change.after) {
            (None, _) => 'A',
            (Some(_), Some(_)) => 'M',
            (Some(_), None) => 'D',
        };
        format!("{kind} {}\n", change.path)
    });
    let lines: Vec<String> = lines.collect();
    let text = match lines.len() {
        0 => "the files are like that already; nothing was changed\n".to_owned(),
        1 => format!("changed 1 file:\n{}", lines.concat()),
        several => format!("changed {several} files:\n{}", lines.concat()),
    };
    let files: Vec<Value> = lines.iter().map(|line| line.trim_end().into()).collect();
    ToolOutput { text, value: Some(json!({ "files": files })), changes, ..ToolOutput::default() }
}
