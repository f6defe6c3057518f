//! Appends records to a run, and stores the values they refer to.

use rusqlite::params;
use updraft_run::{ContentHash, RunId};

use super::lease_table::HeldLease;
use super::leases::LeaseGrant;
use super::write_job::{WriteContext, WriteError, WriteJob};
use crate::batch::{Blob, RecordBody, RecordRow};
use crate::blobs;
use crate::chain::ChainEnd;
use crate::list::{RUN_COLUMNS, RUN_SUMMED};
use crate::run_ends::RunEnd;
use crate::run_header::{GOAL, RunHeader};
use crate::{Batch, Error, chain};

/// A batch whose records have been encoded as rows.
#[derive(Debug)]
pub(crate) struct EncodedBatch {
    rows: Vec<RecordRow>,
    /// The rest of the batch, without its records.
    rest: Batch,
}

impl EncodedBatch {
    pub(crate) fn of(mut batch: Batch) -> Result<Self, Error> {
        let records = std::mem::take(&mut batch.records);
        Ok(Self { rows: RecordRow::all(&records, &mut batch.blobs)?, rest: batch })
    }

    pub(crate) fn blobs(&self) -> &[Blob] {
        &self.rest.blobs
    }

    fn bytes(&self) -> usize {
        let here = |row: &RecordRow| if let RecordBody::Here(text) = &row.body { text.len() } else { 0 };
        let blobs = self.rest.blobs.iter().map(|blob| blob.bytes().len());
        self.rows.iter().map(here).chain(blobs).sum()
    }
}

/// Appends to a run whose lease we hold. The answer is the number of its last event.
#[derive(Debug)]
pub(crate) struct AppendRecords {
    pub(crate) run: RunId,
    pub(crate) row: i64,
    pub(crate) grant: u64,
    pub(crate) batch: EncodedBatch,
}

impl WriteJob for AppendRecords {
    type Answer = u64;

    fn write(&self, context: &mut WriteContext<'_>) -> Result<u64, WriteError> {
        let held = context.check_lease(&self.run, self.row, self.grant)?;
        let end = context.add(self.row, held.end, &self.batch)?;
        context.hold(&self.run, self.row, HeldLease { end, ..held });
        Ok(end.place.events())
    }

    fn bytes(&self) -> usize {
        self.batch.bytes()
    }

    fn records(&self) -> u64 {
        self.batch.rows.len() as u64
    }
}

/// Creates a run, takes its lease and writes its first records.
#[derive(Debug)]
pub(crate) struct CreateRun {
    pub(crate) head: RunHeader,
    pub(crate) batch: EncodedBatch,
}

impl WriteJob for CreateRun {
    type Answer = LeaseGrant;

    fn write(&self, context: &mut WriteContext<'_>) -> Result<LeaseGrant, WriteError> {
        let grant = context.new_run(&self.head)?;
        let end = context.add(grant.row, ChainEnd::START, &self.batch)?;
        context.hold(&self.head.id, grant.row, HeldLease { grant: grant.number, end });
        Ok(grant)
    }

    fn bytes(&self) -> usize {
        self.batch.bytes()
    }

    fn records(&self) -> u64 {
        self.batch.rows.len() as u64
    }
}

/// Stores values for a run before the records that will refer to them.
#[derive(Debug)]
pub(crate) struct PutBlobs {
    pub(crate) run: RunId,
    pub(crate) blobs: Vec<Blob>,
}

impl WriteJob for PutBlobs {
    type Answer = ();

    fn write(&self, context: &mut WriteContext<'_>) -> Result<(), WriteError> {
        let (row, _) = context.run(&self.run)?.ok_or_else(|| crate::records::unknown(&self.run))?;
        self.blobs.iter().try_for_each(|blob| context.put(row, blob))
    }

    fn bytes(&self) -> usize {
        self.blobs.iter().map(|blob| blob.bytes().len()).sum()
    }
}

impl WriteContext<'_> {
    /// Keeps a lease on a run with its new end, which is recorded once it is on disk.
    pub(super) fn hold(&mut self, run: &RunId, row: i64, held: HeldLease) {
        self.leases.hold(row, held);
        self.leases.note_end(row, RunEnd { name: run.to_string(), end: held.end });
    }

    /// Checks that this process may still write to the run.
    fn check_lease(&mut self, run: &RunId, row: i64, grant: u64) -> Result<HeldLease, WriteError> {
        let held = self.leases.held(row).filter(|held| held.grant == grant);
        let owner = {
            let mut statement = self.connection.prepare_cached("SELECT owner FROM runs WHERE id = ?1")?;
            let mut rows = statement.query([row])?;
            rows.next()?.map(|row| row.get::<_, Option<i64>>(0)).transpose()?
        };
        match (owner, held) {
            (None, _) => {
                self.leases.let_go(row);
                // The end of our last append may have been recorded after the run was removed.
                let _ = self.shared.heads.forget(row);
                Err(Error::Deleted(run.clone()).into())
            }
            (Some(owner), Some(held)) if owner.is_some() && owner == self.leases.epoch() => Ok(held),
            (Some(_), Some(_)) => {
                self.leases.let_go(row);
                Err(Error::Fenced(run.clone()).into())
            }
            (Some(_), None) => Err(Error::Fenced(run.clone()).into()),
        }
    }

    /// Writes the row of a new run, owned by this process.
    pub(super) fn new_run(&mut self, head: &RunHeader) -> Result<LeaseGrant, WriteError> {
        if self.run(&head.id)?.is_some() {
            return Err(Error::Exists(head.id.clone()).into());
        }
        let epoch = self.epoch()?;
        let row = self.insert_run(head, Some(epoch))?;
        Ok(LeaseGrant { row, number: self.leases.next_grant(), epoch: epoch as u64 })
    }

    /// Writes the row of a new run.
    pub(super) fn insert_run(&mut self, head: &RunHeader, owner: Option<i64>) -> Result<i64, WriteError> {
        let goal = head.goal.char_indices().nth(GOAL).map_or(head.goal.as_str(), |(end, _)| &head.goal[..end]);
        self.connection
            .prepare_cached(
                "INSERT INTO runs(id, name, goal, workspace, model, status, created, parent, owner, version)
                 VALUES(max(?10, coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'runs'), 0) + 1),
                        ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            )?
            .execute(params![
                head.id.as_str(),
                goal,
                head.workspace,
                head.model,
                head.status.as_str(),
                head.created.0,
                head.parent.as_ref().map(RunId::as_str),
                owner,
                self.shared.store.options.version,
                // The key of a lost run is not reused, because its entry is the only trace of it.
                self.shared.heads.next_key(),
            ])?;
        let row = self.connection.last_insert_rowid();
        self.seal(row)?;
        Ok(row)
    }

    /// Writes the hash of a run's row.
    pub(super) fn seal(&mut self, row: i64) -> Result<(), WriteError> {
        let sum = self
            .connection
            .prepare_cached(&format!("SELECT {RUN_COLUMNS} FROM runs r WHERE id = ?1"))?
            .query_row([row], |row| chain::sum(row, RUN_SUMMED))?;
        self.connection.prepare_cached("UPDATE runs SET sum = ?2 WHERE id = ?1")?.execute(params![row, sum])?;
        Ok(())
    }

    /// Writes an encoded batch at its position, and returns the new end.
    pub(super) fn add(&mut self, row: i64, at: ChainEnd, batch: &EncodedBatch) -> Result<ChainEnd, WriteError> {
        for blob in batch.blobs() {
            self.put(row, blob)?;
        }
        let end = self.add_rows(row, at, &batch.rows)?;
        let mut changed = 0;
        if let Some(status) = batch.rest.status {
            changed += self
                .connection
                .prepare_cached("UPDATE runs SET status = ?2 WHERE id = ?1 AND status <> ?2")?
                .execute(params![row, status.as_str()])?;
        }
        if let Some(due) = batch.rest.due {
            changed += self
                .connection
                .prepare_cached("UPDATE runs SET due = ?2 WHERE id = ?1 AND due IS NOT ?2")?
                .execute(params![row, due.map(|at| at.0)])?;
        }
        if changed > 0 {
            self.seal(row)?;
        }
        for handled in &batch.rest.handled {
            self.connection.prepare_cached("DELETE FROM inbox WHERE id = ?1 AND run = ?2")?.execute([*handled, row])?;
        }
        Ok(end)
    }

    pub(super) fn add_rows(&mut self, row: i64, at: ChainEnd, rows: &[RecordRow]) -> Result<ChainEnd, WriteError> {
        let mut insert = self
            .connection
            .prepare_cached("INSERT INTO records(id, events, at, body, blob, chain) VALUES(?1, ?2, ?3, ?4, ?5, ?6)")?;
        let mut end = at;
        for record in rows {
            let key = end.place.key(row)?;
            end = end.after(record.events, record.at, &record.digest);
            let (body, blob) = match &record.body {
                RecordBody::Here(text) => (text.as_slice(), None),
                RecordBody::Blob(ContentHash(hash)) => (&[][..], Some(hash.as_slice())),
            };
            insert.execute(params![key, record.events, record.at, body, blob, end.link])?;
        }
        Ok(end)
    }

    /// Stores a value for a run, unless it is already stored.
    pub(super) fn put(&mut self, row: i64, blob: &Blob) -> Result<(), WriteError> {
        let ContentHash(hash) = blob.hash();
        let named = self
            .connection
            .prepare_cached("SELECT 1 FROM refs WHERE run = ?1 AND hash = ?2")?
            .exists(params![row, hash])?;
        if named {
            return Ok(());
        }
        let stored = self.connection.prepare_cached("SELECT 1 FROM blobs WHERE hash = ?1")?.exists([hash])?;
        let is_file = blobs::is_file(blob.bytes().len());
        if is_file {
            // Written before this transaction, but another process may have removed it since.
            blobs::ensure_file(&self.shared.store.path, blob).map_err(WriteError::Broken)?;
        }
        if !stored {
            let body = (!is_file).then_some(blob.bytes());
            self.connection.prepare_cached("INSERT INTO blobs VALUES(?1, ?2, ?3)")?.execute(params![
                hash,
                blob.bytes().len() as i64,
                body
            ])?;
        }
        self.connection.prepare_cached("INSERT INTO refs VALUES(?1, ?2)")?.execute(params![row, hash])?;
        Ok(())
    }
}
