//! A run's log as Restate keeps it, served on loopback: for tests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::routing::post;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use updraft_run::{
    AgentCard, Budget, EarlierRuns, Goal, Input, Roster, Run, RunMode, RunSettings, RunStart, Timestamp,
};

use crate::ingress::Ingress;
use crate::messages::{AdoptRequest, LogEntry, ObjectHead, SentRecord, TellRequest};
use crate::run_log::RunLog;
use crate::runs_object::{FoldedRun, adopt, json, tell};
use crate::service_names::ServiceNames;

/// The id of the run.
pub(crate) const RUN: &str = "r1";

/// The log of a run as Restate keeps it, and how often each entry was read.
#[derive(Default)]
pub(crate) struct KeptLog {
    pub(crate) entries: BTreeMap<String, Vec<u8>>,
    pub(crate) reads: Mutex<BTreeMap<String, u32>>,
}

async fn read(State(log): State<Arc<KeptLog>>, Path((_, key, _)): Path<(String, String, String)>) -> Bytes {
    let entry = log.entries.get(&key).cloned().unwrap_or_else(|| b"null".to_vec());
    *log.reads.lock().unwrap().entry(key).or_default() += 1;
    Bytes::from(entry)
}

fn started() -> SentRecord {
    let agents = vec![AgentCard { name: "doer".into(), ..AgentCard::default() }];
    let start = RunStart {
        goal: Goal { text: "do it".into(), mode: RunMode::Agent("doer".into()), ..Goal::default() },
        roster: Arc::new(Roster { agents, ..Roster::default() }),
        settings: Arc::new(RunSettings::default()),
        budget: Budget::default(),
        plan: None,
        earlier: EarlierRuns::default(),
    };
    SentRecord::of(&Run::default().advance(Input::Start(Box::new(start)), Timestamp(1))).unwrap()
}

/// A run with this many messages and an entry for each, but for two together in between.
pub(crate) fn long_run(messages: u64) -> (KeptLog, FoldedRun) {
    let mut log = KeptLog::default();
    let mut keep = |entry: &LogEntry| {
        log.entries.insert(ServiceNames::log_key(RUN, entry.before), json(entry).unwrap());
    };
    let request = AdoptRequest { epoch: 1, from: 0, records: vec![started()], is_partial: false };
    let head = ObjectHead { epoch: 1, ..ObjectHead::default() };
    let (entry, mut folded) = adopt(request, FoldedRun { head, ..FoldedRun::default() }).unwrap();
    keep(&entry);
    let mut before: Option<LogEntry> = None;
    for number in 0..messages {
        let input = Input::Tell { message: format!("message {number}") };
        let (mut entry, after) = tell(TellRequest { at: Timestamp(2), input }, folded).unwrap();
        assert_eq!(entry.head.records, entry.before + 1, "it is kept");
        folded = after;
        if let Some(first) = before.take() {
            entry = LogEntry { before: first.before, decided: [first.decided, entry.decided].concat(), ..entry };
        }
        if number % 100 == 50 {
            before = Some(entry);
        } else {
            keep(&entry);
        }
    }
    (log, folded)
}

pub(crate) async fn serve(log: KeptLog) -> (RunLog, Arc<KeptLog>, JoinSet<()>) {
    let (kept, mut serving) = (Arc::new(log), JoinSet::new());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().route("/{service}/{key}/{handler}", post(read)).with_state(Arc::clone(&kept));
    serving.spawn(async move { axum::serve(listener, router).await.unwrap() });
    let ingress = Ingress::new(&format!("http://{address}"), None, CancellationToken::new()).unwrap();
    (RunLog { ingress, names: ServiceNames::new("w1").unwrap() }, kept, serving)
}
