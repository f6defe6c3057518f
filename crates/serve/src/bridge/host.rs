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
use updraft_mcp::server::{Changed, Face, Refusal, Work};

use super::wire::{self, Fault, INVALID, LARGEST, Message, NOT_LET_IN, REFUSED, UNKNOWN};
use crate::token::Token;

/// How long a client has to show its token.
const PATIENCE: Duration = Duration::from_secs(10);
/// Clients at once: an editor has one or two.
const MOST: usize = 64;

/// Serves the bridge until it is stopped. The listener should be one of this machine only.
pub async fn host<F: Face + Clone>(listener: TcpListener, token: Token, face: F, stop: CancellationToken) {
    let tasks = TaskTracker::new();
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
        let client = Client { token: token.clone(), face: face.clone(), stop: stop.clone() };
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
        let mut changes = self.face.changes();
        loop {
            tokio::select! {
                () = self.stop.cancelled() => return socket.close(None).await,
                change = changes.recv() => match change {
                    Ok(change) => socket.send(Frame::text(announced(&change))).await?,
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
        let answer = wire::answer(&message.id, given);
        if answer.len() > LARGEST {
            let why = format!("the answer has more than {} MB", LARGEST >> 20);
            return Some(wire::answer(&message.id, Err(fault(REFUSED, &why))));
        }
        Some(answer)
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
                let path = text("path")?;
                match self.face.read(path.clone()).await {
                    Ok(content) => Ok(json!({ "content": content })),
                    Err(Refusal(why)) => Err(self.unread(path, &why).await),
                }
            }
            "fs/write" => {
                let (path, content) = (text("path")?, text("content")?);
                let args = json!({ "path": path, "content": content });
                // Everyone who is connected hears of it, the writer too.
                self.face.files("write_file", args).await.map_err(refused)?;
                Ok(json!({ "success": true }))
            }
            "fs/list" => {
                let recursive = params["recursive"].as_bool().unwrap_or(true);
                let folder = params["path"].as_str().unwrap_or(".").to_owned();
                let listed = self.face.list(folder, recursive).await.map_err(refused)?;
                Ok(json!({ "files": listed.paths, "truncated": listed.is_cut }))
            }
            "agent/dispatch" => {
                let work = Work { goal: text("prompt")?, agent: None };
                let view = self.face.dispatch(work).await.map_err(refused)?;
                Ok(json!({ "success": true, "run": view.run }))
            }
            _ => Err(fault(UNKNOWN, &format!("no method `{method}`"))),
        }
    }

    /// Why a file is not read, and whether there is something all the same: whoever waits for it wants to know.
    async fn unread(&self, path: String, why: &str) -> Fault {
        let exists = self.face.exists(path).await.ok();
        let data = exists.map_or(Value::Null, |exists| json!({ "exists": exists }));
        Fault { data, ..fault(REFUSED, why) }
    }
}

/// A change as it is told to everyone.
fn announced(Changed { path, bytes }: &Changed) -> String {
    let told =
        bytes.map_or_else(|| json!({ "path": path, "deleted": true }), |bytes| json!({ "path": path, "bytes": bytes }));
    wire::notification("fs/changed", &told)
}

fn fault(code: i64, message: &str) -> Fault {
    Fault { code, message: message.to_owned(), data: Value::Null }
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
