//! The limits of models that all workers of a Restate server keep together.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use updraft_models::{LimitFuture, RateLimit, SharedLimits};
use updraft_restate::{LimitDesk, LimitTerms};

/// How long to wait before asking again when nobody answered.
const UNANSWERED: Duration = Duration::from_secs(1);

/// Asks Restate before a limited request is sent.
pub(super) struct RestateLimits {
    desk: LimitDesk,
    ended: mpsc::UnboundedSender<EndedRequest>,
    /// Says which requests are over.
    _telling: JoinSet<()>,
}

struct EndedRequest {
    account: String,
    request: String,
    tokens: Option<u64>,
}

impl RestateLimits {
    pub(super) fn new(desk: LimitDesk) -> Self {
        let (ended, mut ends) = mpsc::unbounded_channel::<EndedRequest>();
        let (mut telling, own) = (JoinSet::new(), desk.clone());
        telling.spawn(async move {
            while let Some(EndedRequest { account, request, tokens }) = ends.recv().await {
                if let Err(fault) = own.end(&account, &request, tokens).await {
                    tracing::debug!(%fault, "a request counts as running until its time is over");
                }
            }
        });
        Self { desk, ended, _telling: telling }
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
                Ok(wait) => wait,
                Err(fault) => {
                    tracing::debug!(%fault, "the limits of all workers are not known now");
                    Some(UNANSWERED)
                }
            }
        })
    }

    fn end(&self, account: &str, request: &str, tokens: Option<u64>) {
        let ended = EndedRequest { account: account.to_owned(), request: request.to_owned(), tokens };
        // If the process is ending, the request counts until its time is over.
        let _ = self.ended.send(ended);
    }
}
