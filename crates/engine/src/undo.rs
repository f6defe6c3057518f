//! Undoes what a run changed in its workspace, from what its journal kept; an undo can itself be undone.
//!
//! A change is undone only if the file still is as the run left it; any other file was changed by someone else and is
//! only reported. The plan and the contents it replaces are written to disk before anything is touched, so that a
//! second call finishes what a first one began, and an undo can be undone.

mod carry_out;
mod path_snapshot;
mod plan;
mod record;
mod recorded_changes;
mod review;

use std::path::Path;

use updraft_journal::Journal;
use updraft_run::{EffectAddress, RunId, Timestamp, UnlistedCount};
use updraft_tools::Workspace;

pub use path_snapshot::PathSnapshot;
pub use plan::{SkippedPath, UndoMove, UndoPlan, UndoSkipReason};
pub use recorded_changes::{ChangeFilter, RecordedChange};
pub(crate) use recorded_changes::{ReportedChanges, changes as changes_of, made as made_by};
pub use review::{FileReview, ReviewedChange, ReviewedState};

use crate::Error;
use crate::call_audit::touched;
pub(crate) use record::private;
use record::{UndoRecord, UndoRecords};

/// The largest content that is held in memory to be restored.
pub(crate) const LARGEST: usize = 256 << 20;

/// The undoing of one run's changes.
pub struct Undo {
    journal: Journal,
    run: RunId,
    workspace: Workspace,
    records: UndoRecords,
}

/// The result of an undo.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct UndoResult {
    /// Paths that were restored.
    pub restored: Vec<String>,
    /// Paths that were not restored.
    pub left: Vec<SkippedPath>,
}

/// A call that changed more than is listed, or may have.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct UnlistedCall {
    /// The call.
    pub call: EffectAddress,
    /// Why.
    pub why: String,
    /// How many more changes, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more: Option<UnlistedCount>,
}

impl Undo {
    /// Opens the workspace that a run worked in, and the folder where undos are recorded.
    pub fn open(journal: &Journal, run: &RunId, workspace: &Path, records: &Path) -> Result<Self, Error> {
        let workspace = Workspace::open(workspace)?;
        let records = UndoRecords::at(records, run);
        Ok(Self { journal: journal.clone(), run: run.clone(), workspace, records })
    }

    /// What the run changed, in the order of its journal.
    pub fn recorded_changes(&self, which: &ChangeFilter) -> Result<Vec<RecordedChange>, Error> {
        let made = self.changes(which)?.made.into_iter();
        Ok(made.filter(|one| which.has_path(&one.change.path)).collect())
    }

    fn changes(&self, which: &ChangeFilter) -> Result<recorded_changes::RunChanges, Error> {
        recorded_changes::made(&self.journal, &self.run, which)
    }

    /// Calls that changed more than is listed, or may have.
    pub fn unlisted(&self, which: &ChangeFilter) -> Result<Vec<UnlistedCall>, Error> {
        if which.path.is_some() {
            // What is known about this path is listed.
            return Ok(Vec::new());
        }
        let begun = self.changes(which)?.begun;
        let own = touched(&self.journal, &self.run)?.into_iter().filter(|one| begun.contains(&one.call));
        Ok(own.filter_map(|one| Some(UnlistedCall { call: one.call, why: one.unlisted?, more: one.more })).collect())
    }

    /// Plans how to undo what the run changed. Reads, but changes nothing. `force` also undoes changes to files that
    /// are no longer as the run left them.
    pub fn plan(&self, which: &ChangeFilter, force: bool) -> Result<UndoPlan, Error> {
        let changes = self.changes(which)?;
        let mut plan = plan::UndoPlanner { workspace: &self.workspace, source: &self.source(), force }.of(&changes);
        // Only now: what else the run changed decides whether a path may be restored.
        plan.moves.retain(|one| which.has_path(&one.path));
        plan.left.retain(|one| which.has_path(&one.path));
        Ok(plan)
    }

    /// Plans how to revert the last undo that has not been reverted. Returns `None` if there is none.
    pub fn plan_redo(&self) -> Result<Option<UndoPlan>, Error> {
        let Some(last) = self.records.last_undo()? else { return Ok(None) };
        let source = self.source();
        let planning = plan::UndoPlanner { workspace: &self.workspace, source: &source, force: false };
        Ok(Some(planning.back(&last)))
    }

    /// Finishes an undo that was cut off, if there is one.
    pub fn finish(&self) -> Result<Option<UndoResult>, Error> {
        let Some(record) = self.records.unfinished()? else { return Ok(None) };
        let undone = self.do_it(&record);
        self.records.close(record)?;
        Ok(Some(undone))
    }

    /// Records the plan and carries it out.
    pub fn carry_out(&self, plan: UndoPlan, at: Timestamp) -> Result<UndoResult, Error> {
        if plan.moves.is_empty() {
            return Ok(UndoResult { restored: Vec::new(), left: plan.left });
        }
        let (record, since) = self.records.begin(&self.workspace, &plan, at)?;
        let mut undone = self.do_it(&record);
        self.records.close(record)?;
        undone.left.extend(since);
        undone.left.extend(plan.left);
        Ok(undone)
    }

    fn do_it(&self, record: &UndoRecord) -> UndoResult {
        carry_out::carry_out(&self.workspace, &self.source(), record)
    }

    fn source(&self) -> ContentSource<'_> {
        ContentSource { journal: &self.journal, records: &self.records }
    }
}

/// Where contents come from: the journal, or what earlier undos replaced.
pub(crate) struct ContentSource<'a> {
    journal: &'a Journal,
    records: &'a UndoRecords,
}

impl ContentSource<'_> {
    /// The content of a snapshot. If lines were appended to a file, the old content is the beginning of the new one:
    /// `later` are contents that it may be the beginning of.
    pub(crate) fn content(
        &self,
        side: &PathSnapshot,
        later: &[updraft_run::ContentHash],
        now: Option<&[u8]>,
    ) -> Option<Vec<u8>> {
        let wanted = side.hash?;
        if side.form.len == 0 && wanted == updraft_journal::hash_of(b"") {
            return Some(Vec::new());
        }
        if let Some(bytes) = self.stored(&wanted) {
            return Some(bytes);
        }
        let beginning = |whole: &[u8]| {
            let start = whole.get(..usize::try_from(side.form.len).ok()?)?;
            (side.form.len > 0 && updraft_journal::hash_of(start) == wanted).then(|| start.to_vec())
        };
        now.and_then(beginning).or_else(|| later.iter().find_map(|hash| beginning(&self.stored(hash)?)))
    }

    fn stored(&self, hash: &updraft_run::ContentHash) -> Option<Vec<u8>> {
        self.records.content(hash).or_else(|| self.journal.blob(hash).ok().flatten())
    }
}
