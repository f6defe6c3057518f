//! The status of a run in one word: for people, for the journal's list of runs, and for other programs.

use std::fmt;

use crate::state::Run;

/// The status of a run. It is enough to decide whether to wait, to help or to resume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Status {
    /// Nothing has happened yet.
    New,
    /// A process works on it. A run with this status in the journal and no live owner was cut off.
    Running,
    /// It waits for a person or a clock.
    Waiting,
    /// A person paused it.
    Paused,
    /// A budget is used up; the run continues with a larger one.
    Exhausted,
    /// A person cancelled it, and effects that have begun are being stopped.
    Cancelling,
    /// A person cancelled it.
    Cancelled,
    /// It ended without the result that was asked for.
    Failed,
    /// It succeeded.
    Done,
    /// What the journal holds of the run is damaged or missing.
    Damaged,
    /// A newer version wrote a status that this version does not know.
    Unknown,
}

impl Status {
    /// The statuses that are written to the journal.
    const WRITTEN: [Status; 7] = [
        Status::Running,
        Status::Waiting,
        Status::Paused,
        Status::Exhausted,
        Status::Cancelled,
        Status::Failed,
        Status::Done,
    ];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::New => "new",
            Status::Running => "running",
            Status::Waiting => "waiting",
            Status::Paused => "paused",
            Status::Exhausted => "exhausted",
            Status::Cancelling => "cancelling",
            Status::Cancelled => "cancelled",
            Status::Failed => "failed",
            Status::Done => "done",
            Status::Damaged => "damaged",
            Status::Unknown => "unknown",
        }
    }

    /// Parses the word from the journal; any other is `Unknown`.
    pub fn from_word(word: &str) -> Self {
        Self::WRITTEN.into_iter().find(|status| status.as_str() == word).unwrap_or(Status::Unknown)
    }

    /// Whether nothing more will happen in the run.
    pub fn is_final(self) -> bool {
        matches!(self, Status::Cancelled | Status::Failed | Status::Done)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Run {
    /// Its status as one word.
    pub fn status_word(&self) -> &'static str {
        self.status().as_str()
    }
}
