//! The server side of the bridge: admits clients with the token, and handles their requests.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, broadcast};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message as Frame};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, warn};
use updraft_workbench::UpdraftService;
use updraft_workbench::service::{CLIENT, RunRequest, RunView, WorkspaceFileChange};

use super::handshake::{self, HostSocket};
use super::lines;
use super::wire::{self, BridgeFault, INVALID, LARGEST, NOT_LET_IN, REFUSED, UNFIT, UNKNOWN};
use crate::token::ServeToken;
use crate::waiting_room::{WaitingConnection, WaitingRoom};

/// Maximum number of clients that have shown the token: an editor has one or two.
const MOST: usize = 64;
/// Maximum number of connections that have not.
const MOST_WAITING: usize = 128;
/// How long stopping waits for a client.
const FAREWELL: Duration = Duration::from_secs(1);

/// The settings of the bridge.
pub struct BridgeHost {
    /// The listening socket. It should accept connections of this machine only.
    pub listener: TcpListener,
    /// The token that clients must show.
    pub token: ServeToken,
    /// The service whose runs it shows.
    pub service: UpdraftService,
    /// Maximum size of the content that `fs/read` returns, in bytes.
    pub read: u64,
    /// Cancelled when the process is to stop.
    pub stop: CancellationToken,
}

impl BridgeHost {
    /// Serves the bridge until it is stopped.
    pub async fn serve(self) {
        let BridgeHost { listener, token, service, read, stop } = self;
        let last = Arc::new(Mutex::new(None));
        let (tasks, waiting_room, inside) =
            (TaskTracker::new(), WaitingRoom::for_at_most(MOST_WAITING), Arc::new(Semaphore::new(MOST)));
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = stop.cancelled() => break,
            };
            let Ok((stream, from)) = accepted else {
                // For instance, too many open files: that is temporary.
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            };
            if !from.ip().is_loopback() {
                continue;
            }
            let (connection, inside) = (waiting_room.enter(), Arc::clone(&inside));
            let client = BridgeSession {
                token: token.clone(),
                service: service.clone(),
                read,
                last: Arc::clone(&last),
                stop: stop.clone(),
            };
            tasks.spawn(async move {
                if let Err(error) = client.serve(stream, connection, &inside).await {
                    debug!(%error, "a client of the bridge is gone");
                }
            });
        }
        tasks.close();
        tasks.wait().await;
    }
}

struct BridgeSession {
    token: ServeToken,
    service: UpdraftService,
    /// Maximum bytes that `fs/read` returns.
    read: u64,
    /// The run that was last dispatched over this bridge.
    last: Arc<Mutex<Option<String>>>,
    stop: CancellationToken,
}

impl BridgeSession {
    async fn serve(self, stream: TcpStream, connection: WaitingConnection, inside: &Semaphore) -> Result<(), Error> {
        let entered = tokio::select! {
            entered = handshake::enter(stream, &self.token) => entered?,
            () = connection.must_leave() => return Ok(()),
            () = self.stop.cancelled() => return Ok(()),
        };
        drop(connection);
        let Some(mut socket) = entered else { return Ok(()) };
        let Ok(_place) = inside.try_acquire() else {
            let why = format!("{MOST} clients are connected; close one of them");
            return socket.close(Some(CloseFrame { code: CloseCode::Again, reason: why.into() })).await;
        };
        tokio::select! {
            ended = self.converse(&mut socket) => return ended,
            () = self.stop.cancelled() => {}
        }
        // A client that does not read must not block us.
        let _ = tokio::time::timeout(FAREWELL, socket.close(None)).await;
        Ok(())
    }

    async fn converse(&self, socket: &mut HostSocket) -> Result<(), Error> {
        let mut changes = self.service.files.changes();
        loop {
            tokio::select! {
                change = changes.recv() => match change {
                    Ok(change) => socket.send(Frame::text(announced(&change))).await?,
                    Err(broadcast::error::RecvError::Lagged(lost)) => warn!(lost, "a client of the bridge is slow"),
                    Err(broadcast::error::RecvError::Closed) => return Ok(()),
                },
                frame = socket.next() => {
                    let Some(frame) = frame else { return Ok(()) };
                    let answer = match frame? {
                        Frame::Text(text) => self.answer(text.as_str()).await,
                        Frame::Binary(_) => Some(wire::MalformedMessage::alone(INVALID, "send text, not bytes").answer()),
                        _ => None,
                    };
                    if let Some(answer) = answer {
                        socket.send(Frame::text(answer)).await?;
                    }
                }
            }
        }
    }

    /// The answer to a message; `None` for a notification.
    async fn answer(&self, text: &str) -> Option<String> {
        let message = match wire::read(text) {
            Ok(message) if message.is_request() => message,
            Ok(_) => return None,
            Err(unread) => return Some(unread.answer()),
        };
        let given = self.perform(&message.method, &message.params).await;
        let answer = wire::answer(&message.id, given);
        if answer.len() > LARGEST {
            let why = format!("the answer has more than {} MB", LARGEST >> 20);
            return Some(wire::answer(&message.id, Err(BridgeFault::new(REFUSED, why))));
        }
        Some(answer)
    }

    async fn perform(&self, method: &str, params: &Value) -> Result<Value, BridgeFault> {
        let text = |name: &str| {
            let given = params[name].as_str().map(str::to_owned);
            given.ok_or_else(|| BridgeFault::new(UNFIT, format!("`{method}` needs the text `{name}`")))
        };
        let refused = |fault: updraft_workbench::Fault| BridgeFault::new(REFUSED, fault.in_one_line());
        match method {
            // Clients that do not know whether their header was read send the token again.
            "auth" if self.token.is(params["token"].as_str().unwrap_or_default()) => Ok(json!({ "success": true })),
            "auth" => Err(BridgeFault::new(NOT_LET_IN, "wrong token")),
            "fs/read" => self.content(text("path")?, params).await,
            "fs/write" => {
                let (path, content) = (text("path")?, text("content")?);
                let args = json!({ "path": path, "content": content });
                // Every connected client is notified, including the writer.
                self.service.files.call("write_file", args).await.map_err(refused)?;
                Ok(json!({ "success": true }))
            }
            "fs/list" => {
                // A value that is not understood must not mean "everything".
                let recursive = match &params["recursive"] {
                    Value::Null => true,
                    Value::Bool(recursive) => *recursive,
                    _ => return Err(BridgeFault::new(UNFIT, "`recursive` is true or false")),
                };
                let folder = if params["path"].is_null() { ".".to_owned() } else { text("path")? };
                let listed = self.service.files.list(&folder, recursive).await.map_err(refused)?;
                Ok(json!({ "files": listed.paths, "truncated": listed.is_cut }))
            }
            "agent/dispatch" => {
                let work = RunRequest { goal: text("prompt")?, agent: None };
                let view = self.service.runs.dispatch(&work).await.map_err(refused)?;
                *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(view.run.clone());
                Ok(json!({ "success": true, "run": view.run }))
            }
            "agent/status" | "agent/pause" | "agent/resume" | "agent/cancel" => {
                let run = if params["run"].is_null() { self.last_run()? } else { text("run")? };
                let view = match method {
                    "agent/pause" => self.service.runs.pause(&run).await,
                    "agent/resume" => self.service.runs.resume(&run).await,
                    "agent/cancel" => self.service.runs.cancel(&run, CLIENT).await,
                    _ => self.service.runs.view(&run).await,
                };
                Ok(standing(&view.map_err(refused)?))
            }
            _ => Err(BridgeFault::new(UNKNOWN, format!("no method `{method}`"))),
        }
    }

    fn last_run(&self) -> Result<String, BridgeFault> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        last.ok_or_else(|| BridgeFault::new(UNFIT, "no work was dispatched over this bridge yet; name a `run`"))
    }

    /// A file, or lines of it. A file over the limit is refused, not truncated, because its content may be written
    /// back.
    async fn content(&self, path: String, params: &Value) -> Result<Value, BridgeFault> {
        let content = match self.service.files.read(&path).await {
            Ok(content) => content,
            Err(fault) => return Err(self.unread(&path, &fault.in_one_line()).await),
        };
        let [start, end] = ["start_line", "end_line"].map(|name| params[name].as_u64());
        let (content, told) = if start.is_none() && end.is_none() {
            (content, json!({}))
        } else {
            let (start, end, total) = lines::range(&content, start, end).map_err(|why| BridgeFault::new(UNFIT, why))?;
            let told = json!({ "start_line": start, "end_line": end, "lines_total": total });
            (lines::of(&content, start, end), told)
        };
        if content.len() as u64 > self.read {
            let why = format!(
                "`{path}`: {} bytes were asked for, and at most {} are read at once; ask for fewer lines with `start_line` \
                 and `end_line`, or raise `read` under `[bridge]` in the settings of `updraft serve`",
                content.len(),
                self.read
            );
            return Err(BridgeFault { data: json!({ "exists": true }), ..BridgeFault::new(REFUSED, why) });
        }
        let mut told = told;
        told["content"] = content.into();
        Ok(told)
    }

    /// The error for a file that cannot be read. It says whether something exists at the path, for clients that wait
    /// for it.
    async fn unread(&self, path: &str, why: &str) -> BridgeFault {
        let exists = self.service.files.exists(path).await.ok();
        let data = exists.map_or(Value::Null, |exists| json!({ "exists": exists }));
        BridgeFault { data, ..BridgeFault::new(REFUSED, why) }
    }
}

/// The state of a run in the bridge's format.
fn standing(view: &RunView) -> Value {
    let waits = view.waits.iter().map(|wait| json!({ "id": wait.id, "approval": wait.is_approval, "text": wait.text }));
    json!({
        "success": true, "run": view.run, "status": view.word(), "message": view.message,
        "done": view.done, "steps": view.steps, "answer": view.answer, "waits": waits.collect::<Vec<_>>(),
    })
}

/// The notification of a change.
fn announced(WorkspaceFileChange { path, bytes }: &WorkspaceFileChange) -> String {
    let told =
        bytes.map_or_else(|| json!({ "path": path, "deleted": true }), |bytes| json!({ "path": path, "bytes": bytes }));
    wire::notification("fs/changed", &told)
}
