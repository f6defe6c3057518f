//! Whoever looks on: told of every record once it is on disk, and of what passes by.

use updraft_models::Delta;
use updraft_run::{Address, Record, Run, RunId};

/// Looks on. Called from the loop that drives the run, so it must not block.
pub trait Watch: Send + Sync {
    /// Whether anyone does: if not, nothing is copied for them.
    fn is_watching(&self) -> bool {
        true
    }

    /// A record is on disk; `first` is the number of its first event, `run` the run after it.
    fn record(&self, id: &RunId, first: u64, record: &Record, run: &Run);

    /// A part of a model's answer passes by. It may be lost, and is not journalled.
    fn delta(&self, id: &RunId, at: &Address, delta: Delta<'_>);
}

/// Nobody looks on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Watch for Nobody {
    fn is_watching(&self) -> bool {
        false
    }
    fn record(&self, _: &RunId, _: u64, _: &Record, _: &Run) {}
    fn delta(&self, _: &RunId, _: &Address, _: Delta<'_>) {}
}
