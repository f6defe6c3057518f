//! The way to the editor: everything that is sent goes through one queue, so that it arrives in the order it was said.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot};

use crate::rpc::RpcFailure;

/// Most messages that wait to be written.
const QUEUE: usize = 256;

/// The outcome of a request to the editor.
pub(crate) type EditorReply = Result<Value, RpcFailure>;

/// The way to the editor. Cheap to clone.
#[derive(Clone)]
pub(crate) struct EditorChannel {
    queue: mpsc::Sender<String>,
    requests: Arc<EditorRequests>,
}

#[derive(Default)]
struct EditorRequests {
    last: AtomicU64,
    open: Mutex<BTreeMap<u64, oneshot::Sender<EditorReply>>>,
}

impl EditorChannel {
    /// A channel, and what is to be written.
    pub(crate) fn new() -> (Self, mpsc::Receiver<String>) {
        let (queue, lines) = mpsc::channel(QUEUE);
        (Self { queue, requests: Arc::default() }, lines)
    }

    /// Nobody is told if the editor is gone: its input then ends too.
    async fn send(&self, message: Value) {
        let _ = self.queue.send(message.to_string()).await;
    }

    /// Tells the editor something.
    pub(crate) async fn notify(&self, method: &str, params: Value) {
        self.send(json!({ "jsonrpc": "2.0", "method": method, "params": params })).await;
    }

    /// Tells the editor what happened in a session.
    pub(crate) async fn update(&self, session: &str, update: Value) {
        self.notify("session/update", json!({ "sessionId": session, "update": update })).await;
    }

    /// Answers a request of the editor.
    pub(crate) async fn reply(&self, id: &Value, outcome: EditorReply) {
        let message = match outcome {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err(failure) => json!({ "jsonrpc": "2.0", "id": id, "error": failure.to_json() }),
        };
        self.send(message).await;
    }

    /// Asks the editor, and waits. If this is dropped, the editor is not told; see [`Self::withdraw`].
    pub(crate) async fn ask(&self, id: u64, method: &str, params: Value) -> EditorReply {
        let (answer, answered) = oneshot::channel();
        self.open().insert(id, answer);
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        let gone = || Err(RpcFailure::internal("the editor is gone"));
        answered.await.unwrap_or_else(|_| gone())
    }

    /// The id of the next request.
    pub(crate) fn next_id(&self) -> u64 {
        self.requests.last.fetch_add(1, Ordering::Relaxed)
    }

    /// The editor need not answer a request any more.
    pub(crate) async fn withdraw(&self, id: u64) {
        if self.open().remove(&id).is_some() {
            self.notify("$/cancel_request", json!({ "requestId": id })).await;
        }
    }

    /// The editor has answered.
    pub(crate) fn resolve(&self, id: &Value, outcome: EditorReply) {
        let asked = id.as_u64().and_then(|id| self.open().remove(&id));
        if let Some(asked) = asked {
            // Whoever asked may have stopped waiting.
            let _ = asked.send(outcome);
        }
    }

    fn open(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, oneshot::Sender<EditorReply>>> {
        self.requests.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes lines until there are no more, or nobody reads them.
pub(crate) async fn write(mut lines: mpsc::Receiver<String>, mut output: impl AsyncWrite + Unpin) {
    while let Some(mut line) = lines.recv().await {
        line.push('\n');
        let is_written = output.write_all(line.as_bytes()).await.is_ok() && output.flush().await.is_ok();
        if !is_written {
            return;
        }
    }
}
