//! A bucket of an S3-compatible store that several workers reach, with large values by their hash.
//!
//! Objects have the names that files have in a folder for the same purpose, so one can be copied to the other.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use updraft_journal::{Blob, hash_of};
use updraft_run::{ContentHash, Timestamp};

use crate::blob_folder::MARK;
use crate::bucket_address::BucketSettings;
use crate::bucket_client::{BucketAction, BucketClient, BucketReply, BucketRequest};
use crate::bucket_fault::BucketFault;
use crate::shared_folder::is_id;

/// How long the store may be away until whoever asks is told.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many requests are under way at once.
const AT_ONCE: usize = 8;
/// How many values this process remembers to have written; then it forgets all.
const REMEMBERED: usize = 10_000;

/// A bucket with large values. Cheap to clone.
#[derive(Clone)]
pub struct BlobBucket {
    client: Arc<BucketClient>,
    id: String,
    /// What this process has written: what agents are told is the same in every run.
    written: Arc<Mutex<HashSet<ContentHash>>>,
}

impl BlobBucket {
    /// Sees whether a bucket can be used: writes, reads and deletes a small object. `fresh` is a random text.
    pub async fn check(
        settings: &BucketSettings,
        fresh: &str,
        now: fn() -> Timestamp,
        stop: CancellationToken,
    ) -> Result<(), BucketFault> {
        try_out(&BucketClient::new(settings, now, stop)?, fresh).await
    }

    /// Opens a bucket after the same check. `fresh` is a random text for a new one.
    pub async fn open(
        settings: &BucketSettings,
        fresh: &str,
        now: fn() -> Timestamp,
        stop: CancellationToken,
    ) -> Result<Self, BucketFault> {
        let client = BucketClient::new(settings, now, stop)?;
        try_out(&client, fresh).await?;
        let id = kept_id(&client, fresh).await?;
        Ok(Self { client: Arc::new(client), id, written: Arc::default() })
    }

    /// Which bucket it is: the same text for everyone who has it.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// The bucket and its address, for people.
    pub(crate) fn place(&self) -> &str {
        &self.client.address.shown
    }

    /// Stores values, and returns once the store has all of them.
    pub(crate) async fn put(&self, blobs: &[Blob]) -> Result<(), BucketFault> {
        let new: Vec<Blob> = {
            let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
            blobs.iter().filter(|blob| !written.contains(&blob.hash())).cloned().collect()
        };
        side_by_side(new, |blob| {
            let bucket = self.clone();
            async move { bucket.put_one(&blob).await }
        })
        .await
        .map(drop)
    }

    /// Whatever is there under this name is replaced: if it is not the same, somebody has changed it.
    async fn put_one(&self, blob: &Blob) -> Result<(), BucketFault> {
        let name = object_of(&blob.hash());
        let request = BucketRequest { action: BucketAction::Write, name: &name, body: blob.bytes() };
        self.client.send(request, PATIENCE).await?;
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if written.len() >= REMEMBERED {
            written.clear();
        }
        written.insert(blob.hash());
        Ok(())
    }

    /// The values with these hashes, as far as they are there and whole.
    pub(crate) async fn get(&self, hashes: impl IntoIterator<Item = ContentHash>) -> Result<Vec<Blob>, BucketFault> {
        let hashes = hashes.into_iter().collect();
        let found = side_by_side(hashes, |hash| {
            let bucket = self.clone();
            async move { bucket.get_one(hash).await }
        });
        Ok(found.await?.into_iter().flatten().collect())
    }

    async fn get_one(&self, hash: ContentHash) -> Result<Option<Blob>, BucketFault> {
        let name = object_of(&hash);
        let request = BucketRequest { action: BucketAction::Read, name: &name, body: &[] };
        let BucketReply::Done(bytes) = self.client.send(request, PATIENCE).await? else { return Ok(None) };
        let blob = Blob::new(bytes);
        if blob.hash() != hash {
            tracing::warn!(object = name, "an object of the bucket is ignored: its content does not match its name");
            return Ok(None);
        }
        Ok(Some(blob))
    }
}

impl std::fmt::Debug for BlobBucket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BlobBucket({})", self.client.address.shown)
    }
}

/// The name of a value.
fn object_of(hash: &ContentHash) -> String {
    let name = hash.to_string();
    format!("{}/{name}", &name[..2])
}

/// Writes, reads and deletes a small object. It must be gone then: a key that may not list a bucket is told that a missing
/// object is forbidden, and cannot know what is missing.
async fn try_out(client: &BucketClient, fresh: &str) -> Result<(), BucketFault> {
    let name = format!("updraft-check-{}", &hash_of(fresh.as_bytes()).to_string()[..16]);
    let body = fresh.as_bytes();
    let unreliable = |what| BucketFault::Unreliable { place: client.address.shown.clone(), what };
    let send = |action, body| client.send(BucketRequest { action, name: &name, body }, PATIENCE);
    send(BucketAction::Write, body).await?;
    if send(BucketAction::Read, &[]).await? != BucketReply::Done(body.to_vec()) {
        return Err(unreliable("what was written was not read again"));
    }
    send(BucketAction::Delete, &[]).await?;
    if send(BucketAction::Read, &[]).await? != BucketReply::Absent {
        return Err(unreliable("what was deleted can still be read"));
    }
    Ok(())
}

/// The text that says which bucket it is; a new one gets this one. If several begin at the same moment, one of them wins.
async fn kept_id(client: &BucketClient, fresh: &str) -> Result<String, BucketFault> {
    let send = |action, body| client.send(BucketRequest { action, name: MARK, body }, PATIENCE);
    let mut found = send(BucketAction::Read, &[]).await?;
    if found == BucketReply::Absent {
        let made = send(BucketAction::WriteNew, fresh.as_bytes()).await;
        match made {
            // Some stores cannot do that. Then two that begin at the same moment may not agree, and one is refused.
            Err(fault) if fault.is_unsupported() => send(BucketAction::Write, fresh.as_bytes()).await?,
            other => other?,
        };
        found = send(BucketAction::Read, &[]).await?;
    }
    let text = match found {
        BucketReply::Done(bytes) => String::from_utf8(bytes).unwrap_or_default().trim().to_owned(),
        BucketReply::Absent | BucketReply::Present => String::new(),
    };
    if is_id(&text) {
        return Ok(text);
    }
    Err(BucketFault::Setting {
        what: format!("the object `{MARK}` in {} is not one of Updraft's", client.address.shown),
        hint: "name another prefix with --blobs s3://BUCKET/PREFIX",
    })
}

/// Does the same with many things, some at a time; ends with the first fault.
async fn side_by_side<T, R, F>(things: Vec<T>, work: impl Fn(T) -> F) -> Result<Vec<R>, BucketFault>
where
    F: Future<Output = Result<R, BucketFault>> + Send + 'static,
    R: Send + 'static,
{
    let (mut waiting, mut going, mut done) = (things.into_iter(), JoinSet::new(), Vec::new());
    for thing in waiting.by_ref().take(AT_ONCE) {
        going.spawn(work(thing));
    }
    while let Some(one) = going.join_next().await {
        let lost = |_| BucketFault::Setting { what: "a request was cut off".to_owned(), hint: "start again" };
        done.push(one.map_err(lost)??);
        if let Some(thing) = waiting.next() {
            going.spawn(work(thing));
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests;
