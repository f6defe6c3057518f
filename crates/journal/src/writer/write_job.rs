//! The jobs of the writer thread: what a job can use inside the open transaction, and how its answer is delivered.

use std::time::Instant;

use rusqlite::{Connection, OptionalExtension, Row, params};
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use updraft_run::{RunId, Timestamp};

use super::lease_table::LeaseTable;
use crate::Error;
use crate::journal::JournalShared;
use crate::process::{self, Presence, ProcessIdentity, ProcessRow};
use crate::run_header::LeaseOwner;
use crate::schema::JournalFile;

/// A job for the writer.
pub(crate) trait WriteJob: Send + 'static {
    /// What the caller gets once it is on disk.
    type Answer: Send + 'static;

    /// Writes within the open transaction. May be called again after a rollback.
    fn write(&self, context: &mut WriteContext<'_>) -> Result<Self::Answer, WriteError>;

    /// About how many bytes it writes.
    fn bytes(&self) -> usize {
        0
    }

    /// How many records it writes.
    fn records(&self) -> u64 {
        0
    }

    /// Whether it gets a transaction of its own because it may take long.
    fn is_long(&self) -> bool {
        false
    }
}

/// Why a job was not done.
pub(crate) enum WriteError {
    /// It is not permitted, and nothing was written: the other jobs of its group continue.
    Refused(Error),
    /// It broke off in the middle: the transaction must be rolled back.
    Broken(Error),
    /// SQLite failed: the transaction must be rolled back.
    Sqlite(rusqlite::Error),
}

impl WriteError {
    pub(super) fn explain(self, store: &JournalFile) -> Error {
        match self {
            WriteError::Refused(error) | WriteError::Broken(error) => error,
            WriteError::Sqlite(source) => Error::sqlite(&store.path, source),
        }
    }
}

impl From<rusqlite::Error> for WriteError {
    fn from(source: rusqlite::Error) -> Self {
        WriteError::Sqlite(source)
    }
}

impl From<Error> for WriteError {
    fn from(error: Error) -> Self {
        WriteError::Refused(error)
    }
}

/// A job in the queue: the work, and its answer until it may be sent.
pub(crate) trait QueuedJob: Send {
    /// Does the work and keeps the answer, or the refusal if it concerns only this job.
    fn write(&mut self, context: &mut WriteContext<'_>) -> Result<(), WriteError>;
    /// Sends the kept answer: the commit is on disk.
    fn answer(self: Box<Self>);
    /// Reports that nothing was written.
    fn fail(self: Box<Self>, error: Error);
    /// See [`WriteJob::bytes`].
    fn bytes(&self) -> usize;
    /// How many records were written, if it was not refused.
    fn records(&self) -> u64;
    /// See [`WriteJob::is_long`].
    fn is_long(&self) -> bool;
}

/// A job together with the channel for its answer.
pub(super) struct JobWithReply<W: WriteJob> {
    pub(super) work: W,
    pub(super) reply: oneshot::Sender<Result<W::Answer, Error>>,
    pub(super) kept: Option<Result<W::Answer, Error>>,
    /// A place in the queue, returned when the job is answered.
    pub(super) _place: Option<OwnedSemaphorePermit>,
}

impl<W: WriteJob> QueuedJob for JobWithReply<W> {
    fn write(&mut self, context: &mut WriteContext<'_>) -> Result<(), WriteError> {
        self.kept = Some(match self.work.write(context) {
            Ok(answer) => Ok(answer),
            Err(WriteError::Refused(error)) => Err(error),
            Err(broken) => return Err(broken),
        });
        Ok(())
    }

    fn answer(self: Box<Self>) {
        // It is no error if nobody listens: the caller went away, and the work is done.
        let _ = self.reply.send(self.kept.unwrap_or(Err(Error::Closed)));
    }

    fn fail(self: Box<Self>, error: Error) {
        let _ = self.reply.send(Err(error));
    }

    fn bytes(&self) -> usize {
        self.work.bytes()
    }

    fn records(&self) -> u64 {
        if matches!(self.kept, Some(Ok(_))) { self.work.records() } else { 0 }
    }

    fn is_long(&self) -> bool {
        self.work.is_long()
    }
}

/// What a job can use while the transaction is open.
pub(crate) struct WriteContext<'a> {
    pub(super) connection: &'a Connection,
    pub(super) leases: &'a mut LeaseTable,
    pub(super) shared: &'a JournalShared,
}

impl WriteContext<'_> {
    /// This process's row in the journal, which is also its epoch. Registers the process at the first call, and again
    /// if another process considered it gone: a lease under a row that no longer exists would belong to nobody.
    pub(super) fn epoch(&mut self) -> Result<i64, WriteError> {
        if let Some(epoch) = self.leases.epoch()
            && self.connection.prepare_cached("SELECT 1 FROM processes WHERE id = ?1")?.exists([epoch])?
        {
            return Ok(epoch);
        }
        self.reap()?;
        let (own, now) = (process::own(), (self.shared.store.options.clock)());
        self.connection
            .prepare_cached(
                "INSERT INTO processes(pid, started, boot, namespace, since, beat) VALUES(?1, ?2, ?3, ?4, ?5, ?5)",
            )?
            .execute(params![own.pid, own.started, own.boot, own.namespace, now.0])?;
        let epoch = self.connection.last_insert_rowid();
        self.leases.sign_in(
            epoch,
            Presence::of(&self.shared.store.path, epoch),
            Instant::now() + self.shared.store.options.beat,
        );
        Ok(epoch)
    }

    /// Removes processes that ended without signing off, and releases their leases.
    fn reap(&mut self) -> Result<(), WriteError> {
        let mut statement =
            self.connection.prepare_cached("SELECT id, pid, started, boot, namespace, since, beat FROM processes")?;
        let known = statement.query_map([], |row| known(row, 0))?.collect::<rusqlite::Result<Vec<_>>>()?;
        let now = (self.shared.store.options.clock)();
        for gone in known.iter().filter(|known| known.is_surely_gone(&self.shared.store.path, now)) {
            self.connection.prepare_cached("UPDATE runs SET owner = NULL WHERE owner = ?1")?.execute([gone.id])?;
            self.connection.prepare_cached("DELETE FROM processes WHERE id = ?1")?.execute([gone.id])?;
        }
        Ok(())
    }

    /// Writes the heartbeat of this process if it is due. If its row is gone, its leases are lost.
    pub(super) fn beat_if_due(&mut self) -> Result<(), WriteError> {
        let now = Instant::now();
        let Some(epoch) = self.leases.epoch().filter(|_| self.leases.is_beat_due(now)) else {
            return Ok(());
        };
        let clock = (self.shared.store.options.clock)();
        let found = self
            .connection
            .prepare_cached("UPDATE processes SET beat = ?2 WHERE id = ?1")?
            .execute(params![epoch, clock.0])?;
        if found == 0 {
            self.leases.lose_everything();
        } else {
            self.leases.beat_again(now + self.shared.store.options.beat);
        }
        Ok(())
    }

    /// The run's key and owner.
    pub(super) fn run(&self, run: &RunId) -> Result<Option<(i64, Option<ProcessRow>)>, WriteError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT r.id, p.id, p.pid, p.started, p.boot, p.namespace, p.since, p.beat
             FROM runs r LEFT JOIN processes p ON p.id = r.owner WHERE r.name = ?1",
        )?;
        let found = statement.query_row([run.as_str()], |row| {
            let owned = row.get::<_, Option<i64>>(1)?.is_some();
            Ok((row.get(0)?, if owned { Some(known(row, 1)?) } else { None }))
        });
        Ok(found.optional()?)
    }

    /// The owner that a row describes, and whether it is alive.
    pub(super) fn owner(&self, known: &ProcessRow) -> LeaseOwner {
        owner(known, &self.shared.store)
    }
}

/// Reads a process from a row that has its columns in this order, beginning at `first`.
pub(crate) fn known(row: &Row<'_>, first: usize) -> rusqlite::Result<ProcessRow> {
    Ok(ProcessRow {
        id: row.get(first)?,
        identity: ProcessIdentity {
            pid: row.get(first + 1)?,
            started: row.get(first + 2)?,
            boot: row.get(first + 3)?,
            namespace: row.get(first + 4)?,
        },
        since: Timestamp(row.get(first + 5)?),
        beat: Timestamp(row.get(first + 6)?),
    })
}

/// The owner that a row describes, and whether it is alive.
pub(crate) fn owner(known: &ProcessRow, store: &JournalFile) -> LeaseOwner {
    LeaseOwner {
        pid: known.identity.pid,
        alive: known.is_alive(&store.path, (store.options.clock)()),
        since: known.since,
        epoch: known.id as u64,
    }
}
