//! What is written at once: records, the values they name, and the inputs they answer.

use std::fmt;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use updraft_run::{BlobRef, ContentHash, Record, Timestamp};

use crate::Error;
use crate::head::Status;

/// A record larger than this is kept as a blob, so that listing and seeking in the table stay quick.
pub(crate) const INLINE_RECORD: usize = 64 << 10;

/// Everything one append writes: all of it or nothing.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// What happened, in order.
    pub records: Vec<Record>,
    /// The large values that the records name.
    pub blobs: Vec<Blob>,
    /// How the run stands now; `None` leaves it as it was, which is cheaper.
    pub status: Option<Status>,
    /// When the run wants to be woken; `None` leaves it as it was.
    pub due: Option<Option<Timestamp>>,
    /// Inputs of the inbox that these records answer; they leave it in the same transaction.
    pub handled: Vec<i64>,
}

impl Batch {
    /// Only records.
    pub fn of(records: Vec<Record>) -> Self {
        Self { records, ..Self::default() }
    }
}

/// A value with its content hash. Cheap to clone.
#[derive(Clone, PartialEq, Eq)]
pub struct Blob {
    hash: ContentHash,
    bytes: Arc<[u8]>,
}

impl Blob {
    /// Computes the hash of the bytes.
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Self {
        let bytes = bytes.into();
        Self { hash: hash_of(&bytes), bytes }
    }

    /// The SHA-256 of the bytes.
    pub fn hash(&self) -> ContentHash {
        self.hash
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes, shared.
    pub fn shared(&self) -> Arc<[u8]> {
        Arc::clone(&self.bytes)
    }

    /// What a record says to name it.
    pub fn to_ref(&self) -> BlobRef {
        BlobRef { hash: self.hash, len: self.bytes.len() as u64 }
    }
}

impl fmt::Debug for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Blob({}, {} bytes)", self.hash, self.bytes.len())
    }
}

/// The SHA-256 of some bytes.
pub fn hash_of(bytes: &[u8]) -> ContentHash {
    ContentHash(Sha256::digest(bytes).into())
}

/// A record as it goes into its row.
#[derive(Debug)]
pub(crate) struct RecordRow {
    pub(crate) at: i64,
    pub(crate) events: i64,
    pub(crate) body: RecordBody,
    /// The SHA-256 of its text.
    pub(crate) digest: [u8; 32],
}

/// Where a record's text is.
#[derive(Debug)]
pub(crate) enum RecordBody {
    Here(Vec<u8>),
    Blob(ContentHash),
}

impl RecordRow {
    /// Spells a record; a large one's text is added to `blobs`.
    pub(crate) fn of(record: &Record, blobs: &mut Vec<Blob>) -> Result<Self, Error> {
        let json = record.to_json().map_err(|source| Error::Unwritable { source: source.into() })?;
        let (body, ContentHash(digest)) = if json.len() > INLINE_RECORD {
            let blob = Blob::new(json);
            let hash = blob.hash;
            blobs.push(blob);
            (RecordBody::Blob(hash), hash)
        } else {
            let hash = hash_of(&json);
            (RecordBody::Here(json), hash)
        };
        Ok(Self { at: record.at.0, events: record.events.len() as i64, body, digest })
    }

    /// Spells several.
    pub(crate) fn all(records: &[Record], blobs: &mut Vec<Blob>) -> Result<Vec<Self>, Error> {
        records.iter().map(|record| Self::of(record, blobs)).collect()
    }
}
