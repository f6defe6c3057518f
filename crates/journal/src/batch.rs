//! The unit of writing: records, the blobs they refer to, and the inputs they handle.

use std::fmt;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use updraft_run::{BlobRef, ContentHash, Record, Timestamp};

use crate::Error;
use crate::run_header::Status;

/// A record larger than this is stored as a blob, so that listing and seeking in the table stay fast.
pub(crate) const INLINE_RECORD: usize = 64 << 10;

/// Everything one append writes, all or nothing.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// The records, in order.
    pub records: Vec<Record>,
    /// The large values that the records refer to.
    pub blobs: Vec<Blob>,
    /// The new status of the run; `None` leaves it unchanged, which is cheaper.
    pub status: Option<Status>,
    /// When the run wants to be woken; `None` leaves it unchanged.
    pub due: Option<Option<Timestamp>>,
    /// Inputs of the inbox that these records handle; they are removed from it in the same transaction.
    pub handled: Vec<i64>,
}

impl Batch {
    /// A batch with only records.
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

    /// The reference that a record contains.
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

/// A record as it is written into its row.
#[derive(Debug)]
pub(crate) struct RecordRow {
    pub(crate) at: i64,
    pub(crate) events: i64,
    pub(crate) body: RecordBody,
    /// The SHA-256 of its text.
    pub(crate) digest: [u8; 32],
}

/// Where a record's text is stored.
#[derive(Debug)]
pub(crate) enum RecordBody {
    Here(Vec<u8>),
    Blob(ContentHash),
}

impl RecordRow {
    /// Encodes a record; the text of a large one is added to `blobs`.
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

    /// Encodes several records.
    pub(crate) fn all(records: &[Record], blobs: &mut Vec<Blob>) -> Result<Vec<Self>, Error> {
        records.iter().map(|record| Self::of(record, blobs)).collect()
    }
}
