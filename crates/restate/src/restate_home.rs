//! Restate as the home of runs: a worker's side of it.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use updraft_engine::{EffectFuture, Error, HomeAttachment, HomeDecision, HomeInputs, RunHome};
use updraft_run::{Record, RunId};

use crate::endpoint::{self, Endpoint};
use crate::hands::{Hands, Waker};
use crate::ingress::{CallFault, CallTarget, Ingress};
use crate::messages::{AdoptRequest, AdvanceRequest, LogEntry, ObjectHead, SentRecord};
use crate::run_log::{FoldedRuns, RunLog};
use crate::service_names::ServiceNames;

/// How long a worker that starts waits for Restate.
const PATIENCE: Duration = Duration::from_secs(30);

/// Where Restate is, and where it finds this worker.
#[derive(Clone, Debug)]
pub struct RestateOptions {
    /// The address of its ingress.
    pub ingress: String,
    /// The address of its admin interface.
    pub admin: String,
    /// The address that this worker listens at. It has to stay the same, since Restate goes on calling it.
    pub listen: SocketAddr,
    /// The worker's name.
    pub names: ServiceNames,
}

/// Keeps runs in Restate, and takes what it hands over.
pub struct RestateHome {
    ingress: Ingress,
    log: RunLog,
    hands: Arc<Hands>,
    /// Numbers the requests, so that each has a key of its own.
    requests: AtomicU64,
    /// Tells this process from others that attach to the same runs.
    process: u64,
    /// Serves the handlers.
    _serving: JoinSet<()>,
}

impl RestateHome {
    /// Serves the handlers, and registers them with Restate. Once `stop` is cancelled, nothing waits for it any more.
    pub async fn start(options: RestateOptions, stop: CancellationToken) -> Result<Self, CallFault> {
        let RestateOptions { ingress, admin, listen, names } = options;
        let no_listener =
            |error: std::io::Error| CallFault::Unreachable { url: listen.to_string(), why: error.to_string() };
        let listener = TcpListener::bind(listen).await.map_err(no_listener)?;
        let own = format!("http://{}", listener.local_addr().unwrap_or(listen));
        let ingress = Ingress::new(&ingress, stop.clone())?;
        let log = RunLog { ingress: ingress.clone(), names };
        let hands = Arc::new(Hands::default());
        let endpoint = Endpoint { log: log.clone(), folded: FoldedRuns::default(), hands: Arc::clone(&hands) };
        let mut serving = JoinSet::new();
        serving.spawn(endpoint::serve(listener, Arc::new(endpoint)));
        Ingress::new(&admin, stop)?.register(&own, PATIENCE).await?;
        let process = RandomState::new().build_hasher().finish();
        Ok(Self { ingress, log, hands, requests: AtomicU64::new(0), process, _serving: serving })
    }

    /// Says how a run is driven again for which something is handed over and that nobody drives.
    pub fn wake_with(&self, waker: Waker) {
        self.hands.wake_with(waker);
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
        self.ingress.call(target, body).await.map_err(|fault| engine_error(run, &fault))
    }

    fn request_key(&self, epoch: u64) -> String {
        format!("{epoch}-{}", self.requests.fetch_add(1, Ordering::Relaxed))
    }
}

fn engine_error(run: &RunId, fault: &CallFault) -> Error {
    match fault {
        CallFault::Refused { status: 409, .. } => updraft_journal::Error::Fenced(run.clone()).into(),
        other => Error::Home { run: run.clone(), what: other.to_string() },
    }
}

fn unwritable(run: &RunId, error: &serde_json::Error) -> Error {
    Error::Home { run: run.clone(), what: format!("a record cannot be written: {error}") }
}

impl RunHome for RestateHome {
    fn place(&self) -> String {
        format!("Restate at {} as `{}`", self.ingress.url(), self.log.names.runs())
    }

    fn attach<'a>(&'a self, run: &'a RunId) -> EffectFuture<'a, Result<HomeAttachment, Error>> {
        Box::pin(async move {
            // Before anything can be handed over to the new epoch.
            let handed = self.hands.drive(run);
            // With a key: an attempt that nobody waits for any more must not take the run away from the one after it.
            let key = format!("attach-{:x}-{}", self.process, self.requests.fetch_add(1, Ordering::Relaxed));
            let head: ObjectHead = self.call(run, "attach", &key, &Value::Null).await?;
            Ok(HomeAttachment { epoch: head.epoch, records: head.records, handed })
        })
    }

    fn adopt<'a>(&'a self, run: &'a RunId, epoch: u64, records: &'a [Record]) -> EffectFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let records: Result<Vec<SentRecord>, _> = records.iter().map(SentRecord::of).collect();
            let records = records.map_err(|error| unwritable(run, &error))?;
            let request = AdoptRequest { epoch, records };
            let _: LogEntry = self.call(run, "adopt", &self.request_key(epoch), &request).await?;
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

    fn records<'a>(&'a self, run: &'a RunId, from: u64, to: u64) -> EffectFuture<'a, Result<Vec<Record>, Error>> {
        Box::pin(async move {
            let read = self.log.records(run.as_str(), from, to, String::new()).await;
            read.map(|(records, _)| records).map_err(|fault| engine_error(run, &fault))
        })
    }
}
