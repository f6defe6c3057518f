//! What is known about a run without reading its records.

pub use updraft_run::Status;
use updraft_run::{Input, RunId, Timestamp};

use crate::run_ends::RunEnd;

/// How many characters of a goal are stored with the run for lists; the whole goal is in its first record.
pub(crate) const GOAL: usize = 300;

/// The header of a run, given once when it is created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunHeader {
    /// Its id. Must be new in this journal.
    pub id: RunId,
    /// Its goal. Lists show the first 300 characters.
    pub goal: String,
    /// The folder it works in.
    pub workspace: String,
    /// The model it began with.
    pub model: String,
    /// When it was created.
    pub created: Timestamp,
    /// The run it is a copy or a part of.
    pub parent: Option<RunId>,
    /// Its status.
    pub status: Status,
}

impl RunHeader {
    /// The header of a running run without workspace, model or parent.
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
    /// Whether it is still running.
    pub alive: bool,
    /// Since when it has been writing to this journal.
    pub since: Timestamp,
    /// Its epoch: see [`Journal::epoch`](crate::Journal::epoch).
    pub epoch: u64,
}

/// A run in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSummary {
    /// Its id.
    pub id: RunId,
    /// The first 300 characters of its goal.
    pub goal: String,
    /// The folder it works in.
    pub workspace: String,
    /// The model it began with.
    pub model: String,
    /// Its status, as its owner last wrote it.
    pub status: Status,
    /// When it was created.
    pub created: Timestamp,
    /// When its last record was made.
    pub updated: Timestamp,
    /// How many events it has; also the number of its last event.
    pub events: u64,
    /// The run it is a copy or a part of.
    pub parent: Option<RunId>,
    /// When it wants to be woken.
    pub due: Option<Timestamp>,
    /// The version of Updraft that created it.
    pub version: String,
    /// The process that holds its lease, alive or not.
    pub owner: Option<LeaseOwner>,
}

impl RunSummary {
    /// Whether a process is working on it now.
    pub fn is_owned(&self) -> bool {
        self.owner.is_some_and(|owner| owner.alive)
    }

    /// Whether it should be running but no process runs it: its process ended before the run did.
    pub fn was_cut_off(&self) -> bool {
        self.status == Status::Running && !self.is_owned()
    }
}

impl RunSummary {
    /// A run of which only the name and the length are still known.
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
    /// Created at this time or later.
    pub since: Option<Timestamp>,
    /// Created before this time.
    pub until: Option<Timestamp>,
    /// With this status.
    pub status: Option<Status>,
    /// Wanting to be woken at this time or earlier.
    pub due: Option<Timestamp>,
    /// In this workspace.
    pub workspace: Option<String>,
    /// At most this many.
    pub limit: Option<usize>,
}

impl RunFilter {
    /// Whether the filter accepts a run of which only the name is known.
    pub(crate) fn passes_unknown(&self) -> bool {
        self.status.is_none_or(|status| status == Status::Damaged) && self.due.is_none() && self.workspace.is_none()
    }
}

/// What happened to an input that was sent to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendOutcome {
    /// It is on disk and waits for the run's owner.
    Queued {
        /// The owner; without a live owner, the input waits until a process takes the lease.
        owner: Option<LeaseOwner>,
    },
    /// An input with this key is already waiting.
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
    /// The input.
    pub input: Input,
}
