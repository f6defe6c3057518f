//! Keeps the database of rate limits open in this process, and continues in memory if the file fails.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::clock;
use super::database::{LONGEST_PAUSE, LimiterDatabase};

/// How often accounts without a limit check whether another process was asked to pause.
const LOOK: Duration = Duration::from_secs(1);

/// The database, opened when first needed, and a copy of the pauses in memory.
pub(super) struct LimiterStore {
    path: Option<PathBuf>,
    window: Duration,
    state: Mutex<LimiterState>,
}

#[derive(Default)]
struct LimiterState {
    database: Option<LimiterDatabase>,
    /// Whether the file has failed: from then on the database is in memory.
    is_alone: bool,
    pauses: HashMap<String, Duration>,
    looked: Option<Duration>,
}

impl LimiterStore {
    pub(super) fn new(path: Option<PathBuf>, window: Duration) -> Self {
        Self { path, window, state: Mutex::default() }
    }

    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Performs an operation on the database. If the file fails, the operation is repeated with a database in memory;
    /// `None` if even that fails.
    pub(super) fn write<T>(&self, act: impl Fn(&mut LimiterDatabase) -> rusqlite::Result<T>) -> Option<T> {
        self.with(&mut self.state(), act)
    }

    /// Records a pause, also for the other processes.
    pub(super) fn pause(&self, account: &str, wait: Duration, now: Duration) {
        let until = now + wait.min(LONGEST_PAUSE);
        let state = &mut *self.state();
        remember(&mut state.pauses, account.to_owned(), until);
        self.with(state, |database| database.pause(account, until));
    }

    /// How long an account without a limit still has to pause. Costs next to nothing, except once a second.
    pub(super) fn paused(&self, account: &str, now: Duration) -> Option<Duration> {
        let state = &mut *self.state();
        if state.looked.is_none_or(|looked| now.saturating_sub(looked) >= LOOK) {
            state.looked = Some(now);
            state.pauses.retain(|_, until| *until > now);
            // A file that does not exist yet contains no pause.
            let is_there = state.database.is_some() || self.path.as_ref().is_some_and(|path| path.exists());
            if is_there && let Some(pauses) = self.with(state, |database| database.pauses(now)) {
                for (account, until) in pauses {
                    remember(&mut state.pauses, account, until);
                }
            }
        }
        let left = state.pauses.get(account)?.saturating_sub(now);
        (!left.is_zero()).then_some(left)
    }

    fn with<T>(
        &self,
        state: &mut LimiterState,
        act: impl Fn(&mut LimiterDatabase) -> rusqlite::Result<T>,
    ) -> Option<T> {
        let error = match self.open(state).and_then(&act) {
            Ok(done) => return Some(done),
            Err(error) => error,
        };
        if !state.is_alone {
            let path = self.path.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
            tracing::warn!(path, %error, "rate limits are not shared with other processes");
        }
        state.is_alone = true;
        state.database = None;
        self.open(state).and_then(&act).ok()
    }

    fn open<'a>(&self, state: &'a mut LimiterState) -> rusqlite::Result<&'a mut LimiterDatabase> {
        let database = if let Some(database) = state.database.take() {
            database
        } else {
            let path = self.path.as_deref().filter(|_| !state.is_alone);
            LimiterDatabase::open(path, self.window, clock::now())?
        };
        Ok(state.database.insert(database))
    }

    fn state(&self) -> MutexGuard<'_, LimiterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn remember(pauses: &mut HashMap<String, Duration>, account: String, until: Duration) {
    let known = pauses.entry(account).or_default();
    *known = until.max(*known);
}

#[cfg(test)]
mod tests {
    use super::super::RateLimit;
    use super::super::database::{AdmissionRequest, AdmissionResult};
    use super::*;

    #[test]
    fn a_request_that_began_with_a_lost_book_does_not_end_one_of_the_next() {
        let store = LimiterStore::new(None, Duration::from_mins(1));
        let limit = RateLimit { concurrency: Some(1), ..RateLimit::default() };
        let ask = || {
            store.write(|database| {
                database.ask(AdmissionRequest { account: "a", limit: &limit, tokens: 0 }, None, clock::now())
            })
        };

        let Some(AdmissionResult::Go(first)) = ask() else { panic!("nobody is there") };
        store.state().database = None;
        assert!(matches!(ask(), Some(AdmissionResult::Go(_))), "the next database knows nobody");
        store.write(|database| database.end(first, clock::now()));

        assert!(matches!(ask(), Some(AdmissionResult::Wait { .. })), "the second is still under way");
    }
}
