//! The time limits of a call: one for silence, which progress restarts, and one for the whole call. While a person is
//! being asked, the clock is stopped.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::config::ServerTimeouts;

/// Measures the time of one call.
pub(super) struct CallClock {
    state: Mutex<ClockState>,
    changed: Notify,
}

struct ClockState {
    began: Instant,
    /// The last sign of life from the server.
    heard: Instant,
    /// The number of open questions to a person, and since when there is at least one.
    questions: u32,
    stopped: Option<Instant>,
    /// The total time for which the clock was stopped.
    aside: Duration,
}

impl CallClock {
    pub(super) fn start() -> Self {
        Self::start_at(Instant::now())
    }

    fn start_at(now: Instant) -> Self {
        let state = ClockState { began: now, heard: now, questions: 0, stopped: None, aside: Duration::ZERO };
        Self { state: Mutex::new(state), changed: Notify::new() }
    }

    /// Notes a sign of life.
    pub(super) fn heard(&self) {
        self.heard_at(Instant::now());
    }

    fn heard_at(&self, now: Instant) {
        self.state().heard = now;
    }

    /// Stops the clock, because a person is being asked.
    pub(super) fn stop(&self) {
        self.stop_at(Instant::now());
    }

    fn stop_at(&self, now: Instant) {
        let mut state = self.state();
        state.questions += 1;
        state.stopped.get_or_insert(now);
        drop(state);
        self.changed.notify_waiters();
    }

    /// Notes that a person has answered.
    pub(super) fn go_on(&self) {
        self.go_on_at(Instant::now());
    }

    fn go_on_at(&self, now: Instant) {
        let mut state = self.state();
        state.questions = state.questions.saturating_sub(1);
        if state.questions == 0
            && let Some(since) = state.stopped.take()
        {
            state.aside += now.saturating_duration_since(since);
            state.heard = now;
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// Waits until a limit is reached, and returns that limit.
    pub(super) async fn run_out(&self, patience: &ServerTimeouts) -> Duration {
        loop {
            let changed = self.changed.notified();
            match self.left_at(Instant::now(), patience) {
                Some((left, limit)) if left.is_zero() => return limit,
                Some((left, _)) => {
                    // Progress can only extend the time, so checking again after this wait is enough.
                    tokio::select! {
                        () = tokio::time::sleep(left) => {}
                        () = changed => {}
                    }
                }
                None => changed.await,
            }
        }
    }

    /// The remaining time, and the limit it belongs to; `None` while the clock is stopped.
    fn left_at(&self, now: Instant, patience: &ServerTimeouts) -> Option<(Duration, Duration)> {
        let state = self.state();
        if state.stopped.is_some() {
            return None;
        }
        let silent = patience.call.saturating_sub(now.saturating_duration_since(state.heard));
        let worked = now.saturating_duration_since(state.began).saturating_sub(state.aside);
        let in_all = patience.longest.saturating_sub(worked);
        Some(if in_all < silent { (in_all, patience.longest) } else { (silent, patience.call) })
    }

    fn state(&self) -> MutexGuard<'_, ClockState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: ServerTimeouts = ServerTimeouts {
        start: Duration::from_secs(1),
        call: Duration::from_secs(10),
        longest: Duration::from_secs(25),
    };

    fn secs(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn silence_ends_a_call_progress_puts_it_off_and_the_longest_time_holds() {
        let now = Instant::now();
        let clock = CallClock::start_at(now);
        assert_eq!(clock.left_at(now + secs(9), &PATIENCE), Some((secs(1), PATIENCE.call)));
        assert_eq!(clock.left_at(now + secs(10), &PATIENCE), Some((secs(0), PATIENCE.call)));
        clock.heard_at(now + secs(9));
        assert_eq!(clock.left_at(now + secs(10), &PATIENCE), Some((secs(9), PATIENCE.call)));
        clock.heard_at(now + secs(18));
        assert_eq!(clock.left_at(now + secs(18), &PATIENCE), Some((secs(7), PATIENCE.longest)));
        assert_eq!(clock.left_at(now + secs(25), &PATIENCE), Some((secs(0), PATIENCE.longest)));
    }

    #[test]
    fn the_time_a_person_thinks_does_not_count() {
        let now = Instant::now();
        let clock = CallClock::start_at(now);
        clock.stop_at(now + secs(9));
        clock.stop_at(now + secs(20));
        clock.go_on_at(now + secs(30));
        assert_eq!(clock.left_at(now + secs(3_000), &PATIENCE), None, "another question is open");
        clock.go_on_at(now + secs(3_609));
        assert_eq!(clock.left_at(now + secs(3_609), &PATIENCE), Some((secs(10), PATIENCE.call)));
        clock.heard_at(now + secs(3_618));
        assert_eq!(clock.left_at(now + secs(3_618), &PATIENCE), Some((secs(7), PATIENCE.longest)));
    }
}
