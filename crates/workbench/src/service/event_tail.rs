//! Follows the events of a run for a program: every event once, in order, from any place on.

use updraft_journal::{Journal, Tail};
use updraft_run::RunId;

use super::inspection::NumberedEvent;
use super::runs::LiveRuns;
use crate::fault::Fault;

/// What comes next in a run that is followed.
#[derive(Clone, Debug)]
pub enum TailItem {
    /// Events, oldest first.
    Events(Vec<NumberedEvent>),
    /// The run is over, and all its events were told.
    Over,
    /// The run was removed, or the journal was closed.
    Gone,
}

/// A run that is followed.
pub struct EventTail {
    journal: Journal,
    tail: Tail,
    run: RunId,
    /// The last event that was told.
    after: u64,
    /// How many events the run had when that was last looked up.
    known: u64,
}

impl LiveRuns {
    /// Follows the events of a run after a number. It reads the journal, so a slow reader slows nobody and misses nothing.
    pub fn tail(&self, run: &RunId, after: u64) -> EventTail {
        let journal = self.journal().clone();
        let tail = journal.tail(run, after.saturating_add(1));
        EventTail { journal, tail, run: run.clone(), after, known: 0 }
    }
}

impl EventTail {
    /// What comes next. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<TailItem, Fault> {
        loop {
            if self.is_over()? {
                return Ok(TailItem::Over);
            }
            let Some((first, record)) = self.tail.next().await? else { return Ok(TailItem::Gone) };
            let numbered = (first..).zip(record.events).filter(|(number, _)| *number > self.after);
            let new: Vec<NumberedEvent> =
                numbered.map(|(number, event)| NumberedEvent { number, at: record.at, event }).collect();
            if let Some(last) = new.last() {
                self.after = last.number;
                return Ok(TailItem::Events(new));
            }
        }
    }

    /// Whether nothing more will come.
    pub fn is_over(&mut self) -> Result<bool, Fault> {
        if self.after < self.known {
            return Ok(false);
        }
        let head = self.journal.head(&self.run)?;
        self.known = head.events;
        Ok(head.status.is_final() && self.after >= head.events)
    }
}
