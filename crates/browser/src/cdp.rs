//! The client of Chromium's debugging protocol: JSON over two pipes, each message ended by a NUL.
//!
//! Only the shape of messages is known here. Events are given to one handler, which must not wait.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;

use crate::error::Error;

/// Most commands that wait for the pipe.
const LONGEST_QUEUE: usize = 4096;
/// Most bytes of a message from the browser. A snapshot of the largest pages has about 50 MB.
const LONGEST_MESSAGE: usize = 256 << 20;

/// An event: the session it belongs to (none: the browser), its name and parameters.
pub(crate) struct CdpEvent<'a> {
    pub(crate) session: Option<&'a str>,
    pub(crate) method: &'a str,
    pub(crate) params: &'a Value,
}

/// Receives every event, in order.
pub(crate) trait EventHandler: Send + Sync + 'static {
    fn handle(&self, cdp: &Cdp, event: &CdpEvent<'_>);
}

type Answer = Result<Value, String>;

/// A connection to one browser. Clones share it.
#[derive(Clone)]
pub(crate) struct Cdp {
    line: Arc<Line>,
}

struct Line {
    outgoing: mpsc::Sender<Vec<u8>>,
    next: AtomicU64,
    waiting: Mutex<HashMap<u64, oneshot::Sender<Answer>>>,
    /// How the connection ended, if it has.
    ended: watch::Sender<Option<String>>,
}

impl Cdp {
    /// Starts to read and write. The tasks end with the pipes, or with `tasks`.
    pub(crate) fn connect(
        to: Box<dyn AsyncWrite + Send + Unpin>,
        from: Box<dyn AsyncRead + Send + Unpin>,
        handler: Arc<dyn EventHandler>,
        tasks: &mut JoinSet<()>,
    ) -> Self {
        let (outgoing, queue) = mpsc::channel(LONGEST_QUEUE);
        let line = Arc::new(Line {
            outgoing,
            next: AtomicU64::new(1),
            waiting: Mutex::default(),
            ended: watch::Sender::new(None),
        });
        let cdp = Self { line };
        tasks.spawn(write(to, queue));
        tasks.spawn(read(from, cdp.clone(), handler));
        cdp
    }

    /// Sends a command and waits for its answer.
    pub(crate) async fn call(
        &self,
        session: Option<&str>,
        method: &str,
        params: Value,
        limit: Duration,
    ) -> Result<Value, Error> {
        let (sender, receiver) = oneshot::channel();
        let id = self.line.next.fetch_add(1, Ordering::Relaxed);
        self.waiting().insert(id, sender);
        // An end between this look and the answer drops the sender, so nobody waits in vain.
        if let Some(how) = self.ended() {
            self.waiting().remove(&id);
            return Err(Error::BrowserGone { how });
        }
        if self.line.outgoing.send(message(id, session, method, &params)).await.is_err() {
            return Err(self.gone());
        }
        let answer = tokio::time::timeout(limit, receiver).await;
        match answer {
            Ok(Ok(Ok(value))) => Ok(value),
            Ok(Ok(Err(message))) => Err(Error::Protocol { method: method.to_owned(), message }),
            Ok(Err(_)) => Err(self.gone()),
            Err(_) => {
                self.waiting().remove(&id);
                Err(Error::TimedOut { what: method.to_owned(), limit })
            }
        }
    }

    /// Sends a command without waiting for its answer.
    pub(crate) fn post(&self, session: Option<&str>, method: &str, params: &Value) {
        let id = self.line.next.fetch_add(1, Ordering::Relaxed);
        // A full queue means that the browser hangs; the next call then says so.
        let _ = self.line.outgoing.try_send(message(id, session, method, params));
    }

    /// How the connection ended, if it has.
    pub(crate) fn ended(&self) -> Option<String> {
        self.line.ended.borrow().clone()
    }

    /// Waits until the connection has ended.
    pub(crate) async fn closed(&self) {
        let _ = self.line.ended.subscribe().wait_for(Option::is_some).await;
    }

    fn gone(&self) -> Error {
        Error::BrowserGone { how: self.ended().unwrap_or_else(|| "its pipe is closed".to_owned()) }
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<Answer>>> {
        self.line.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, how: &str) {
        self.line.ended.send_if_modified(|ended| {
            let is_first = ended.is_none();
            ended.get_or_insert_with(|| how.to_owned());
            is_first
        });
        self.waiting().clear();
    }

    fn receive(&self, bytes: &[u8], handler: &dyn EventHandler) {
        let Ok(mut value) = serde_json::from_slice::<Value>(bytes) else { return };
        let Some(id) = value["id"].as_u64() else {
            let session = value["sessionId"].as_str();
            let Some(method) = value["method"].as_str() else { return };
            handler.handle(self, &CdpEvent { session, method, params: &value["params"] });
            return;
        };
        let Some(sender) = self.waiting().remove(&id) else { return };
        let answer = match value.get("error") {
            Some(error) => Err(error["message"].as_str().unwrap_or("no reason").to_owned()),
            None => Ok(value["result"].take()),
        };
        let _ = sender.send(answer);
    }
}

fn message(id: u64, session: Option<&str>, method: &str, params: &Value) -> Vec<u8> {
    let mut message = json!({"id": id, "method": method, "params": params});
    if let Some(session) = session {
        message["sessionId"] = session.into();
    }
    let mut bytes = message.to_string().into_bytes();
    bytes.push(0);
    bytes
}

async fn write(mut to: Box<dyn AsyncWrite + Send + Unpin>, mut queue: mpsc::Receiver<Vec<u8>>) {
    while let Some(bytes) = queue.recv().await {
        // The reader notices that the browser is gone.
        if to.write_all(&bytes).await.is_err() || to.flush().await.is_err() {
            return;
        }
    }
}

async fn read(mut from: Box<dyn AsyncRead + Send + Unpin>, cdp: Cdp, handler: Arc<dyn EventHandler>) {
    let mut bytes = Vec::new();
    let mut chunk = vec![0; 64 << 10];
    let how = loop {
        match from.read(&mut chunk).await {
            Ok(0) => break "it closed its pipe".to_owned(),
            Err(error) => break error.to_string(),
            Ok(count) => {
                let mut parts = chunk[..count].split(|&byte| byte == 0);
                bytes.extend_from_slice(parts.next().unwrap_or_default());
                for part in parts {
                    cdp.receive(&bytes, &*handler);
                    bytes.clear();
                    bytes.extend_from_slice(part);
                }
            }
        }
        if bytes.len() > LONGEST_MESSAGE {
            break format!("it sent a message of more than {LONGEST_MESSAGE} bytes");
        }
    };
    cdp.end(&how);
}
