//! Carries out an undo: removals from the inside out, then folders, then their contents. It may be repeated after it
//! was cut off: what is already done is left alone.

use std::collections::BTreeSet;

use updraft_run::{Failure, FileKind};
use updraft_tools::{PathContent, Workspace, WorkspacePath};

use super::path_snapshot::{PathSnapshot, is_same};
use super::plan::{MOVED, SkippedPath, TOO_LARGE, UndoMove, UndoSkipReason};
use super::record::UndoRecord;
use super::{ContentSource, LARGEST, UndoResult};

pub(super) fn carry_out(workspace: &Workspace, source: &ContentSource<'_>, record: &UndoRecord) -> UndoResult {
    let mut hand = UndoExecutor { workspace, source, undone: UndoResult::default() };
    let depth = |one: &&UndoMove| one.path.matches('/').count();
    let moved = record.moved();
    let (stay, mut moves): (Vec<&UndoMove>, Vec<&UndoMove>) =
        record.moves.iter().partition(|one| moved.contains(one.path.as_str()));
    let why = || UndoSkipReason::Failed(MOVED.to_owned());
    hand.undone.left.extend(stay.iter().map(|one| SkippedPath { path: one.path.clone(), why: why() }));
    moves.sort_by_key(|one| std::cmp::Reverse(depth(one)));
    let (folders, files): (Vec<&UndoMove>, Vec<&UndoMove>) = moves.into_iter().partition(|one| is_folder(one.from));
    for one in files.iter().filter(|one| is_removal(one)) {
        hand.take_away(one);
    }
    for one in folders.iter().filter(|one| !is_folder(one.to)) {
        hand.checked(one, |hand, path, _| Ok((!hand.workspace.take_folder(path)?).then_some(UndoSkipReason::NotEmpty)));
    }
    let mut made: Vec<&UndoMove> = folders.iter().chain(&files).copied().filter(|one| is_folder(one.to)).collect();
    made.sort_by_key(depth);
    for one in made.iter().filter(|one| !is_folder(one.from)) {
        hand.tried(one, |hand, path| hand.workspace.put_folder(path).map(|()| None));
    }
    for one in folders.iter().chain(&files).filter(|one| one.to.is_some() && !is_folder(one.to)) {
        hand.put(one);
    }
    // Last and from the inside out, because a folder may become read-only.
    for one in made.iter().rev() {
        let mode = one.to.map_or(0o755, |side| side.form.mode);
        hand.tried(one, |hand, path| hand.workspace.set_mode(path, mode).map(|()| None));
    }
    hand.undone.restored.sort();
    hand.undone.restored.dedup();
    let left: BTreeSet<&str> = hand.undone.left.iter().map(|one| one.path.as_str()).collect();
    hand.undone.restored.retain(|path| !left.contains(path.as_str()));
    hand.undone
}

fn is_folder(side: Option<PathSnapshot>) -> bool {
    side.is_some_and(|side| side.form.kind == FileKind::Folder)
}

/// Whether a file or link is removed, for good or to make room for a folder.
fn is_removal(one: &UndoMove) -> bool {
    one.from.is_some() && !is_folder(one.from) && (one.to.is_none() || is_folder(one.to))
}

struct UndoExecutor<'a> {
    workspace: &'a Workspace,
    source: &'a ContentSource<'a>,
    undone: UndoResult,
}

type UndoAttempt = Result<Option<UndoSkipReason>, Failure>;

impl UndoExecutor<'_> {
    /// Restores a file or link.
    fn put(&mut self, one: &UndoMove) {
        let Some(to) = one.to else { return };
        self.checked(one, |hand, path, now| {
            let current = now.as_ref().map(PathSnapshot::now);
            if is_same(current.as_ref(), Some(&to)) && to.form.kind == FileKind::File {
                return hand.workspace.set_mode(path, to.form.mode).map(|()| None);
            }
            let bytes = now.as_ref().and_then(|now| now.bytes.as_deref());
            let Some(content) = hand.source.content(&to, &one.later, bytes) else {
                return Ok(Some(UndoSkipReason::Lost));
            };
            match to.form.kind {
                FileKind::Link => hand.workspace.put_link(path, &content),
                _ => hand.workspace.put_file(path, &content, to.form.mode),
            }
            .map(|()| None)
        });
    }

    /// Removes a file or a link.
    fn take_away(&mut self, one: &UndoMove) {
        self.checked(one, |hand, path, now| {
            // The folder that replaces it may already exist.
            let is_there = now.is_some_and(|now| now.form().kind == FileKind::Folder);
            if is_there { Ok(None) } else { hand.workspace.take_away(path).map(|()| None) }
        });
    }

    /// Checks the path again, because it may have changed since the plan was made: changes by others are not
    /// overwritten.
    fn checked(&mut self, one: &UndoMove, act: impl FnOnce(&Self, &WorkspacePath, Option<PathContent>) -> UndoAttempt) {
        self.tried(one, |hand, path| {
            let now = hand.workspace.standing(path, LARGEST)?;
            let current = now.as_ref().map(PathSnapshot::now);
            let is_done = is_same(current.as_ref(), one.to.as_ref()) && one.to.is_none();
            let came_apart = current.is_none() && one.from.is_some() && one.to.is_some();
            if is_done {
                return Ok(None);
            }
            let is_expected = [one.from, one.to].iter().any(|side| is_same(current.as_ref(), side.as_ref()));
            // What was in the way may just have been removed for it.
            if !is_expected && !came_apart {
                return Ok(Some(UndoSkipReason::Conflict));
            }
            let goes = current.and_then(|side| side.hash).filter(|_| !is_same(current.as_ref(), one.to.as_ref()));
            if goes.is_some_and(|hash| !hand.source.records.has(&hash)) {
                return Ok(Some(UndoSkipReason::Failed(TOO_LARGE.to_owned())));
            }
            act(hand, path, now)
        });
    }

    fn tried(&mut self, one: &UndoMove, act: impl FnOnce(&Self, &WorkspacePath) -> UndoAttempt) {
        let tried = self.workspace.locate(&one.path).and_then(|path| act(self, &path));
        let left = |why| SkippedPath { path: one.path.clone(), why };
        match tried {
            Ok(None) => self.undone.restored.push(one.path.clone()),
            Ok(Some(why)) => self.undone.left.push(left(why)),
            Err(failure) => self.undone.left.push(left(UndoSkipReason::Failed(failure.message))),
        }
    }
}
