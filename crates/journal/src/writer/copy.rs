//! Making a run from another's records: a fork, or an import.

use rusqlite::params;
use updraft_run::RunId;

use super::append::Page;
use super::book::Held;
use super::desk::{Desk, Refusal, Work};
use super::leases::Grant;
use crate::batch::{Blob, Row};
use crate::chain::End;
use crate::head::Head;
use crate::heads::RunEnd;
use crate::read::{self, Position};

/// Copies the first records of a run into a new one, and takes the new one's lease.
#[derive(Debug)]
pub(crate) struct Fork {
    pub(crate) from: RunId,
    /// Records before this place are copied as they are.
    pub(crate) until: Position,
    /// The first events of the record that the cut goes through.
    pub(crate) cut: Option<Row>,
    /// Its text, if it is large.
    pub(crate) blobs: Vec<Blob>,
    pub(crate) to: Head,
}

impl Work for Fork {
    type Answer = Grant;

    fn write(&self, desk: &mut Desk<'_>) -> Result<Grant, Refusal> {
        let (from, _) = desk.run(&self.from)?.ok_or_else(|| read::unknown(&self.from))?;
        let grant = desk.new_run(&self.to)?;
        desk.connection
            .prepare_cached(
                "INSERT INTO records(id, events, at, body, blob, chain)
                 SELECT id + ((?2 - ?1) << 40), events, at, body, blob, chain FROM records
                 WHERE id >= ?1 << 40 AND id < ?3 ORDER BY id",
            )?
            .execute(params![from, grant.row, self.until.key(from)?])?;
        desk.connection
            .prepare_cached("INSERT INTO refs SELECT ?2, hash FROM refs WHERE run = ?1")?
            .execute(params![from, grant.row])?;
        for blob in &self.blobs {
            desk.put(grant.row, blob)?;
        }
        let end = read::end(desk.connection, grant.row)?;
        let end = desk.add_rows(grant.row, end, self.cut.as_slice())?;
        desk.hold(&self.to.id, grant.row, Held { grant: grant.number, end });
        Ok(grant)
    }

    fn is_long(&self) -> bool {
        true
    }
}

/// Makes a run from what an export held. Nobody has its lease afterwards.
#[derive(Debug)]
pub(crate) struct Import {
    pub(crate) head: Head,
    pub(crate) page: Page,
}

impl Work for Import {
    type Answer = ();

    fn write(&self, desk: &mut Desk<'_>) -> Result<(), Refusal> {
        if desk.run(&self.head.id)?.is_some() {
            return Err(crate::Error::Exists(self.head.id.clone()).into());
        }
        let row = desk.insert_run(&self.head, None)?;
        let end = desk.add(row, End::START, &self.page)?;
        desk.book.note_end(row, RunEnd { name: self.head.id.to_string(), end });
        Ok(())
    }

    fn is_long(&self) -> bool {
        true
    }
}
