//! How a run stands, in one word: for people, for the journal's list, and for whoever is outside.

use std::fmt;

/// How a run stands. Nobody needs to know more to decide whether to wait, to help, or to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Status {
    /// Nothing has happened yet.
    New,
    /// Someone works on it. One in the journal that says so and has no live owner was cut off.
    Running,
    /// It waits for a person or a clock.
    Waiting,
    /// A person paused it.
    Paused,
    /// A budget is used up; it goes on with a larger one.
    Exhausted,
    /// A person cancelled it, and what had begun is being stopped.
    Cancelling,
    /// A person cancelled it.
    Cancelled,
    /// It ended without what was asked for.
    Failed,
    /// It ended well.
    Done,
    /// What the journal holds of it is damaged or missing.
    Damaged,
    /// A newer version wrote a word that this one does not know.
    Unknown,
}

impl Status {
    /// Those that a run can be in, and be written down in.
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

    /// Reads the word as the journal has it; any other is `Unknown`.
    pub fn from_word(word: &str) -> Self {
        Self::WRITTEN.into_iter().find(|status| status.as_str() == word).unwrap_or(Status::Unknown)
    }

    /// Whether nothing more is to be expected of the run.
    pub fn is_final(self) -> bool {
        matches!(self, Status::Cancelled | Status::Failed | Status::Done)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
