//! Calls handlers through Restate's ingress, and registers the worker at its admin address.

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

/// The first wait after a failed attempt; each further one is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(50);
/// The longest wait: a node that is back is used soon.
const LONGEST_WAIT: Duration = Duration::from_secs(1);
/// How long one attempt may take. Handlers take milliseconds, but may have to wait for their turn.
const ATTEMPT: Duration = Duration::from_secs(30);

/// How long an attempt may take when the process is stopping.
const LAST_ATTEMPT: Duration = Duration::from_secs(3);

/// Why a call had no result.
#[derive(Debug, thiserror::Error)]
pub enum CallFault {
    /// The handler refused it for good.
    #[error("{why}")]
    Refused {
        /// The status of HTTP.
        status: u16,
        /// The reason.
        why: String,
    },
    /// Restate could not be reached until the process had to stop, or for too long.
    #[error("Restate cannot be reached at {url}: {why}")]
    Unreachable {
        /// The address.
        url: String,
        /// What happened at the last attempt.
        why: String,
    },
    /// The result, or the request, is not what was expected.
    #[error("a message of Restate cannot be read: {0}")]
    Unreadable(String),
}

/// A client of one Restate server. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Ingress {
    client: reqwest::Client,
    url: String,
    stop: CancellationToken,
}

/// The handler that is called, and the key by which Restate recognises a repeated call.
#[derive(Clone, Debug)]
pub(crate) struct CallTarget<'a> {
    pub(crate) service: &'a str,
    pub(crate) key: &'a str,
    pub(crate) handler: &'a str,
    pub(crate) idempotency: Option<&'a str>,
}

impl Ingress {
    /// A client that gives up when `stop` is cancelled.
    pub(crate) fn new(url: &str, stop: CancellationToken) -> Result<Self, CallFault> {
        // Fails if another provider was chosen before, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().timeout(ATTEMPT).tcp_nodelay(true).build();
        let client = client.map_err(|error| unreachable_at(url, &error))?;
        Ok(Self { client, url: url.trim_end_matches('/').to_owned(), stop })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Calls a handler until there is a result: Restate may be restarting.
    pub(crate) async fn call<T: DeserializeOwned>(
        &self,
        target: CallTarget<'_>,
        body: &impl Serialize,
    ) -> Result<T, CallFault> {
        let CallTarget { service, key, handler, idempotency } = target;
        let url = format!("{}/{service}/{key}/{handler}", self.url);
        let body = serde_json::to_vec(body).map_err(|error| CallFault::Unreadable(error.to_string()))?;
        let reply = self.post(&url, body, idempotency, None).await?;
        serde_json::from_slice(&reply).map_err(|error| CallFault::Unreadable(error.to_string()))
    }

    /// Registers a worker at the admin address, so that Restate finds its handlers.
    pub(crate) async fn register(&self, worker: &str, patience: Duration) -> Result<(), CallFault> {
        let body = serde_json::json!({ "uri": worker, "use_http_11": true, "force": true });
        let url = format!("{}/deployments", self.url);
        self.post(&url, body.to_string().into_bytes(), None, Some(patience)).await.map(drop)
    }

    /// Returns some time after the process was told to stop.
    async fn out_of_patience(&self) {
        self.stop.cancelled().await;
        tokio::time::sleep(LAST_ATTEMPT).await;
    }

    async fn post(
        &self,
        url: &str,
        body: Vec<u8>,
        idempotency: Option<&str>,
        patience: Option<Duration>,
    ) -> Result<Vec<u8>, CallFault> {
        let begun = tokio::time::Instant::now();
        let mut wait = FIRST_WAIT;
        loop {
            let mut request = self.client.post(url).header("content-type", "application/json").body(body.clone());
            if let Some(key) = idempotency {
                request = request.header("idempotency-key", key);
            }
            let tried = tokio::select! {
                tried = attempt(request) => tried,
                () = self.out_of_patience() => Err(unreachable_since_stopping()),
            };
            let why = match tried {
                Ok(reply) => return Ok(reply),
                Err(CallFault::Unreachable { why, .. }) => why,
                Err(other) => return Err(other),
            };
            tracing::debug!(url, why, "Restate was not reached");
            let is_late = patience.is_some_and(|patience| begun.elapsed() >= patience);
            if is_late || self.stop.is_cancelled() {
                return Err(CallFault::Unreachable { url: self.url.clone(), why });
            }
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = self.stop.cancelled() => {}
            }
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }
}

fn unreachable_since_stopping() -> CallFault {
    CallFault::Unreachable { url: String::new(), why: "this process is stopping".to_owned() }
}

async fn attempt(request: reqwest::RequestBuilder) -> Result<Vec<u8>, CallFault> {
    let reply = request.send().await.map_err(|error| unreachable_at("", &error))?;
    let status = reply.status();
    let body = reply.bytes().await.map_err(|error| unreachable_at("", &error))?;
    let why = || {
        let said: Option<serde_json::Value> = serde_json::from_slice(&body).ok();
        let message = said.as_ref().and_then(|said| said["message"].as_str());
        message.map_or_else(|| String::from_utf8_lossy(&body).into_owned(), ToOwned::to_owned)
    };
    match status.as_u16() {
        200..300 => Ok(body.to_vec()),
        // Restate itself is starting, or has too much to do.
        408 | 429 | 500.. => Err(CallFault::Unreachable { url: String::new(), why: format!("{status}: {}", why()) }),
        status => Err(CallFault::Refused { status, why: why() }),
    }
}

fn unreachable_at(url: &str, error: &reqwest::Error) -> CallFault {
    CallFault::Unreachable { url: url.to_owned(), why: updraft_run::error_chain(error) }
}
