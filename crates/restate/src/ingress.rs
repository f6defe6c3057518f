//! Calls handlers through Restate's ingress, registers the worker at its admin address, and asks there what it keeps.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

/// The first wait after a failed attempt; each further one is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(50);
/// The longest wait: a node that is back is used soon.
const LONGEST_WAIT: Duration = Duration::from_secs(1);
/// How long one attempt may take. Handlers take milliseconds, but may have to wait for their turn; whoever asks again with
/// the same key waits for the same turn. A node that is cut off answers nothing, and another may be asked then.
const ATTEMPT: Duration = Duration::from_secs(10);
/// How long it may take until a node accepts a connection.
const CONNECT: Duration = Duration::from_secs(2);

/// How long an attempt may take when the process is stopping.
const LAST_ATTEMPT: Duration = Duration::from_secs(3);

/// What Restate calls it when a worker that registers does not describe its handlers.
const WORKER_REFUSED: &str = "META0003";

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

/// A client of one Restate server, or of the nodes of a cluster. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Ingress {
    client: reqwest::Client,
    /// Sent with every request.
    token: Option<String>,
    /// As it was given: one address, or several with commas between them.
    url: String,
    /// Never empty.
    nodes: Arc<[String]>,
    /// Which node is asked; the next one if it cannot be reached.
    asked: Arc<AtomicUsize>,
    stop: CancellationToken,
}

/// The answer to a query.
#[derive(Deserialize)]
struct QueryRows<T> {
    rows: Vec<T>,
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
    pub(crate) fn new(url: &str, token: Option<&str>, stop: CancellationToken) -> Result<Self, CallFault> {
        // Fails if another provider was chosen before, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().timeout(ATTEMPT).connect_timeout(CONNECT);
        let client = client.tcp_nodelay(true).build();
        let client = client.map_err(|error| unreachable_at(url, &error))?;
        let nodes = nodes_of(url).map(ToOwned::to_owned).collect();
        let token = token.map(ToOwned::to_owned);
        Ok(Self { client, token, url: url.to_owned(), nodes, asked: Arc::default(), stop })
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
        self.call_within(target, body, None).await
    }

    /// The same, but gives up after some time.
    pub(crate) async fn call_within<T: DeserializeOwned>(
        &self,
        target: CallTarget<'_>,
        body: &impl Serialize,
        patience: Option<Duration>,
    ) -> Result<T, CallFault> {
        let CallTarget { service, key, handler, idempotency } = target;
        // A service without keys has none in its address.
        let path = if key.is_empty() { format!("/{service}/{handler}") } else { format!("/{service}/{key}/{handler}") };
        let body = serde_json::to_vec(body).map_err(|error| unreadable(&error))?;
        let reply = self.post(&path, body, idempotency, patience).await?;
        serde_json::from_slice(&reply).map_err(|error| unreadable(&error))
    }

    /// Registers a worker at the admin address, so that Restate finds its handlers.
    pub(crate) async fn register(&self, worker: &str, patience: Duration) -> Result<(), CallFault> {
        let body = serde_json::json!({ "uri": worker, "use_http_11": true, "force": true });
        self.post("/deployments", body.to_string().into_bytes(), None, Some(patience)).await.map(drop)
    }

    /// Asks the admin address, in SQL, what Restate keeps. This needs no worker.
    pub(crate) async fn query<T: DeserializeOwned>(&self, sql: &str, patience: Duration) -> Result<Vec<T>, CallFault> {
        let body = serde_json::json!({ "query": sql }).to_string().into_bytes();
        let reply = self.post("/query", body, None, Some(patience)).await?;
        let rows: QueryRows<T> = serde_json::from_slice(&reply).map_err(|error| unreadable(&error))?;
        Ok(rows.rows)
    }

    /// Changes something at the admin address, in one attempt.
    pub(crate) async fn patch(&self, path: &str, patience: Duration) -> Result<(), CallFault> {
        let node = &self.nodes[self.asked.load(Ordering::Relaxed) % self.nodes.len()];
        let request = self.client.patch(format!("{node}{path}")).timeout(patience);
        let request = match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        attempt(request).await.map(drop)
    }

    /// Waits for some time. Returns whether the process goes on.
    pub(crate) async fn waits(&self, time: Duration) -> bool {
        tokio::select! {
            () = tokio::time::sleep(time) => {}
            () = self.stop.cancelled() => {}
        }
        !self.stop.is_cancelled()
    }

    /// Returns some time after the process was told to stop.
    async fn out_of_patience(&self) {
        self.stop.cancelled().await;
        tokio::time::sleep(LAST_ATTEMPT).await;
    }

    async fn post(
        &self,
        path: &str,
        body: Vec<u8>,
        idempotency: Option<&str>,
        patience: Option<Duration>,
    ) -> Result<Vec<u8>, CallFault> {
        let begun = tokio::time::Instant::now();
        let mut wait = FIRST_WAIT;
        loop {
            let asked = self.asked.load(Ordering::Relaxed);
            let url = format!("{}{path}", self.nodes[asked % self.nodes.len()]);
            let mut request = self.client.post(&url).header("content-type", "application/json").body(body.clone());
            request = request.header("accept", "application/json");
            if let Some(key) = idempotency {
                request = request.header("idempotency-key", key);
            }
            if let Some(token) = &self.token {
                request = request.bearer_auth(token);
            }
            if let Some(patience) = patience {
                request = request.timeout(patience.min(ATTEMPT));
            }
            let tried = tokio::select! {
                tried = attempt(request) => tried,
                () = self.out_of_patience() => Err(unreachable_since_stopping()),
            };
            let why = match tried {
                Ok(reply) => return Ok(reply),
                Err(CallFault::Unreachable { why, .. }) => why,
                // A node that has just started does not know the handlers yet, and a token may be about to be replaced. Those who
                // wait without limit are never refused like this by a handler.
                Err(CallFault::Refused { status: 401 | 403 | 404, why }) if patience.is_none() => why,
                Err(other) => return Err(other),
            };
            tracing::debug!(url, why, "Restate was not reached");
            // Unless another request has found out already.
            let next = asked.wrapping_add(1);
            let _ = self.asked.compare_exchange(asked, next, Ordering::Relaxed, Ordering::Relaxed);
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

impl std::fmt::Debug for Ingress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Ingress({})", self.url)
    }
}

/// The addresses of a cluster's nodes: written with commas between them.
pub fn nodes_of(urls: &str) -> impl Iterator<Item = &str> {
    urls.split(',').map(|url| url.trim().trim_end_matches('/'))
}

fn unreadable(error: &serde_json::Error) -> CallFault {
    CallFault::Unreadable(error.to_string())
}

fn unreachable_since_stopping() -> CallFault {
    CallFault::Unreachable { url: String::new(), why: "this process is stopping".to_owned() }
}

async fn attempt(request: reqwest::RequestBuilder) -> Result<Vec<u8>, CallFault> {
    let reply = request.send().await.map_err(|error| unreachable_at("", &error))?;
    let status = reply.status();
    let body = reply.bytes().await.map_err(|error| unreachable_at("", &error))?;
    if status.is_success() {
        return Ok(body.to_vec());
    }
    let said: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
    let why = said["message"].as_str().map_or_else(|| String::from_utf8_lossy(&body).into_owned(), ToOwned::to_owned);
    match status.as_u16() {
        // It has reached the worker, and the worker has refused.
        status if said["restate_code"] == WORKER_REFUSED => Err(CallFault::Refused { status, why }),
        // Restate itself is starting, or has too much to do.
        408 | 429 | 500.. => Err(CallFault::Unreachable { url: String::new(), why: format!("{status}: {why}") }),
        status => Err(CallFault::Refused { status, why }),
    }
}

fn unreachable_at(url: &str, error: &reqwest::Error) -> CallFault {
    CallFault::Unreachable { url: url.to_owned(), why: updraft_run::error_chain(error) }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// A node that gives the same answer to this many requests.
    async fn node(answers: usize, answer: &'static str) -> (std::net::SocketAddr, tokio::task::JoinSet<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut serving = tokio::task::JoinSet::new();
        serving.spawn(async move {
            for _ in 0..answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = [0; 4096];
                let _ = stream.read(&mut request).await.unwrap();
                let answer = format!("HTTP/1.1 {answer}\r\ncontent-length: 1\r\nconnection: close\r\n\r\n7");
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        (address, serving)
    }

    #[tokio::test]
    async fn another_node_is_asked_when_one_is_away_or_does_not_know_the_handlers() {
        let (away, _) = node(0, "").await;
        let (new, _starting) = node(1, "404 Not Found").await;
        let (there, _serving) = node(2, "200 OK").await;
        let nodes = format!("http://{away}/, http://{new}, http://{there}");
        let ingress = Ingress::new(&nodes, None, CancellationToken::new()).unwrap();
        for _ in 0..2 {
            let target = CallTarget { service: "Runs.w1", key: "r1", handler: "head", idempotency: None };
            let head: u32 = ingress.call(target, &serde_json::Value::Null).await.unwrap();
            assert_eq!(head, 7);
        }
        assert_eq!(ingress.asked.load(Ordering::Relaxed), 2, "the second call goes where the first was answered");
    }
}
