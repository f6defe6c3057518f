//! Restate as the home of runs: a worker's side of it, for one workspace.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::Value;
use updraft_engine::{EffectFuture, Error, HomeAttachment, HomeDecision, HomeInputs, RunHome};
use updraft_journal::Blob;
use updraft_run::{Record, RunId};

use crate::changes::ChangeLog;
use crate::hands::{Hands, RunStarter, Waker};
use crate::hosted_workspace::HostedWorkspace;
use crate::ingress::{CallFault, CallTarget};
use crate::messages::{AdoptRequest, AdvanceRequest, AttachRequest, LogEntry, ObjectHead, SentRecord};
use crate::run_log::RunLog;
use crate::service_names::ServiceNames;
use crate::worker::WorkerConnection;

/// How often a run is asked for again that was refused: a node that has not heard yet of this worker asks the one before it.
const REFUSALS: u32 = 3;
const BETWEEN_REFUSALS: Duration = Duration::from_millis(500);
/// How many bytes of records are sent at once: Restate refuses messages of more than 32 MiB.
const LARGEST_PIECE: usize = 8 << 20;

/// Keeps the runs of one workspace in Restate, and takes what it hands over.
pub struct RestateHome {
    pub(crate) connection: Arc<WorkerConnection>,
    /// The workspace's id.
    pub(crate) workspace: String,
    pub(crate) log: RunLog,
    pub(crate) hands: Arc<Hands>,
    pub(crate) changes: Arc<ChangeLog>,
    /// Numbers the requests, so that each has a key of its own.
    requests: AtomicU64,
}

impl RestateHome {
    pub(crate) fn new(connection: Arc<WorkerConnection>, workspace: String, hosted: &HostedWorkspace) -> Self {
        let HostedWorkspace { log, hands, changes, .. } = hosted;
        let (hands, changes) = (Arc::clone(hands), Arc::clone(changes));
        Self { connection, workspace, log: log.clone(), hands, changes, requests: AtomicU64::new(0) }
    }

    /// The names of its services.
    pub fn names(&self) -> &ServiceNames {
        &self.log.names
    }

    /// The id of the workspace.
    pub fn workspace(&self) -> &str {
        &self.workspace
    }

    /// Says how a run is driven again for which something is handed over and that nobody drives, and how runs are started
    /// that others order.
    pub fn serve_with(&self, waker: Waker, starter: RunStarter) {
        self.hands.serve_with(waker, starter);
    }

    async fn call<T: serde::de::DeserializeOwned>(
        &self,
        run: &RunId,
        handler: &str,
        key: &str,
        body: &impl serde::Serialize,
    ) -> Result<T, Error> {
        let service = self.log.names.runs();
        let target = CallTarget { service: &service, key: run.as_str(), handler, idempotency: Some(key) };
        self.log.ingress.call(target, body).await.map_err(|fault| engine_error(run, &fault))
    }

    fn request_key(&self, epoch: u64) -> String {
        format!("{epoch}-{}", self.requests.fetch_add(1, Ordering::Relaxed))
    }
}

pub(crate) fn engine_error(run: &RunId, fault: &CallFault) -> Error {
    match fault {
        CallFault::Refused { status: 409, .. } => updraft_journal::Error::Fenced(run.clone()).into(),
        other => Error::Home { run: run.clone(), what: other.to_string() },
    }
}

/// Records in pieces of at most this many bytes, but at least one record each.
fn in_pieces(records: Vec<SentRecord>, largest: usize) -> Vec<Vec<SentRecord>> {
    let (mut pieces, mut room): (Vec<Vec<SentRecord>>, usize) = (Vec::new(), 0);
    for record in records {
        let size = record.size();
        match pieces.last_mut() {
            Some(piece) if size <= room => piece.push(record),
            _ => {
                pieces.push(vec![record]);
                room = largest;
            }
        }
        room = room.saturating_sub(size);
    }
    pieces
}

fn unwritable(run: &RunId, error: &serde_json::Error) -> Error {
    Error::Home { run: run.clone(), what: format!("a record cannot be written: {error}") }
}

/// Where runs of a worker have their home, for people.
pub(crate) fn place_of(url: &str, names: &ServiceNames) -> String {
    format!("Restate at {url} as `{}`", names.runs())
}

impl RunHome for RestateHome {
    fn place(&self) -> String {
        place_of(self.log.ingress.url(), &self.log.names)
    }

    fn has(&self, place: &str) -> bool {
        // The address may change, the worker may not.
        place.ends_with(&format!("`{}`", self.log.names.runs()))
    }

    fn keep_blobs<'a>(&'a self, run: &'a RunId, blobs: &'a [Blob]) -> EffectFuture<'a, Result<(), Error>> {
        Box::pin(self.connection.keep_blobs(run, blobs))
    }

    fn blobs_in<'a>(&'a self, run: &'a RunId, records: &'a [Record]) -> EffectFuture<'a, Result<Vec<Blob>, Error>> {
        Box::pin(self.connection.blobs_in(run, records))
    }

    fn attach<'a>(&'a self, run: &'a RunId) -> EffectFuture<'a, Result<HomeAttachment, Error>> {
        Box::pin(async move {
            // Before anything can be handed over to the new epoch.
            let handed = self.hands.drive(run);
            let request = AttachRequest { machine: self.connection.machine.clone() };
            let mut refusals = 0;
            let head: ObjectHead = loop {
                // With a key: an attempt that nobody waits for any more must not take the run away from the one after it.
                let number = self.requests.fetch_add(1, Ordering::Relaxed);
                let key = format!("attach-{}-{number}", self.connection.process);
                let asked = self.call(run, "attach", &key, &request).await;
                let is_refused = matches!(asked, Err(Error::Journal(updraft_journal::Error::Fenced(_))));
                if !is_refused || refusals == REFUSALS || !self.log.ingress.waits(BETWEEN_REFUSALS).await {
                    break asked?;
                }
                refusals += 1;
            };
            // What was cut off while it was sent in pieces is sent again from the start.
            let records = if head.is_partial { 0 } else { head.records };
            Ok(HomeAttachment { epoch: head.epoch, records, handed })
        })
    }

    fn adopt<'a>(&'a self, run: &'a RunId, epoch: u64, records: &'a [Record]) -> EffectFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let records: Result<Vec<SentRecord>, _> = records.iter().map(SentRecord::of).collect();
            let pieces = in_pieces(records.map_err(|error| unwritable(run, &error))?, LARGEST_PIECE);
            let (mut from, count) = (0, pieces.len());
            for (number, records) in pieces.into_iter().enumerate() {
                let sent = records.len() as u64;
                let request = AdoptRequest { epoch, from, records, is_partial: number + 1 < count };
                let _: LogEntry = self.call(run, "adopt", &self.request_key(epoch), &request).await?;
                from += sent;
            }
            Ok(())
        })
    }

    fn advance<'a>(
        &'a self,
        run: &'a RunId,
        epoch: u64,
        inputs: HomeInputs,
    ) -> EffectFuture<'a, Result<HomeDecision, Error>> {
        Box::pin(async move {
            let HomeInputs { inputs, key } = inputs;
            let inputs: Result<Vec<SentRecord>, _> =
                inputs.into_iter().map(|(at, input)| SentRecord::of_input(at, input)).collect();
            let request = AdvanceRequest { epoch, inputs: inputs.map_err(|error| unwritable(run, &error))? };
            let key = key.unwrap_or_else(|| self.request_key(epoch));
            let entry: LogEntry = self.call(run, "advance", &key, &request).await?;
            let decided: Result<Vec<(Record, bool)>, serde_json::Error> =
                entry.decided.iter().map(|one| Ok((one.record.read()?, one.is_kept))).collect();
            let decided = decided.map_err(|error| unwritable(run, &error))?;
            Ok(HomeDecision { before: entry.before, decided })
        })
    }

    fn confirm<'a>(&'a self, run: &'a RunId, epoch: u64) -> EffectFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let service = self.log.names.runs();
            // Without a key: what was true when it was asked before does not count.
            let target = CallTarget { service: &service, key: run.as_str(), handler: "head", idempotency: None };
            let head: Result<ObjectHead, CallFault> = self.log.ingress.call(target, &Value::Null).await;
            let head = head.map_err(|fault| engine_error(run, &fault))?;
            if head.epoch == epoch { Ok(()) } else { Err(updraft_journal::Error::Fenced(run.clone()).into()) }
        })
    }

    fn records<'a>(&'a self, run: &'a RunId, from: u64, to: u64) -> EffectFuture<'a, Result<Vec<Record>, Error>> {
        Box::pin(async move {
            let read = self.log.records(run.as_str(), from, to, String::new()).await;
            read.map(|(records, _)| records).map_err(|fault| engine_error(run, &fault))
        })
    }
}

#[cfg(test)]
mod tests {
    use updraft_run::{Input, Timestamp};

    use super::*;

    #[test]
    fn many_records_are_sent_in_pieces_and_a_large_one_alone() {
        let record =
            |length: &usize| SentRecord::of_input(Timestamp(1), Input::Tell { message: "x".repeat(*length) }).unwrap();
        let size = record(&100).size();
        let sizes = |lengths: &[usize], largest| -> Vec<usize> {
            in_pieces(lengths.iter().map(record).collect(), largest).iter().map(Vec::len).collect()
        };
        assert_eq!(sizes(&[], 1), [0; 0]);
        assert_eq!(sizes(&[100, 100, 100], 1_000_000), [3]);
        assert_eq!(sizes(&[100, 100, 5000, 100, 100, 100, 100, 100, 100, 100, 100], 6 * size + 1), [2, 1, 6, 2]);
    }
}
