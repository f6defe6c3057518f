//! Our side of the bridge: lets in who shows the token, and does what is asked.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::http::{StatusCode, header};
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message as Frame};
use tokio_tungstenite::{WebSocketStream, accept_hdr_async_with_config};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, warn};
use updraft_mcp::server::{Face, Refusal, Work};

use super::wire::{self, Fault, INVALID, LARGEST, Message, NOT_LET_IN, REFUSED, UNKNOWN};
use crate::token::Token;

/// How long a client has to show its token.
const PATIENCE: Duration = Duration::from_secs(10);
/// Clients at once: an editor has one or two.
const MOST: usize = 64;
/// Announcements kept for a client that is slow; older ones are lost.
const KEPT: usize = 256;

/// Serves the bridge until it is stopped. The listener should be one of this machine only.
pub async fn host<F: Face + Clone>(listener: TcpListener, token: Token, face: F, stop: CancellationToken) {
    let (announce, tasks) = (broadcast::channel(KEPT).0, TaskTracker::new());
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => break,
        };
        let Ok((stream, from)) = accepted else {
            // Too many open files, for instance: that passes.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        if !from.ip().is_loopback() || tasks.len() >= MOST {
            continue;
        }
        let client =
            Client { token: token.clone(), face: face.clone(), announce: announce.clone(), stop: stop.clone() };
        tasks.spawn(async move {
            if let Err(error) = client.serve(stream).await {
                debug!(%error, "a client of the bridge is gone");
            }
        });
    }
    tasks.close();
    tasks.wait().await;
}

struct Client<F> {
    token: Token,
    face: F,
    announce: broadcast::Sender<String>,
    stop: CancellationToken,
}

impl<F: Face> Client<F> {
    async fn serve(self, stream: TcpStream) -> Result<(), Error> {
        let mut is_let_in = false;
        let config = WebSocketConfig::default().max_message_size(Some(LARGEST)).max_frame_size(Some(LARGEST));
        #[expect(clippy::result_large_err, reason = "the library's own type")]
        let check = |request: &Request, response: Response| {
            is_let_in = shown_at_the_door(request, &self.token)?;
            Ok(response)
        };
        let accepting = accept_hdr_async_with_config(stream, check, Some(config));
        let Ok(accepted) = tokio::time::timeout(PATIENCE, accepting).await else { return Ok(()) };
        let mut socket = accepted?;
        if !is_let_in && !self.first_message(&mut socket).await? {
            let why = CloseFrame { code: CloseCode::Policy, reason: "show the token first".into() };
            return socket.close(Some(why)).await;
        }
        self.converse(socket).await
    }

    /// Whether the first message shows the token.
    async fn first_message(&self, socket: &mut WebSocketStream<TcpStream>) -> Result<bool, Error> {
        let Ok(Some(first)) = tokio::time::timeout(PATIENCE, socket.next()).await else { return Ok(false) };
        let message: Message = serde_json::from_str(first?.to_text().unwrap_or_default()).unwrap_or_default();
        let shown = message.params["token"].as_str().unwrap_or_default();
        let is_right = message.method == "auth" && self.token.is(shown);
        let given = if is_right { Ok(json!({ "success": true })) } else { Err(fault(NOT_LET_IN, "wrong token")) };
        socket.send(Frame::text(wire::answer(&message.id, given))).await?;
        Ok(is_right)
    }

    async fn converse(&self, mut socket: WebSocketStream<TcpStream>) -> Result<(), Error> {
        let mut changes = self.announce.subscribe();
        loop {
            tokio::select! {
                () = self.stop.cancelled() => return socket.close(None).await,
                change = changes.recv() => match change {
                    Ok(change) => socket.send(Frame::text(change)).await?,
                    Err(broadcast::error::RecvError::Lagged(lost)) => warn!(lost, "a client of the bridge is slow"),
                    Err(broadcast::error::RecvError::Closed) => return Ok(()),
                },
                frame = socket.next() => {
                    let Some(frame) = frame else { return Ok(()) };
                    if let Frame::Text(text) = frame?
                        && let Some(answer) = self.answer(text.as_str()).await
                    {
                        socket.send(Frame::text(answer)).await?;
                    }
                }
            }
        }
    }

    /// The answer to a message; none to a notification.
    async fn answer(&self, text: &str) -> Option<String> {
        let Ok(message) = serde_json::from_str::<Message>(text) else {
            return Some(wire::answer(&Value::Null, Err(fault(INVALID, "not a JSON-RPC message"))));
        };
        if message.id.is_null() {
            return None;
        }
        let given = self.perform(&message.method, &message.params).await;
        Some(wire::answer(&message.id, given))
    }

    async fn perform(&self, method: &str, params: &Value) -> Result<Value, Fault> {
        let text = |name: &str| {
            let given = params[name].as_str().map(str::to_owned);
            given.ok_or_else(|| fault(-32602, &format!("`{method}` needs the text `{name}`")))
        };
        let refused = |Refusal(why): Refusal| fault(REFUSED, &why);
        match method {
            // Shown once more: by clients that do not know whether their header was read.
            "auth" if self.token.is(params["token"].as_str().unwrap_or_default()) => Ok(json!({ "success": true })),
            "auth" => Err(fault(NOT_LET_IN, "wrong token")),
            "fs/read" => {
                let output = self.face.files("read_file", json!({ "path": text("path")? })).await.map_err(refused)?;
                Ok(json!({ "content": output.text }))
            }
            "fs/write" => {
                let (path, content) = (text("path")?, text("content")?);
                let args = json!({ "path": path, "content": content });
                self.face.files("write_file", args).await.map_err(refused)?;
                let told = json!({ "path": path, "bytes": content.len() });
                // Nobody may be connected but the writer, who is told too.
                let _ = self.announce.send(wire::notification("fs/changed", &told));
                Ok(json!({ "success": true }))
            }
            "fs/list" => {
                let recursive = params["recursive"].as_bool().unwrap_or(true);
                let output = self.face.files("list_files", json!({ "recursive": recursive })).await.map_err(refused)?;
                Ok(json!({ "files": listed(&output.value.unwrap_or_default()) }))
            }
            "agent/dispatch" => {
                let work = Work { goal: text("prompt")?, agent: None };
                let view = self.face.dispatch(work).await.map_err(refused)?;
                Ok(json!({ "success": true, "run": view.run }))
            }
            _ => Err(fault(UNKNOWN, &format!("no method `{method}`"))),
        }
    }
}

/// Paths of files, and of folders with a slash at the end.
fn listed(value: &Value) -> Vec<String> {
    let folders = value["folders"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let folders = folders.map(|folder| format!("{folder}/"));
    let files = value["files"].as_array().into_iter().flatten().filter_map(|file| file["path"].as_str());
    folders.chain(files.map(str::to_owned)).collect()
}

fn fault(code: i64, message: &str) -> Fault {
    Fault { code, message: message.to_owned() }
}

/// Whether the token was shown with the request; an error if a wrong one was, or if a web page asks.
#[expect(clippy::result_large_err, reason = "the library's own type")]
fn shown_at_the_door(request: &Request, token: &Token) -> Result<bool, ErrorResponse> {
    let refuse = |status: StatusCode, why: &str| {
        let mut response = ErrorResponse::new(Some(why.to_owned()));
        *response.status_mut() = status;
        response
    };
    if request.headers().contains_key(header::ORIGIN) {
        return Err(refuse(StatusCode::FORBIDDEN, "web pages may not use the bridge"));
    }
    if request.uri().query().is_some_and(|query| query.contains("token")) {
        return Err(refuse(
            StatusCode::BAD_REQUEST,
            "show the token in a header or the first message, not in the address",
        ));
    }
    let Some(shown) = request.headers().get(header::AUTHORIZATION) else { return Ok(false) };
    let shown = shown.to_str().unwrap_or_default();
    match shown.split_once(' ') {
        Some((way, shown)) if way.eq_ignore_ascii_case("bearer") && token.is(shown) => Ok(true),
        _ => Err(refuse(StatusCode::UNAUTHORIZED, "wrong token")),
    }
}
