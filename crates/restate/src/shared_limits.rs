//! Asks the object `Limits` whether a request to a model may be sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sha2::{Digest, Sha256};
use updraft_run::ContentHash;

use crate::ingress::{CallFault, CallTarget};
use crate::limits_object::{AskRequest, EndRequest, LIMITS, LimitTerms, wait_of};
use crate::worker::{RestateWorker, WorkerConnection};

/// How long one answer may take; whoever waits asks again.
const ANSWER: Duration = Duration::from_secs(10);

/// The limits that all workers of a Restate server keep together. Cheap to clone.
#[derive(Clone)]
pub struct LimitDesk {
    connection: Arc<WorkerConnection>,
    requests: Arc<AtomicU64>,
}

impl RestateWorker {
    /// The limits that all workers keep together.
    pub fn limits(&self) -> LimitDesk {
        LimitDesk { connection: Arc::clone(self.connection()), requests: Arc::default() }
    }
}

impl LimitDesk {
    /// An id for a request, which no other has.
    pub fn new_request(&self) -> String {
        format!("{}-{}", self.connection.process, self.requests.fetch_add(1, Ordering::Relaxed))
    }

    /// Asks whether a request may be sent now; if not, how long to wait before asking again. `account` names the model and
    /// the key; only its hash leaves this process.
    pub async fn ask(
        &self,
        account: &str,
        terms: &LimitTerms,
        tokens: u64,
        request: &str,
    ) -> Result<Option<Duration>, CallFault> {
        let body = AskRequest { id: request.to_owned(), tokens, terms: terms.clone() };
        let key = key_of(account);
        let target = CallTarget { service: LIMITS, key: &key, handler: "ask", idempotency: None };
        self.connection.ingress.call_within(target, &body, Some(ANSWER)).await.map(wait_of)
    }

    /// Says that a request is over.
    pub async fn end(&self, account: &str, request: &str, tokens: Option<u64>) -> Result<(), CallFault> {
        let (key, body) = (key_of(account), EndRequest { id: request.to_owned(), tokens });
        let target = CallTarget { service: LIMITS, key: &key, handler: "end", idempotency: None };
        let _: u64 = self.connection.ingress.call_within(target, &body, Some(ANSWER)).await?;
        Ok(())
    }
}

fn key_of(account: &str) -> String {
    ContentHash(Sha256::digest(account.as_bytes()).into()).to_string()
}
