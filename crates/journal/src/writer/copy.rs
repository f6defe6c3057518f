//! Creates a run from existing records: a fork, or an import.

use rusqlite::params;
use updraft_run::RunId;

use super::append::EncodedBatch;
use super::lease_table::HeldLease;
use super::leases::LeaseGrant;
use super::write_job::{WriteContext, WriteError, WriteJob};
use crate::batch::{Blob, RecordRow};
use crate::chain::ChainEnd;
use crate::records::{self, RecordPosition};
use crate::run_ends::RunEnd;
use crate::run_header::RunHeader;

/// Copies the first records of a run into a new one, and takes the new one's lease.
#[derive(Debug)]
pub(crate) struct ForkRun {
    pub(crate) from: RunId,
    /// Records before this position are copied unchanged.
    pub(crate) until: RecordPosition,
    /// The first events of the record that the cut goes through.
    pub(crate) cut: Option<RecordRow>,
    /// The text of `cut`, if it is large.
    pub(crate) blobs: Vec<Blob>,
    pub(crate) to: RunHeader,
}

impl WriteJob for ForkRun {
    type Answer = LeaseGrant;

    fn write(&self, context: &mut WriteContext<'_>) -> Result<LeaseGrant, WriteError> {
        let (from, _) = context.run(&self.from)?.ok_or_else(|| records::unknown(&self.from))?;
        let grant = context.new_run(&self.to)?;
        context
            .connection
            .prepare_cached(
                "INSERT INTO records(id, events, at, body, blob, chain)
                 SELECT id + ((?2 - ?1) << 40), events, at, body, blob, chain FROM records
                 WHERE id >= ?1 << 40 AND id < ?3 ORDER BY id",
            )?
            .execute(params![from, grant.row, self.until.key(from)?])?;
        context
            .connection
            .prepare_cached("INSERT INTO refs SELECT ?2, hash FROM refs WHERE run = ?1")?
            .execute(params![from, grant.row])?;
        for blob in &self.blobs {
            context.put(grant.row, blob)?;
        }
        let end = records::end(context.connection, grant.row)?;
        let end = context.add_rows(grant.row, end, self.cut.as_slice())?;
        context.hold(&self.to.id, grant.row, HeldLease { grant: grant.number, end });
        Ok(grant)
    }

    fn is_long(&self) -> bool {
        true
    }
}

/// Creates a run from an export. It has no owner afterwards.
#[derive(Debug)]
pub(crate) struct ImportRun {
    pub(crate) head: RunHeader,
    pub(crate) batch: EncodedBatch,
}

impl WriteJob for ImportRun {
    type Answer = ();

    fn write(&self, context: &mut WriteContext<'_>) -> Result<(), WriteError> {
        if context.run(&self.head.id)?.is_some() {
            return Err(crate::Error::Exists(self.head.id.clone()).into());
        }
        let row = context.insert_run(&self.head, None)?;
        let end = context.add(row, ChainEnd::START, &self.batch)?;
        context.leases.note_end(row, RunEnd { name: self.head.id.to_string(), end });
        Ok(())
    }

    fn is_long(&self) -> bool {
        true
    }
}
