//! Notifies waiting tasks when something was written, by this process or another.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::watch;

use crate::journal::{JournalInner, JournalShared};
use crate::schema::JournalFile;

/// How often to check whether other processes have written: fast enough for a person, and each check takes
/// microseconds.
const POLL: Duration = Duration::from_millis(75);

/// Reports everything written after it was created: create it, read, then wait.
///
/// While a task waits, a thread of this process checks the file every 75 ms; otherwise this costs nothing.
#[derive(Debug)]
pub struct ChangeWatcher {
    journal: Arc<JournalInner>,
    written: watch::Receiver<u64>,
}

impl ChangeWatcher {
    pub(crate) fn of(journal: &Arc<JournalInner>) -> Self {
        let written = journal.shared.watch.subscribe(&journal.shared.store);
        Self { journal: Arc::clone(journal), written }
    }

    /// Returns when something was written since this last returned, or since it was created. It may also return without
    /// a change.
    ///
    /// Cancel-safe. Returns at once when the journal is closed.
    pub async fn next(&mut self) {
        if self.written.has_changed().unwrap_or(true) {
            self.written.mark_unchanged();
            return;
        }
        let _waiting = WaiterGuard::on(&self.journal.shared);
        let _ = self.written.changed().await;
    }
}

impl Drop for ChangeWatcher {
    fn drop(&mut self) {
        self.journal.shared.watch.leave();
    }
}

/// While this exists a task is waiting, so the thread checks the file.
struct WaiterGuard<'a>(&'a ChangeBroadcast);

impl<'a> WaiterGuard<'a> {
    fn on(shared: &'a Arc<JournalShared>) -> Self {
        shared.watch.wait(shared);
        Self(&shared.watch)
    }
}

impl Drop for WaiterGuard<'_> {
    fn drop(&mut self) {
        self.0.state().waiting -= 1;
    }
}

/// Shared by all `ChangeWatcher`s of a journal.
#[derive(Debug)]
pub(crate) struct ChangeBroadcast {
    written: watch::Sender<u64>,
    state: Mutex<BroadcastState>,
    woken: Condvar,
}

#[derive(Debug, Default)]
struct BroadcastState {
    /// How many `ChangeWatcher`s there are, and how many of them wait.
    subscribed: usize,
    waiting: usize,
    closed: bool,
    /// The connection that is used for checking, and the version it saw last. Open while there are subscribers.
    eye: Option<(Connection, i64)>,
    thread: Option<JoinHandle<()>>,
}

impl ChangeBroadcast {
    pub(crate) fn new() -> Self {
        Self { written: watch::Sender::new(0), state: Mutex::default(), woken: Condvar::new() }
    }

    /// Reports that something was written.
    pub(crate) fn tell(&self) {
        self.written.send_modify(|count| *count += 1);
    }

    /// Wakes all waiting tasks for the last time.
    pub(crate) fn close(&self) {
        let thread = {
            let mut state = self.state();
            state.closed = true;
            state.eye = None;
            state.thread.take()
        };
        self.woken.notify_all();
        self.tell();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }

    fn subscribe(&self, store: &JournalFile) -> watch::Receiver<u64> {
        let mut state = self.state();
        state.subscribed += 1;
        if state.eye.is_none() && !state.closed {
            // Opened here and not by the thread, so that nothing written from now on is missed. If it cannot be opened,
            // the caller's own reading will report why.
            state.eye = store.reader().ok().and_then(|connection| version(&connection).map(|seen| (connection, seen)));
        }
        self.written.subscribe()
    }

    fn leave(&self) {
        let mut state = self.state();
        state.subscribed -= 1;
        if state.subscribed == 0 {
            state.eye = None;
        }
    }

    fn wait(&self, shared: &Arc<JournalShared>) {
        let mut state = self.state();
        state.waiting += 1;
        if state.closed {
            self.tell();
        } else if state.thread.is_none() {
            let there = Arc::clone(shared);
            let spawned = std::thread::Builder::new().name("journal watch".into()).spawn(move || there.watch.look());
            state.thread = spawned.ok();
        }
        self.woken.notify_all();
    }

    /// The thread: sleeps while no task waits, and ends when the journal closes.
    fn look(&self) {
        let mut state = self.state();
        while !state.closed {
            if state.waiting == 0 {
                state = self.woken.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let changed = match &mut state.eye {
                Some((connection, seen)) => {
                    let now = version(connection);
                    let changed = now != Some(*seen);
                    *seen = now.unwrap_or(*seen);
                    changed
                }
                None => true,
            };
            if changed {
                self.tell();
            }
            state = self.woken.wait_timeout(state, POLL).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn state(&self) -> MutexGuard<'_, BroadcastState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A number that changes whenever another connection has written.
fn version(connection: &Connection) -> Option<i64> {
    connection.prepare_cached("PRAGMA data_version").ok()?.query_row([], |row| row.get(0)).ok()
}
