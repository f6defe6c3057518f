//! Where large values are kept for all workers: a folder, or a bucket.

use std::collections::BTreeSet;
use std::io;

use updraft_journal::Blob;
use updraft_run::{ContentHash, Record};

use crate::blob_bucket::BlobBucket;
use crate::blob_folder::BlobFolder;

/// How many digits a hash has.
const HASH: usize = 64;

/// A place for large values. Cheap to clone.
#[derive(Clone, Debug)]
pub enum BlobStore {
    /// A folder that all workers reach.
    Folder(BlobFolder),
    /// A bucket of an S3-compatible store.
    Bucket(BlobBucket),
}

impl BlobStore {
    /// Which one it is: the same text for every worker that has it.
    pub(crate) fn id(&self) -> &str {
        match self {
            Self::Folder(folder) => folder.id(),
            Self::Bucket(bucket) => bucket.id(),
        }
    }

    /// Where it is, for people.
    pub fn place(&self) -> String {
        match self {
            Self::Folder(folder) => folder.place().display().to_string(),
            Self::Bucket(bucket) => bucket.place().to_owned(),
        }
    }

    /// Stores values, and returns once they are safe there.
    pub(crate) async fn put(&self, blobs: &[Blob]) -> Result<(), String> {
        match self {
            Self::Folder(folder) => {
                let (folder, blobs) = (folder.clone(), blobs.to_vec());
                let writing = move || blobs.iter().try_for_each(|blob| folder.put(blob));
                let written = tokio::task::spawn_blocking(writing).await;
                written.unwrap_or_else(|error| Err(io::Error::other(error))).map_err(|error| error.to_string())
            }
            Self::Bucket(bucket) => bucket.put(blobs).await.map_err(|fault| format!("{fault}; {}", fault.hint())),
        }
    }

    /// The values that records name, as far as they are there. An error means that more may be there.
    pub(crate) async fn named_in(&self, records: &[Record]) -> Result<Vec<Blob>, String> {
        let texts = records.iter().filter_map(|record| record.to_json().ok());
        let hashes: BTreeSet<ContentHash> = texts.flat_map(|text| hashes_in(&text)).collect();
        match self {
            Self::Folder(folder) => {
                let folder = folder.clone();
                let reading =
                    move || hashes.iter().filter_map(|hash| folder.get(hash).transpose()).collect::<io::Result<_>>();
                let read = tokio::task::spawn_blocking(reading).await;
                read.unwrap_or_else(|error| Err(io::Error::other(error))).map_err(|error| error.to_string())
            }
            Self::Bucket(bucket) => bucket.get(hashes).await.map_err(|fault| format!("{fault}; {}", fault.hint())),
        }
    }
}

/// Every hash that a text contains. Most of them name no value of ours, which costs one look each.
fn hashes_in(text: &[u8]) -> Vec<ContentHash> {
    let is_digit = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
    let runs = text.split(|byte| !is_digit(byte)).filter(|run| run.len() == HASH);
    runs.filter_map(|run| std::str::from_utf8(run).ok()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use updraft_run::{Input, Timestamp};

    use super::*;

    #[tokio::test]
    async fn values_are_found_by_the_hashes_that_records_name_and_damaged_ones_are_not() {
        let place = tempfile::tempdir().unwrap();
        let store = BlobStore::Folder(BlobFolder::open(place.path(), "one").unwrap());
        let again = BlobStore::Folder(BlobFolder::open(place.path(), "two").unwrap());
        assert_eq!((store.id(), again.id()), ("one", "one"));
        let (blob, other) = (Blob::new(b"much".to_vec()), Blob::new(b"more".to_vec()));
        for _ in 0..2 {
            store.put(std::slice::from_ref(&blob)).await.unwrap();
        }
        let message = format!("see {} and {}", blob.hash(), other.hash());
        let record = Record { at: Timestamp(1), input: Input::Tell { message }, events: Vec::new() };
        let named = again.named_in(std::slice::from_ref(&record)).await;
        assert_eq!(named.as_deref(), Ok(std::slice::from_ref(&blob)));
        let name = blob.hash().to_string();
        let file = place.path().join(&name[..2]).join(name);
        std::fs::write(&file, b"much else").unwrap();
        assert_eq!(again.named_in(std::slice::from_ref(&record)).await.as_deref(), Ok([].as_slice()));
        // What cannot be read now is not taken for missing: a copy without it would lack it for good.
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        assert!(again.named_in(&[record]).await.is_err());
    }
}
