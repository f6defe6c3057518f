//! The status of a run in one word: for people, for the journal's list of runs, and for other programs.

use std::fmt;

use crate::reply::FailureKind;
use crate::state::{Run, RunPhase};

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
    /// It ended well, but nothing shows that all its requirements are met.
    Unproved,
    /// It ended, and a requirement is not met.
    NotDone,
    /// What the journal holds of the run is damaged or missing.
    Damaged,
    /// A newer version wrote a status that this version does not know.
    Unknown,
}

impl Status {
    /// The statuses that the journal's list of runs has.
    pub const RECORDED: [Status; 9] = [
        Status::Running,
        Status::Waiting,
        Status::Paused,
        Status::Exhausted,
        Status::Cancelled,
        Status::Failed,
        Status::Done,
        Status::Unproved,
        Status::NotDone,
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
            Status::Unproved => "unproved",
            Status::NotDone => "not_done",
            Status::Damaged => "damaged",
            Status::Unknown => "unknown",
        }
    }

    /// In words for people.
    pub fn in_words(self) -> &'static str {
        match self {
            Status::Unproved => "done, unproved",
            Status::NotDone => "not done",
            Status::Exhausted => "limit reached",
            Status::New
            | Status::Running
            | Status::Waiting
            | Status::Paused
            | Status::Cancelling
            | Status::Cancelled
            | Status::Failed
            | Status::Done
            | Status::Damaged
            | Status::Unknown => self.as_str(),
        }
    }

    /// Parses the word from the journal; any other is `Unknown`.
    pub fn from_word(word: &str) -> Self {
        Self::RECORDED.into_iter().find(|status| status.as_str() == word).unwrap_or(Status::Unknown)
    }

    /// Whether nothing more will happen in the run.
    pub fn is_final(self) -> bool {
        matches!(self, Status::Cancelled | Status::Failed | Status::Done | Status::Unproved | Status::NotDone)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Run {
    /// Its status.
    pub fn status(&self) -> Status {
        match &self.phase {
            RunPhase::New => Status::New,
            RunPhase::Running if self.busy == 0 && !self.open.is_empty() => Status::Waiting,
            RunPhase::Running => Status::Running,
            RunPhase::Paused => Status::Paused,
            RunPhase::Exhausted(_) => Status::Exhausted,
            RunPhase::Cancelling { .. } => Status::Cancelling,
            RunPhase::Over { failed: Some(why), .. } if why.kind == FailureKind::Cancelled => Status::Cancelled,
            RunPhase::Over { failed: Some(why), .. } if why.kind == FailureKind::NotDone => Status::NotDone,
            RunPhase::Over { failed: Some(_), .. } => Status::Failed,
            RunPhase::Over { failed: None, .. } if !self.proof.is_complete() => Status::Unproved,
            RunPhase::Over { failed: None, .. } => Status::Done,
        }
    }

    /// Its status for the journal's list of runs: one that has not begun yet, or is being cancelled, counts as running.
    pub fn recorded_status(&self) -> Status {
        match self.status() {
            Status::New | Status::Running | Status::Cancelling => Status::Running,
            status @ (Status::Waiting
            | Status::Paused
            | Status::Exhausted
            | Status::Cancelled
            | Status::Failed
            | Status::Done
            | Status::Unproved
            | Status::NotDone
            | Status::Damaged
            | Status::Unknown) => status,
        }
    }

    /// Its status as one word.
    pub fn status_word(&self) -> &'static str {
        self.status().as_str()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_journal_lists_only_statuses_that_it_can_read_again() {
        assert_eq!((Run::default().status(), Run::default().recorded_status()), (Status::New, Status::Running));
        let phase = RunPhase::Cancelling { by: "somebody".into() };
        let run = Run { phase, ..Run::default() };
        assert_eq!((run.status(), run.recorded_status()), (Status::Cancelling, Status::Running));
        for status in Status::RECORDED {
            assert_eq!(Status::from_word(status.as_str()), status);
        }
    }
}
