//! The one thread that writes: it handles all waiting requests in one transaction, then answers them.

mod append;
mod copy;
mod delete;
mod file_identities;
mod inbox;
mod lease_table;
mod leases;
mod queue;
mod stored;
mod write_job;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::oneshot;

pub(crate) use append::{AppendRecords, CreateRun, EncodedBatch, PutBlobs};
pub(crate) use copy::{ForkRun, ImportRun};
pub(crate) use delete::{DeleteRun, TruncateRun, UnlinkBlobs, Vacuum};
pub(crate) use inbox::SendInput;
pub(crate) use leases::{AcquireLease, LeaseGrant, ReleaseLease};
pub(crate) use queue::WriteQueue;
pub(crate) use stored::{ChangeStored, SweepStored};
pub(crate) use write_job::{WriteJob, known, owner};

use crate::Error;
use crate::journal::JournalShared;
use crate::reserved_space;
use file_identities::FileIdentities;
use lease_table::LeaseTable;
use write_job::{QueuedJob, WriteContext};

/// How many requests may share a transaction: beyond this, the flush is no longer the main cost.
const GROUP: usize = 4096;

/// How many bytes may share a transaction, so that other processes do not wait for long.
const GROUP_BYTES: usize = 16 << 20;

/// How long to sleep without leases, when no heartbeat is needed.
const IDLE: Duration = Duration::from_hours(1);

/// A message to the thread.
pub(crate) enum WriterMessage {
    Work(Box<dyn QueuedJob>),
    Close(oneshot::Sender<()>),
}

/// The state of the thread.
struct WriterThread {
    shared: Arc<JournalShared>,
    /// Opened at the first request; dropped if it may not have rolled back.
    connection: Option<Connection>,
    leases: LeaseTable,
    /// The identities of the files at the first commit.
    files: Option<FileIdentities>,
    /// Set if the files have been replaced: nothing more is written.
    lost: Option<Error>,
}

/// Runs until the journal is closed or dropped.
pub(crate) fn run(shared: Arc<JournalShared>, requests: &Receiver<WriterMessage>) {
    let mut writer = WriterThread { shared, connection: None, leases: LeaseTable::default(), files: None, lost: None };
    let mut waiting = Vec::new();
    let mut closer = None;
    while closer.is_none() {
        match requests.recv_timeout(writer.until_beat()) {
            Ok(WriterMessage::Work(work)) => waiting.push(work),
            Ok(WriterMessage::Close(told)) => closer = Some(told),
            Err(RecvTimeoutError::Timeout) => writer.beat(),
            Err(RecvTimeoutError::Disconnected) => break,
        }
        while waiting.len() < GROUP && closer.is_none() {
            match requests.try_recv() {
                Ok(WriterMessage::Work(work)) => waiting.push(work),
                Ok(WriterMessage::Close(told)) => closer = Some(told),
                Err(_) => break,
            }
        }
        writer.serve(&mut waiting);
        writer.settle_in();
    }
    writer.close();
    drop(writer);
    if let Some(told) = closer {
        let _ = told.send(());
    }
}

impl WriterThread {
    /// Handles all waiting requests, in order.
    fn serve(&mut self, waiting: &mut Vec<Box<dyn QueuedJob>>) {
        let mut rest = std::mem::take(waiting).into_iter().peekable();
        let mut group = Vec::new();
        let mut bytes = 0;
        while let Some(asked) = rest.next() {
            bytes += asked.bytes();
            let alone = asked.is_long();
            group.push(asked);
            let next_is_long = rest.peek().is_none_or(|next| next.is_long());
            if alone || next_is_long || bytes > GROUP_BYTES {
                self.serve_group(&mut group);
                bytes = 0;
            }
        }
    }

    fn serve_group(&mut self, group: &mut Vec<Box<dyn QueuedJob>>) {
        match self.transact(group) {
            Ok(()) => group.drain(..).for_each(QueuedJob::answer),
            // One request broke the shared transaction: each gets its own, so that only that one fails.
            Err(TransactionFailure { error, particular: true }) if group.len() > 1 => {
                drop(error);
                for mut asked in group.drain(..) {
                    match self.transact(std::slice::from_mut(&mut asked)) {
                        Ok(()) => asked.answer(),
                        Err(failure) => asked.fail(failure.error),
                    }
                }
            }
            Err(failure) => group.drain(..).for_each(|asked| asked.fail(failure.error.clone())),
        }
    }

    /// Writes a group, all or nothing. The answers are held back until the commit is on disk.
    fn transact(&mut self, group: &mut [Box<dyn QueuedJob>]) -> Result<(), TransactionFailure> {
        let outcome = self.try_transact(group);
        if outcome.is_ok() {
            // Before anyone is answered, so that every acknowledged end is recorded.
            self.shared.heads.write(&self.leases.commit());
            self.shared.count(group.iter().map(|asked| asked.records()).sum(), group.len() as u64);
        } else {
            self.leases.undo();
            let rolled_back =
                |connection: &Connection| connection.is_autocommit() || connection.execute_batch("ROLLBACK").is_ok();
            self.connection = self.connection.take().filter(rolled_back);
        }
        outcome
    }

    fn try_transact(&mut self, group: &mut [Box<dyn QueuedJob>]) -> Result<(), TransactionFailure> {
        if let Some(lost) = self.look_for_files() {
            return Err(TransactionFailure::of_all(lost));
        }
        let store = &self.shared.store;
        let connection = match &mut self.connection {
            Some(connection) => connection,
            none => none.insert(store.writer().map_err(TransactionFailure::of_all)?),
        };
        let said = |source| Error::sqlite(&store.path, source);
        execute(connection, "BEGIN IMMEDIATE").map_err(|source| TransactionFailure::of_all(said(source)))?;
        let mut context = WriteContext { connection, leases: &mut self.leases, shared: &self.shared };
        context.beat_if_due().map_err(|refusal| TransactionFailure::of_all(refusal.explain(store)))?;
        for asked in group {
            asked
                .write(&mut context)
                .map_err(|refusal| TransactionFailure { error: refusal.explain(store), particular: true })?;
        }
        execute(connection, "COMMIT").map_err(|source| TransactionFailure::of_all(said(source)))
    }

    /// Runs after the first commit, when all files exist and no request waits.
    fn settle_in(&mut self) {
        if self.files.is_none() && self.leases.epoch().is_some() {
            self.files = Some(FileIdentities::now(&self.shared.store.path));
            reserved_space::keep(&self.shared.store.path);
        }
    }

    /// Runs with each heartbeat: checks that the files are still the ones this process began to write.
    fn look_for_files(&mut self) -> Option<Error> {
        if self.lost.is_none() && self.leases.is_beat_due(Instant::now()) {
            self.lost = self.files.as_ref().and_then(FileIdentities::fault);
            if let Some(lost) = &self.lost {
                self.shared.lose(lost.clone());
                // Kept open: on closing, SQLite would remove the log by its name, which may belong to another journal
                // now.
                std::mem::forget(self.connection.take());
            }
        }
        self.lost.clone()
    }

    /// How long the thread may sleep.
    fn until_beat(&self) -> Duration {
        match self.leases.next_beat() {
            Some(due) => due.saturating_duration_since(Instant::now()),
            None => IDLE,
        }
    }

    /// Writes the heartbeat of this process. If that fails now, it is tried with the next request, or five seconds
    /// later.
    fn beat(&mut self) {
        if self.leases.next_beat().is_some() && self.transact(&mut []).is_err() {
            self.leases.put_off(self.shared.store.options.beat);
        }
    }

    /// Releases everything and leaves one complete file.
    fn close(&mut self) {
        self.shared.readers.close();
        self.shared.watch.close();
        if let Some(mut connection) = self.connection.take() {
            let _ = self.leases.sign_off(&mut connection);
            let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        }
        self.leases = LeaseTable::default();
    }
}

fn execute(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}

/// Why a transaction failed.
struct TransactionFailure {
    error: Error,
    /// Whether one of the requests caused it, rather than the disk or the lock.
    particular: bool,
}

impl TransactionFailure {
    fn of_all(error: Error) -> Self {
        Self { error, particular: false }
    }
}
