//! Looking at runs closely: their histories, raw events, prompts, diffs, and how two of them differ.

use std::ops::ControlFlow;
use std::sync::Arc;

use updraft_engine::{RunDiff, SentPrompt, diff, prompt_at};
use updraft_run::{EffectAddress, Event, RunId, Timestamp};

use super::feeds::RunFeed;
use super::runs::LiveRuns;
use crate::fault::Fault;
use crate::history::{CallEntry, diff_in};

/// One event of a run's journal.
#[derive(Clone, Debug)]
pub struct NumberedEvent {
    /// Its number, from 1.
    pub number: u64,
    /// When it happened.
    pub at: Timestamp,
    /// The event.
    pub event: Event,
}

impl LiveRuns {
    /// A run of this workspace, to be read.
    pub fn feed(&self, run: &str) -> Result<Arc<RunFeed>, Fault> {
        let id = self.find(run)?;
        Ok(self.feeds().of(self.journal(), &id))
    }

    /// A run to be watched: its feed follows it as long as the receiver exists.
    pub fn watched_feed(&self, run: &str) -> Result<(Arc<RunFeed>, tokio::sync::watch::Receiver<u64>), Fault> {
        let feed = self.feed(run)?;
        let positions = feed.positions();
        self.in_background(Arc::clone(&feed).follow(self.clone()));
        Ok((feed, positions))
    }

    /// Events of a run from a number on, at most this many. Blocks on the disk.
    pub fn events(&self, run: &RunId, from: u64, most: usize) -> Result<Vec<NumberedEvent>, Fault> {
        let mut found = Vec::new();
        self.journal().read(run, from, &mut |first, record| {
            let numbered = (first..).zip(record.events).filter(|(number, _)| *number >= from);
            found.extend(numbered.map(|(number, event)| NumberedEvent { number, at: record.at, event }));
            if found.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        found.truncate(most);
        Ok(found)
    }

    /// The prompt that a question to a model was sent with. Blocks on the disk.
    pub fn prompt(&self, run: &RunId, address: &EffectAddress) -> Result<Option<SentPrompt>, Fault> {
        Ok(prompt_at(self.journal(), run, address)?)
    }

    /// What a call changed in text files, as a unified diff.
    pub fn diff_of(&self, call: &CallEntry) -> Option<String> {
        diff_in(self.journal(), call)
    }

    /// How two runs differ. Blocks on the disk.
    pub fn compare(&self, left: &str, right: &str) -> Result<RunDiff, Fault> {
        Ok(diff(self.journal(), &self.find(left)?, &self.find(right)?)?)
    }
}
