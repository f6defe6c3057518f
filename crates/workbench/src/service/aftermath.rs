//! What is done with runs afterwards: exported, their changes reviewed and undone, removed.

use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};
use updraft_engine::{ChangeFilter, FileReview, Undo, UndoResult};
use updraft_journal::Journal;
use updraft_run::{EffectAddress, RunId, StepId};

use super::runs::LiveRuns;
use crate::fault::{Fault, blocking};
use crate::folders::AppFolders;
use crate::history::RunArchive;
use crate::journal;
use crate::removal::remove_run;
use crate::resume::folder_of;
use crate::tools;
use crate::undo::{self, UndoDirection, UndoneRun};

/// Which changes of a run are undone, and how.
#[derive(Clone, Debug, Default)]
pub struct UndoOrder {
    /// Only those of this step.
    pub step: Option<StepId>,
    /// Only those of this call.
    pub call: Option<EffectAddress>,
    /// Only those of this path, and of what is in it.
    pub path: Option<String>,
    /// The last undo is undone instead.
    pub redo: bool,
    /// Files that were changed since are restored too; a copy of them is kept.
    pub force: bool,
    /// Nothing is done: what would be is told.
    pub dry_run: bool,
}

impl LiveRuns {
    /// Writes a run as lines that can be imported. Blocks on the disk and on the writer.
    pub fn export(&self, run: &RunId, out: &mut dyn Write) -> Result<(), Fault> {
        Ok(self.journal().export_jsonl(run, out)?)
    }

    /// A whole run, to be read. Blocks on the disk.
    pub fn archive(&self, run: &RunId) -> Result<RunArchive, Fault> {
        RunArchive::read(self.journal(), run)
    }

    /// Undoes what a run that nobody works on has changed in its workspace. Gives what `updraft undo --json` prints.
    pub async fn undo(&self, run: &RunId, order: UndoOrder) -> Result<Value, Fault> {
        let loaded = self.load(run).await?;
        if loaded.is_imported() {
            return Err(Fault::usage(format!("run {run} was imported: its changes were made elsewhere")));
        }
        let (journal, workspace) = (self.journal().clone(), folder_of(&loaded)?);
        let lease =
            if order.dry_run { None } else { Some(journal.acquire(run).await.map_err(|error| busy(run, error))?) };
        let (folders, id) = (self.bench().folders.clone(), run.clone());
        let outcome = blocking(move || take_back(&folders, &journal, &id, &workspace, &order)).await;
        if let Some(lease) = lease {
            self.journal().release(lease).await?;
        }
        outcome
    }

    /// The files that a run has changed in its workspace, with what they were before. Blocks on the disk.
    pub fn review(&self, run: &RunId) -> Result<Vec<FileReview>, Fault> {
        let loaded = journal::load(self.journal(), run)?;
        if loaded.is_imported() {
            return Ok(Vec::new());
        }
        let undo = Undo::open(self.journal(), run, &folder_of(&loaded)?, &undo::records(&self.bench().folders))?;
        Ok(undo.review()?)
    }

    /// Removes a run that nobody works on from the journal, with its logs and what was kept to undo its changes.
    pub async fn remove(&self, run: &RunId) -> Result<(), Fault> {
        let removed = remove_run(&self.bench().folders, self.journal(), run, false).await;
        removed.map_err(|error| busy(run, error))
    }
}

fn busy(run: &RunId, error: updraft_journal::Error) -> Fault {
    match error {
        updraft_journal::Error::Owned { .. } => {
            Fault::usage(format!("run {run} is at work")).hint("wait until it ends, or cancel it first")
        }
        other => other.into(),
    }
}

fn take_back(
    folders: &AppFolders,
    journal: &Journal,
    id: &RunId,
    workspace: &Path,
    order: &UndoOrder,
) -> Result<Value, Fault> {
    let undo = Undo::open(journal, id, workspace, &undo::records(folders))?;
    let which = ChangeFilter { step: order.step.clone(), call: order.call.clone(), path: order.path.clone() };
    let unlisted = if order.redo { Vec::new() } else { undo.unlisted(&which)? };
    let told =
        |done: &UndoResult| json!({ "run": id, "restored": done.restored, "left": done.left, "unlisted": unlisted });
    if !order.dry_run
        && let Some(finished) = undo.finish()?
    {
        return Ok(told(&finished));
    }
    let plan = if order.redo {
        undo.plan_redo()?.ok_or_else(|| Fault::usage(format!("there is no undo of run {id} to revert")))?
    } else {
        undo.plan(&which, order.force)?
    };
    if order.dry_run {
        return Ok(json!({ "run": id, "plan": plan, "unlisted": unlisted }));
    }
    if plan.moves.is_empty() {
        return Ok(told(&UndoResult { left: plan.left, ..UndoResult::default() }));
    }
    let book = tools::marks(folders).book(&workspace.display().to_string());
    let direction = if order.redo { UndoDirection::Redo } else { UndoDirection::Undo };
    let run = UndoneRun { journal, id, book: &book };
    Ok(told(&undo::carry_out(&undo, run, plan, &which, direction)?))
}
