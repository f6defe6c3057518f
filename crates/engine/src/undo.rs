//! Undoing what a run changed in its workspace, from what its journal kept; and undoing that again.
//!
//! A change is taken back only where the file still is what the run left: everything else belongs to somebody else by
//! now, and is named instead. What is about to be done is written down with what it replaces before anything is touched,
//! so that a second call finishes what a first one began, and an undo can be undone.

mod carry;
mod made;
mod plan;
mod record;
mod side;

use std::path::Path;

use updraft_journal::Journal;
use updraft_run::{Address, More, RunId, Timestamp};
use updraft_tools::Workspace;

pub use made::{Made, Which};
pub(crate) use made::{Told, changes as changes_of, made as made_by};
pub use plan::{Left, Move, Plan, Why};
pub use side::Side;

use crate::Error;
use crate::touched::touched;
use record::{Record, Records};
pub(crate) use record::{private, write_whole};

/// The largest content that is held in memory to be put back.
pub(crate) const LARGEST: usize = 256 << 20;

/// The undoing of one run's changes.
pub struct Undo {
    journal: Journal,
    run: RunId,
    workspace: Workspace,
    records: Records,
}

/// What an undo came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Undone {
    /// Paths that are as they were again.
    pub restored: Vec<String>,
    /// Paths that could not be.
    pub left: Vec<Left>,
}

/// A call that changed more than is listed, or may have.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Unlisted {
    /// The call.
    pub call: Address,
    /// Why.
    pub why: String,
    /// How much, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more: Option<More>,
}

impl Undo {
    /// Opens the workspace that a run worked in, and the folder where undos are written down.
    pub fn open(journal: &Journal, run: &RunId, workspace: &Path, records: &Path) -> Result<Self, Error> {
        let workspace = Workspace::open(workspace)?;
        let records = Records::at(records, run);
        Ok(Self { journal: journal.clone(), run: run.clone(), workspace, records })
    }

    /// What the run changed, in the order its journal tells.
    pub fn made(&self, which: &Which) -> Result<Vec<Made>, Error> {
        Ok(self.changes(which)?.made)
    }

    fn changes(&self, which: &Which) -> Result<made::Changes, Error> {
        made::made(&self.journal, &self.run, which)
    }

    /// Calls that changed more than is listed, or may have.
    pub fn unlisted(&self, which: &Which) -> Result<Vec<Unlisted>, Error> {
        let begun = self.changes(which)?.begun;
        let own = touched(&self.journal, &self.run)?.into_iter().filter(|one| begun.contains(&one.call));
        Ok(own.filter_map(|one| Some(Unlisted { call: one.call, why: one.unlisted?, more: one.more })).collect())
    }

    /// What would be done to take back what the run changed. Reads, changes nothing. `force` also takes back what is no
    /// longer what the run left.
    pub fn plan(&self, which: &Which, force: bool) -> Result<Plan, Error> {
        let changes = self.changes(which)?;
        Ok(plan::Planning { workspace: &self.workspace, source: &self.source(), force }.of(&changes))
    }

    /// What would be done to take the last undo back that has not been taken back. `None` if there is none.
    pub fn plan_redo(&self) -> Result<Option<Plan>, Error> {
        let Some(last) = self.records.last_undo()? else { return Ok(None) };
        let source = self.source();
        let planning = plan::Planning { workspace: &self.workspace, source: &source, force: false };
        Ok(Some(planning.back(&last)))
    }

    /// Finishes an undo that was cut off, if there is one.
    pub fn finish(&self) -> Result<Option<Undone>, Error> {
        let Some(record) = self.records.unfinished()? else { return Ok(None) };
        let undone = self.do_it(&record);
        self.records.close(record)?;
        Ok(Some(undone))
    }

    /// Writes the plan down and carries it out.
    pub fn carry_out(&self, plan: Plan, at: Timestamp) -> Result<Undone, Error> {
        if plan.moves.is_empty() {
            return Ok(Undone { restored: Vec::new(), left: plan.left });
        }
        let (record, since) = self.records.begin(&self.workspace, &plan, at)?;
        let mut undone = self.do_it(&record);
        self.records.close(record)?;
        undone.left.extend(since);
        undone.left.extend(plan.left);
        Ok(undone)
    }

    fn do_it(&self, record: &Record) -> Undone {
        carry::carry_out(&self.workspace, &self.source(), record)
    }

    fn source(&self) -> Source<'_> {
        Source { journal: &self.journal, records: &self.records }
    }
}

/// Where contents come from: the journal, or what earlier undos replaced.
pub(crate) struct Source<'a> {
    journal: &'a Journal,
    records: &'a Records,
}

impl Source<'_> {
    /// The content of a side. Of a file that lines were added to, the content before is the beginning of the one after:
    /// `later` are contents that it may be the beginning of.
    pub(crate) fn content(&self, side: &Side, later: &[updraft_run::Hash], now: Option<&[u8]>) -> Option<Vec<u8>> {
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

    fn stored(&self, hash: &updraft_run::Hash) -> Option<Vec<u8>> {
        self.records.content(hash).or_else(|| self.journal.blob(hash).ok().flatten())
    }
}
