//! The list of runs for people: those that need a person first, filtered and in pages, with what each has cost.

use updraft_journal::{RunFilter, RunSummary};
use updraft_run::{RunId, Status, Timestamp};

use super::figures::RunFigures;
use super::runs::LiveRuns;
use crate::fault::Fault;

/// Which runs are listed.
#[derive(Clone, Debug, Default)]
pub struct RunListQuery {
    /// Words that the goal or the id must contain.
    pub words: String,
    /// Only runs of this kind.
    pub group: Option<RunGroup>,
    /// How many are skipped.
    pub skip: usize,
    /// At most this many.
    pub most: usize,
}

/// The kinds of runs that people look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunGroup {
    /// They wait for a person, or cannot continue without one.
    NeedsYou,
    /// They are at work.
    Running,
    /// They have ended well.
    Done,
    /// They have ended otherwise.
    Failed,
}

impl RunGroup {
    /// All groups, with their names in addresses and for people.
    pub const ALL: [(RunGroup, &'static str, &'static str); 4] = [
        (RunGroup::NeedsYou, "needs-you", "Needs you"),
        (RunGroup::Running, "running", "Running"),
        (RunGroup::Done, "done", "Done"),
        (RunGroup::Failed, "failed", "Failed"),
    ];

    /// The group of a status.
    pub fn of(status: Status) -> Self {
        match status {
            Status::Waiting | Status::Paused | Status::Exhausted => RunGroup::NeedsYou,
            Status::New | Status::Running | Status::Cancelling => RunGroup::Running,
            Status::Done | Status::Unproved => RunGroup::Done,
            _ => RunGroup::Failed,
        }
    }
}

/// One page of the list.
#[derive(Clone, Debug, Default)]
pub struct RunList {
    /// The runs.
    pub rows: Vec<RunRow>,
    /// How many runs the query finds.
    pub found: usize,
    /// How many of all runs wait for a person.
    pub waiting: usize,
    /// How many runs there are.
    pub all: usize,
}

/// A run in the list.
#[derive(Clone, Debug)]
pub struct RunRow {
    /// Its id.
    pub id: RunId,
    /// The beginning of its goal.
    pub goal: String,
    /// Its status; a run whose process is gone is paused.
    pub status: Status,
    /// The model it began with.
    pub model: String,
    /// When it began.
    pub created: Timestamp,
    /// When something last happened.
    pub updated: Timestamp,
    /// How many events it has.
    pub events: u64,
    /// What it did and cost. Those of a long run may be a little older; absent while it is added up for the first time.
    pub figures: Option<RunFigures>,
}

impl LiveRuns {
    /// Lists runs of this workspace: those that need a person first, then the newest. Blocks on the disk.
    pub fn run_list(&self, query: &RunListQuery) -> Result<RunList, Fault> {
        let workspace = Some(self.workspace().to_owned());
        let mut runs = self.journal().list(&RunFilter { workspace, ..RunFilter::default() })?;
        for run in &mut runs {
            run.status = seen(run);
        }
        let (all, waiting) = (runs.len(), runs.iter().filter(|run| run.status == Status::Waiting).count());
        let words: Vec<String> = query.words.split_whitespace().map(str::to_lowercase).collect();
        runs.retain(|run| {
            let text = format!("{} {}", run.id, run.goal.to_lowercase());
            let is_in_group = query.group.is_none_or(|group| RunGroup::of(run.status) == group);
            is_in_group && words.iter().all(|word| text.contains(word.as_str()))
        });
        // Stable, so the newest stay first within each part.
        runs.sort_by_key(|run| run.status != Status::Waiting);
        let found = runs.len();
        let rows = runs.into_iter().skip(query.skip).take(query.most).map(|run| self.row(run)).collect();
        Ok(RunList { rows, found, waiting, all })
    }

    /// How many runs of this workspace wait for a person; 0 if the journal cannot be read now.
    pub fn waiting(&self) -> usize {
        let workspace = Some(self.workspace().to_owned());
        let filter = RunFilter { workspace, status: Some(Status::Waiting), ..RunFilter::default() };
        self.journal().list(&filter).map(|runs| runs.len()).unwrap_or_default()
    }

    fn row(&self, run: RunSummary) -> RunRow {
        let figures = self.figures_of(&run);
        let RunSummary { id, goal, status, model, created, updated, events, .. } = run;
        RunRow { id, goal, status, model, created, updated, events, figures }
    }
}

/// The status of a run for people: one that should be running and has no process is paused.
pub(super) fn seen(run: &RunSummary) -> Status {
    if run.was_cut_off() { Status::Paused } else { run.status }
}
