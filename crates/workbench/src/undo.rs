//! Undoes what a run changed in its workspace, and keeps the marks on files from outside right.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use updraft_engine::{ChangeFilter, Undo, UndoPlan, UndoRemains, UndoResult, WorkspaceMarks};
use updraft_journal::Journal;
use updraft_run::{Event, FileKind, Origins, PreparedCall, Reply, Run, RunId};

use crate::fault::Fault;
use crate::folders::AppFolders;
use crate::time_format;

/// The folder for records of undos.
pub fn records(folders: &AppFolders) -> PathBuf {
    folders.state.join("undone")
}

/// Whether changes are undone, or an undo is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndoDirection {
    /// The run's changes are undone.
    Undo,
    /// The last undo is undone.
    Redo,
}

/// The run whose changes are undone. The caller holds its lease.
#[derive(Clone, Copy)]
pub struct UndoneRun<'a> {
    /// The journal.
    pub journal: &'a Journal,
    /// The run.
    pub id: &'a RunId,
    /// The marks of its workspace.
    pub book: &'a WorkspaceMarks,
}

/// Carries out a plan to undo changes of a run.
pub fn carry_out(
    undo: &Undo,
    run: UndoneRun<'_>,
    plan: UndoPlan,
    which: &ChangeFilter,
    direction: UndoDirection,
) -> Result<UndoResult, Fault> {
    let UndoneRun { journal, id, book } = run;
    let (run, names_all) = folded(journal, id)?;
    let marked = mark_again(book, &run, id, &plan, direction)?;
    let undone = undo.carry_out(plan, time_format::now())?;
    // If only a part of the run is undone, its changes may rest on those of another part.
    if direction == UndoDirection::Undo && which.is_everything() {
        let (back, again): (Vec<String>, Vec<String>) =
            undone.restored.iter().cloned().partition(|path| !marked.contains(path));
        let left: Vec<String> = undone.left.iter().map(|left| left.path.clone()).chain(again).collect();
        book.undone(id, &back, if names_all { UndoRemains::These(&left) } else { UndoRemains::Unknown })?;
    }
    Ok(undone)
}

/// The run, and whether every call of it recorded what it changed.
fn folded(journal: &Journal, id: &RunId) -> Result<(Run, bool), Fault> {
    let (mut run, mut names_all, mut silent) = (Run::default(), true, BTreeSet::new());
    journal.read(id, 0, &mut |_, record| {
        run.record(&record);
        for event in &record.events {
            match event {
                Event::Begun { id, .. } if run.prepared(id).is_some_and(PreparedCall::may_touch_any_file) => {
                    silent.insert(id.clone());
                }
                Event::Replied { id, reply: Reply::Output(output), .. } => {
                    let is_whole = output.unlisted.is_none() && output.more.is_none();
                    names_all &= is_whole;
                    if is_whole && run.prepared(id).is_some_and(|call| call.lists_changes) {
                        silent.remove(id);
                    }
                }
                _ => {}
            }
        }
        ControlFlow::Continue(())
    })?;
    Ok((run, names_all && silent.is_empty()))
}

/// Marks files whose content from outside is about to come back: content that the run wrote, if an undo is undone, or
/// content that others wrote before the run. Returns the files that had no mark any more.
fn mark_again(
    book: &WorkspaceMarks,
    run: &Run,
    id: &RunId,
    plan: &UndoPlan,
    direction: UndoDirection,
) -> Result<BTreeSet<String>, Fault> {
    let mut files = BTreeMap::new();
    for one in &plan.moves {
        let is_file = one.to.is_some_and(|side| side.form.kind != FileKind::Folder);
        let mut origins = Origins::default();
        if direction == UndoDirection::Redo {
            let tainted = run.tainted();
            tainted.get(&one.path).or_else(|| tainted.get(".")).into_iter().for_each(|known| origins.merge(known));
        } else if is_file && !book.is_marked_by_others(id, &one.path)? {
            let means = |marked: &str| marked == "." || Path::new(&one.path).starts_with(marked);
            let marked = run.marked().iter().filter(|(marked, _)| means(marked));
            marked.for_each(|(_, known)| origins.merge(known));
        }
        if !origins.is_empty() {
            files.insert(one.path.clone(), origins);
        }
    }
    book.add(id, &files, time_format::now())?;
    Ok(files.into_keys().collect())
}
