//! Reads a run's log back from Restate, and keeps folded runs so that this is rarely needed.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::Instant;
use updraft_run::Record;

use crate::ingress::{CallFault, CallTarget, Ingress};
use crate::messages::{LogEntry, ObjectHead};
use crate::runs_object::{FoldedRun, HandlerFault};
use crate::service_names::ServiceNames;

/// An entry is written right after the state of its run, so it may be missing for a moment.
const READS: u32 = 200;
const BETWEEN_READS: Duration = Duration::from_millis(25);
/// How many entries are asked for at the same time, if there are many. Most have one record, so their keys can be guessed.
const AT_ONCE: u64 = 16;
/// How many folded runs are kept; further ones are read again.
const MOST_FOLDED: usize = 256;

/// How many records are read before it is looked at the clock, and how long these may take.
const PIECE: u64 = 128;
const PIECE_TIME: Duration = Duration::from_secs(10);
/// How long a handler reads. Restate aborts one that takes longer than forty seconds, and would do so again at each attempt;
/// so what was read until then is kept, and the next attempt goes on from there.
const READING: Duration = Duration::from_secs(10);

/// Reads entries of logs.
#[derive(Clone, Debug)]
pub(crate) struct RunLog {
    pub(crate) ingress: Ingress,
    pub(crate) names: ServiceNames,
}

impl RunLog {
    /// The records from one place up to another, with the hash they lead to from `digest`. There are more if an entry goes
    /// beyond the last place.
    pub(crate) async fn records(
        &self,
        run: &str,
        from: u64,
        to: u64,
        mut digest: String,
    ) -> Result<(Vec<Record>, String), CallFault> {
        let mut ahead: BTreeMap<u64, LogEntry> = BTreeMap::new();
        let mut records = Vec::new();
        let mut at = from;
        while at < to {
            // Those before were guessed wrongly, or are read.
            ahead = ahead.split_off(&at);
            if ahead.is_empty() && to - at >= AT_ONCE {
                ahead = self.entries_ahead(run, at).await?;
            }
            let entry = match ahead.remove(&at) {
                Some(entry) => entry,
                None => self.entry(run, at).await?,
            };
            for decided in entry.decided.iter().filter(|decided| decided.is_kept) {
                let record = decided.record.read().map_err(|error| CallFault::Unreadable(error.to_string()))?;
                digest = decided.record.chained(&digest);
                records.push(record);
                at += 1;
            }
            if at == entry.before {
                return Err(CallFault::Unreadable(format!("the log of run `{run}` ends at record {at}")));
            }
        }
        Ok((records, digest))
    }

    /// The entries from this place on that are found at once, by their places.
    async fn entries_ahead(&self, run: &str, at: u64) -> Result<BTreeMap<u64, LogEntry>, CallFault> {
        let mut reading = JoinSet::new();
        for before in at..at + AT_ONCE {
            let (log, run) = (self.clone(), run.to_owned());
            reading.spawn(async move { log.stored(&run, before).await.map(|entry| (before, entry)) });
        }
        let mut entries = BTreeMap::new();
        while let Some(read) = reading.join_next().await {
            let (before, entry) = read.map_err(|error| CallFault::Unreadable(error.to_string()))??;
            entries.extend(entry.map(|entry| (before, entry)));
        }
        Ok(entries)
    }

    async fn entry(&self, run: &str, before: u64) -> Result<LogEntry, CallFault> {
        for _ in 0..READS {
            if let Some(entry) = self.stored(run, before).await? {
                return Ok(entry);
            }
            tokio::time::sleep(BETWEEN_READS).await;
        }
        Err(CallFault::Unreadable(format!("record {before} of run `{run}` is missing in its log")))
    }

    async fn stored(&self, run: &str, before: u64) -> Result<Option<LogEntry>, CallFault> {
        let (service, key) = (self.names.log(), ServiceNames::log_key(run, before));
        let target = CallTarget { service: &service, key: &key, handler: "read", idempotency: None };
        self.ingress.call(target, &Value::Null).await
    }
}

/// The runs that were decided about last, and those that are being read.
#[derive(Debug, Default)]
pub(crate) struct FoldedRuns(Mutex<KeptRuns>);

#[derive(Debug, Default)]
struct KeptRuns {
    /// The number of the last that was kept.
    last: u64,
    /// The runs by id, with their numbers.
    runs: BTreeMap<String, (u64, FoldedRun)>,
}

impl FoldedRuns {
    /// The run as its object stands: taken out of the cache if it is there, otherwise read. A long one may take several
    /// attempts.
    pub(crate) async fn take(&self, log: &RunLog, run: &str, head: ObjectHead) -> Result<FoldedRun, HandlerFault> {
        self.take_within(log, run, head, READING).await
    }

    async fn take_within(
        &self,
        log: &RunLog,
        run: &str,
        head: ObjectHead,
        patience: Duration,
    ) -> Result<FoldedRun, HandlerFault> {
        let begun = Instant::now();
        let kept = self.kept().runs.remove(run).map(|(_, kept)| kept);
        let kept = kept.filter(|kept| kept.head.digest == head.digest || kept.head.records < head.records);
        let (mut is_continued, mut folded) = (kept.is_some(), kept.unwrap_or_default());
        loop {
            while folded.head.records < head.records {
                if let Err(why) = read_piece(log, run, &mut folded, &head).await {
                    self.insert(run, folded);
                    return Err(HandlerFault::Later(why));
                }
                if folded.head.records < head.records && begun.elapsed() >= patience {
                    let why = format!("{} of {} records of run `{run}` are read", folded.head.records, head.records);
                    self.insert(run, folded);
                    return Err(HandlerFault::Later(why));
                }
            }
            if folded.head.digest == head.digest {
                return Ok(FoldedRun { head, ..folded });
            }
            if !is_continued {
                return Err(HandlerFault::Refused(422, format!("the log of run `{run}` is not what was written")));
            }
            // It began with a decision that was not stored.
            (is_continued, folded) = (false, FoldedRun::default());
        }
    }

    /// Keeps a run after a decision. Should the decision not be stored, the hash will not fit, and it is read again.
    pub(crate) fn keep(&self, run: &str, folded: FoldedRun) {
        if !folded.run.is_over() {
            self.insert(run, folded);
        }
    }

    /// Keeps a run in the place of the one that was kept longest ago, if there are too many.
    fn insert(&self, run: &str, folded: FoldedRun) {
        let mut kept = self.kept();
        kept.last += 1;
        let number = kept.last;
        kept.runs.insert(run.to_owned(), (number, folded));
        if kept.runs.len() > MOST_FOLDED
            && let Some(oldest) = kept.runs.iter().min_by_key(|(_, (number, _))| *number).map(|(run, _)| run.clone())
        {
            kept.runs.remove(&oldest);
        }
    }

    fn kept(&self) -> MutexGuard<'_, KeptRuns> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the next records of a run, at most up to this head.
async fn read_piece(log: &RunLog, run: &str, folded: &mut FoldedRun, head: &ObjectHead) -> Result<(), String> {
    let (from, to) = (folded.head.records, head.records.min(folded.head.records + PIECE));
    let reading = log.records(run, from, to, folded.head.digest.clone());
    let read = tokio::time::timeout(PIECE_TIME, reading).await;
    let read = read.map_err(|_| format!("the records of run `{run}` from {from} on cannot be read now"))?;
    let (records, digest) = read.map_err(|fault| fault.to_string())?;
    for record in &records {
        folded.run.record(record);
    }
    (folded.head.records, folded.head.digest) = (from + records.len() as u64, digest);
    Ok(())
}

#[cfg(test)]
mod tests;
