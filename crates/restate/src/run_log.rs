//! Reads a run's log back from Restate, and keeps folded runs so that this is rarely needed.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use updraft_run::{Record, Run};

use crate::ingress::{CallFault, CallTarget, Ingress};
use crate::messages::{LogEntry, ObjectHead};
use crate::runs_object::{FoldedRun, HandlerFault};
use crate::service_names::ServiceNames;

/// An entry is written right after the state of its run, so it may be missing for a moment.
const READS: u32 = 200;
const BETWEEN_READS: Duration = Duration::from_millis(25);
/// How many folded runs are kept; further ones are read again.
const MOST_FOLDED: usize = 256;

/// Reads entries of logs.
#[derive(Clone, Debug)]
pub(crate) struct RunLog {
    pub(crate) ingress: Ingress,
    pub(crate) names: ServiceNames,
}

impl RunLog {
    /// The records from one place up to another, with the hash they lead to from `digest`.
    pub(crate) async fn records(
        &self,
        run: &str,
        from: u64,
        to: u64,
        mut digest: String,
    ) -> Result<(Vec<Record>, String), CallFault> {
        let mut records = Vec::new();
        let mut at = from;
        while at < to {
            let entry = self.entry(run, at).await?;
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

    async fn entry(&self, run: &str, before: u64) -> Result<LogEntry, CallFault> {
        let (service, key) = (self.names.log(), ServiceNames::log_key(run, before));
        for _ in 0..READS {
            let target = CallTarget { service: &service, key: &key, handler: "read", idempotency: None };
            let found: Option<LogEntry> = self.ingress.call(target, &Value::Null).await?;
            if let Some(entry) = found {
                return Ok(entry);
            }
            tokio::time::sleep(BETWEEN_READS).await;
        }
        Err(CallFault::Unreadable(format!("record {before} of run `{run}` is missing in its log")))
    }
}

/// The runs that were decided about last.
#[derive(Debug, Default)]
pub(crate) struct FoldedRuns(Mutex<BTreeMap<String, FoldedRun>>);

impl FoldedRuns {
    /// The run as its object stands: taken out of the cache if it is there, otherwise read.
    pub(crate) async fn take(&self, log: &RunLog, run: &str, head: ObjectHead) -> Result<FoldedRun, HandlerFault> {
        let kept = self.folded().remove(run);
        if let Some(kept) = kept.filter(|kept| kept.head.digest == head.digest) {
            return Ok(FoldedRun { head, ..kept });
        }
        let (records, digest) = log
            .records(run, 0, head.records, String::new())
            .await
            .map_err(|fault| HandlerFault::Later(fault.to_string()))?;
        if digest != head.digest {
            return Err(HandlerFault::Refused(422, format!("the log of run `{run}` is not what was written")));
        }
        Ok(FoldedRun { head, run: Run::fold(records) })
    }

    /// Keeps a run after a decision. Should the decision not be stored, the hash will not fit, and it is read again.
    pub(crate) fn keep(&self, run: &str, folded: FoldedRun) {
        let mut runs = self.folded();
        if runs.len() >= MOST_FOLDED {
            runs.pop_first();
        }
        if !folded.run.is_over() {
            runs.insert(run.to_owned(), folded);
        }
    }

    fn folded(&self) -> MutexGuard<'_, BTreeMap<String, FoldedRun>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
