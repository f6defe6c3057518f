//! Hashes over stored data, so that a single changed bit is noticed.

use std::ops::Range;

use rusqlite::Row;
use rusqlite::types::ValueRef;
use sha2::{Digest, Sha256};
use updraft_run::RunId;

use crate::Error;
use crate::records::{self, RecordPosition};

/// SHA-256 cut to half its length. It protects against accidents only: whoever forges records can also forge their
/// hashes.
pub(crate) type ChainHash = [u8; 16];

/// The end of a run, or of the first part of its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChainEnd {
    /// Where the next record goes.
    pub(crate) place: RecordPosition,
    /// The hash of the last record; `None` if there is no record, or if a version without hashes wrote it.
    pub(crate) link: Option<ChainHash>,
}

impl ChainEnd {
    pub(crate) const START: ChainEnd = ChainEnd { place: RecordPosition::START, link: None };

    /// Checks that a run that was acknowledged up to here still has that many events.
    pub(crate) fn check(self, run: &RunId, found: ChainEnd) -> Result<(), Error> {
        let lost = found.place < self.place;
        let other = found.place == self.place && self.link.is_some() && found.link != self.link;
        match (lost, other) {
            (true, _) => Err(records::damaged(
                run,
                found.place,
                &format!("it is missing, although the run had reached event {}", self.place.events()),
            )),
            (false, true) => Err(records::damaged(run, found.place, "the record before it is not what was written")),
            (false, false) => Ok(()),
        }
    }

    /// The end after one more record, whose text has the SHA-256 `digest`. Each record's hash covers the hash of the
    /// record before it, so no record can be changed, removed or exchanged alone. The run's key is not part of it, so
    /// that a fork can copy records with their hashes.
    pub(crate) fn after(self, events: i64, at: i64, digest: &[u8; 32]) -> Self {
        let mut hash = Sha256::new();
        hash.update(self.link.unwrap_or_default());
        for number in [self.place.seq, self.place.part, events, at] {
            hash.update(number.to_le_bytes());
        }
        hash.update(digest);
        Self { place: self.place.after(events), link: Some(half(hash)) }
    }
}

/// A hash over some columns of a row: the type and the value of each.
pub(crate) fn sum(row: &Row<'_>, columns: Range<usize>) -> rusqlite::Result<ChainHash> {
    let mut hash = Sha256::new();
    for column in columns {
        match row.get_ref(column)? {
            ValueRef::Null => hash.update([0]),
            ValueRef::Integer(number) => hash.update([&[1][..], &number.to_le_bytes()].concat()),
            ValueRef::Real(number) => hash.update([&[2][..], &number.to_le_bytes()].concat()),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                hash.update([&[3][..], &(bytes.len() as u64).to_le_bytes()].concat());
                hash.update(bytes);
            }
        }
    }
    Ok(half(hash))
}

/// The hash of a few bytes.
pub(crate) fn of_bytes(bytes: &[u8]) -> ChainHash {
    half(Sha256::new().chain_update(bytes))
}

fn half(hash: Sha256) -> ChainHash {
    let mut link = ChainHash::default();
    link.iter_mut().zip(hash.finalize()).for_each(|(to, from)| *to = from);
    link
}
