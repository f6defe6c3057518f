//! What is known about a run without reading its records.

pub use updraft_run::Status;
use updraft_run::{Input, RunId, Timestamp};

use crate::heads::RunEnd;

/// How many characters of a goal are kept beside the run for lists; the whole goal is in its first record.
pub(crate) const GOAL: usize = 300;

/// What a run is called and belongs to, given once when it is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunHeader {
    /// Its name. Must be new in this journal.
    pub id: RunId,
    /// What it is for. Lists show the first 300 characters.
    pub goal: String,
    /// The folder it works in.
    pub workspace: String,
    /// The model it began with.
    pub model: String,
    /// When it was made.
    pub created: Timestamp,
    /// The run it is a copy or a part of.
    pub parent: Option<RunId>,
    /// How it stands.
    pub status: Status,
}

impl RunHeader {
    /// A running run with neither workspace, model nor parent.
    pub fn new(id: RunId, goal: impl Into<String>, created: Timestamp) -> Self {
        Self {
            id,
            goal: goal.into(),
            workspace: String::new(),
            model: String::new(),
            created,
            parent: None,
            status: Status::Running,
        }
    }
}

/// The process that holds a run's lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseOwner {
    /// Its process id, in its own namespace.
    pub pid: u32,
    /// Whether it is still there.
    pub alive: bool,
    /// Since when it has been writing to this journal.
    pub since: Timestamp,
    /// Its epoch: see [`Journal::epoch`](crate::Journal::epoch).
    pub epoch: u64,
}

/// A run in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSummary {
    /// Its name.
    pub id: RunId,
    /// The first 300 characters of its goal.
    pub goal: String,
    /// The folder it works in.
    pub workspace: String,
    /// The model it began with.
    pub model: String,
    /// How it stands, as its owner last said.
    pub status: Status,
    /// When it was made.
    pub created: Timestamp,
    /// When its last record was made.
    pub updated: Timestamp,
    /// How many events it has: the number of its last one.
    pub events: u64,
    /// The run it is a copy or a part of.
    pub parent: Option<RunId>,
    /// When it wants to be woken.
    pub due: Option<Timestamp>,
    /// The version of Updraft that made it.
    pub version: String,
    /// Who holds its lease, alive or not.
    pub owner: Option<LeaseOwner>,
}

impl RunSummary {
    /// Whether a process is at work on it now.
    pub fn is_owned(&self) -> bool {
        self.owner.is_some_and(|owner| owner.alive)
    }

    /// Whether it should be running and nobody runs it: its process ended before it did.
    pub fn was_cut_off(&self) -> bool {
        self.status == Status::Running && !self.is_owned()
    }
}

impl RunSummary {
    /// A run of which only its name and its length are known any more.
    pub(crate) fn missing(run: &RunEnd) -> Option<Self> {
        let RunHeader { id, goal, workspace, model, created, parent, .. } =
            RunHeader::new(RunId::parse(&run.name).ok()?, "", Timestamp(0));
        let events = run.end.place.events();
        let version = String::new();
        let status = Status::Damaged;
        let updated = created;
        Some(Self {
            id,
            goal,
            workspace,
            model,
            status,
            created,
            updated,
            events,
            parent,
            due: None,
            version,
            owner: None,
        })
    }
}

/// Which runs to list. Everything by default, newest first.
#[derive(Clone, Debug, Default)]
pub struct RunFilter {
    /// Made at this moment or later.
    pub since: Option<Timestamp>,
    /// Made before this moment.
    pub until: Option<Timestamp>,
    /// Standing like this.
    pub status: Option<Status>,
    /// Wanting to be woken at this moment or before.
    pub due: Option<Timestamp>,
    /// In this workspace.
    pub workspace: Option<String>,
    /// At most so many.
    pub limit: Option<usize>,
}

impl RunFilter {
    /// Whether a run passes of which nothing but its name is known.
    pub(crate) fn passes_unknown(&self) -> bool {
        self.status.is_none_or(|status| status == Status::Damaged) && self.due.is_none() && self.workspace.is_none()
    }
}

/// What became of an input left for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendOutcome {
    /// It is on disk and waits for the run's owner.
    Queued {
        /// Who that is; without a live one it waits until someone takes the lease.
        owner: Option<LeaseOwner>,
    },
    /// An input with this key waits already.
    Repeated,
}

/// An input that waits for a run's owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingInput {
    /// Its number, for [`Batch::handled`](crate::Batch::handled).
    pub id: i64,
    /// The run it is for.
    pub run: RunId,
    /// When it was sent.
    pub at: Timestamp,
    /// What was sent.
    pub input: Input,
}
