//! The clock of a run: the wall clock when the run was opened, plus the time that passed since by a steady clock.
//!
//! So a jump of the wall clock neither uses up a run's time nor adds to it.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use updraft_run::Timestamp;

/// The clock of one run that is being driven.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunClock {
    wall: fn() -> Timestamp,
    /// The wall clock and the steady one when the run was opened.
    opened: Option<(Timestamp, Duration)>,
    steady: Option<fn() -> Duration>,
}

impl RunClock {
    /// Starts the clock of a run that is opened now. Without a steady clock, the wall clock is used.
    pub(crate) fn new(wall: fn() -> Timestamp, steady: Option<fn() -> Duration>) -> Self {
        Self { wall, opened: steady.map(|steady| (wall(), steady())), steady }
    }

    pub(crate) fn now(&self) -> Timestamp {
        match (self.opened, self.steady) {
            (Some((wall, then)), Some(steady)) => {
                let passed = steady().saturating_sub(then).as_millis();
                Timestamp(wall.0.saturating_add(i64::try_from(passed).unwrap_or(i64::MAX)))
            }
            (None, _) | (_, None) => (self.wall)(),
        }
    }
}

/// The time since this was first called in the process.
pub(crate) fn steady() -> Duration {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    FIRST.get_or_init(Instant::now).elapsed()
}
