//! The limits of models that all workers of a Restate server keep together.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use updraft_models::{LimitFuture, RateLimit, SharedLimits};
use updraft_restate::{LimitDesk, LimitTerms};

/// How long to wait before asking again when nobody answered.
const UNANSWERED: Duration = Duration::from_secs(1);

/// How often it is said that a request still runs. One of which nothing is heard for a minute counts as lost.
const STILL_RUNS: Duration = Duration::from_secs(20);

/// Asks Restate before a limited request is sent.
pub(super) struct RestateLimits {
    desk: LimitDesk,
    ended: mpsc::UnboundedSender<EndedRequest>,
    running: RunningRequests,
    /// Says which requests are over, and which still run.
    _telling: JoinSet<()>,
}

/// The accounts and terms of requests that run, by their ids.
#[derive(Clone, Default)]
struct RunningRequests(Arc<Mutex<BTreeMap<String, (String, LimitTerms)>>>);

impl RunningRequests {
    fn all(&self) -> MutexGuard<'_, BTreeMap<String, (String, LimitTerms)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct EndedRequest {
    account: String,
    request: String,
    tokens: Option<u64>,
}

impl RestateLimits {
    pub(super) fn new(desk: LimitDesk) -> Self {
        let (ended, mut ends) = mpsc::unbounded_channel::<EndedRequest>();
        let (mut telling, own, running) = (JoinSet::new(), desk.clone(), RunningRequests::default());
        telling.spawn(say_what_runs(desk.clone(), running.clone()));
        telling.spawn(async move {
            while let Some(EndedRequest { account, request, tokens }) = ends.recv().await {
                if let Err(fault) = own.end(&account, &request, tokens).await {
                    tracing::debug!(%fault, "a request counts as running until its time is over");
                }
            }
        });
        Self { desk, ended, running, _telling: telling }
    }
}

async fn say_what_runs(desk: LimitDesk, running: RunningRequests) {
    loop {
        tokio::time::sleep(STILL_RUNS).await;
        let all = running.all().clone();
        for (request, (account, terms)) in all {
            // It may have ended meanwhile.
            if !running.all().contains_key(&request) {
                continue;
            }
            if let Err(fault) = desk.ask(&account, &terms, 0, &request).await {
                tracing::debug!(%fault, "a request may be taken for lost");
            }
        }
    }
}

impl SharedLimits for RestateLimits {
    fn new_request(&self) -> String {
        self.desk.new_request()
    }

    fn ask<'a>(&'a self, account: &'a str, limit: &'a RateLimit, tokens: u64, request: &'a str) -> LimitFuture<'a> {
        let terms = LimitTerms {
            requests: limit.requests,
            tokens: limit.tokens,
            spacing: u64::try_from(limit.spacing.as_millis()).unwrap_or(u64::MAX),
            concurrency: limit.concurrency,
        };
        Box::pin(async move {
            match self.desk.ask(account, &terms, tokens, request).await {
                Ok(None) => {
                    self.running.all().insert(request.to_owned(), (account.to_owned(), terms));
                    None
                }
                Ok(wait) => wait,
                Err(fault) => {
                    tracing::debug!(%fault, "the limits of all workers are not known now");
                    Some(UNANSWERED)
                }
            }
        })
    }

    fn end(&self, account: &str, request: &str, tokens: Option<u64>) {
        self.running.all().remove(request);
        let ended = EndedRequest { account: account.to_owned(), request: request.to_owned(), tokens };
        // If the process is ending, the request counts until its time is over.
        let _ = self.ended.send(ended);
    }
}
