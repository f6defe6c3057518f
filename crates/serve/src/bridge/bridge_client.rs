//! The client side of the bridge: a connection that is opened when it is needed and opened again when it is lost.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::stream::SplitSink;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::{broadcast, oneshot};
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::http::{HeaderValue, StatusCode, header};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message as Frame};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};

use super::wire::{self, BridgeFault, BridgeMessage, LARGEST, NOT_LET_IN, UNKNOWN};
use crate::token::ServeToken;

type ClientSocket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// How long to wait for an answer.
const ANSWER: Duration = Duration::from_mins(1);
/// How long to try to connect: an editor that has just started may still be loading.
const KNOCK: Duration = Duration::from_secs(5);
/// How long the host may take for its first message after the connection is open.
const GREETING: Duration = Duration::from_secs(10);
/// The pause between attempts to connect.
const PAUSE: Duration = Duration::from_millis(250);

/// A client of a bridge. Cheap to clone.
#[derive(Clone)]
pub struct BridgeClient(Arc<BridgeClientInner>);

struct BridgeClientInner {
    url: String,
    token: ServeToken,
    next: AtomicU64,
    line: tokio::sync::Mutex<Option<BridgeConnection>>,
    changed: broadcast::Sender<String>,
}

/// An open connection.
struct BridgeConnection {
    send: SplitSink<ClientSocket, Frame>,
    waiting: PendingReplies,
    reading: JoinSet<()>,
}

/// The requests that wait for answers; empty once the connection is lost.
#[derive(Clone, Default)]
struct PendingReplies(Arc<Mutex<BTreeMap<u64, oneshot::Sender<BridgeMessage>>>>);

impl PendingReplies {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, oneshot::Sender<BridgeMessage>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a request may be repeated if it is unknown whether it was received.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RetryPermission {
    Yes,
    No,
}

/// What exists at a path of the host.
pub(super) enum RemoteContent {
    /// Nothing.
    Nothing,
    /// Text, in the host's own format.
    Text(Value),
    /// A folder, or a file that is not text.
    Unreadable,
    /// It cannot be read, and the host does not say whether it exists.
    Unsaid,
}

/// Why a request got no answer.
enum LostConnection {
    /// It was not sent.
    Before,
    /// It was sent, and then the connection was lost.
    After,
}

impl BridgeClient {
    /// A client for an address of this machine. It does not connect yet. The error says what is wrong with the address.
    pub fn to(url: &str, token: ServeToken) -> Result<Self, String> {
        let request =
            url.into_client_request().map_err(|error| format!("`{url}` is not the address of a WebSocket: {error}"))?;
        let host = request.uri().host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let is_here = host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
        if !is_here || request.uri().scheme_str() != Some("ws") {
            return Err(format!("`{url}` is not on this machine; expected for instance ws://127.0.0.1:8888"));
        }
        if request.uri().query().is_some() {
            return Err("the address must not contain the token; use --token-file or UPDRAFT_BRIDGE_TOKEN".to_owned());
        }
        let (url, next, line) = (url.to_owned(), AtomicU64::new(1), tokio::sync::Mutex::default());
        Ok(Self(Arc::new(BridgeClientInner { url, token, next, line, changed: broadcast::channel(16).0 })))
    }

    /// Receives the path of every file for which the host reports a change.
    pub(super) fn changes(&self) -> broadcast::Receiver<String> {
        self.0.changed.subscribe()
    }

    /// Sends a request to the host. The error is for a model or a person: it says what to check.
    pub(super) async fn ask(&self, method: &str, params: &Value, again: RetryPermission) -> Result<Value, String> {
        self.ask_twice(method, params, again).await.map_err(|trouble| self.in_words(method, trouble))
    }

    /// Looks for a file of the host.
    pub(super) async fn look(&self, path: &str) -> Result<RemoteContent, String> {
        match self.ask_twice("fs/read", &json!({ "path": path }), RetryPermission::Yes).await {
            Ok(read) => Ok(RemoteContent::Text(read)),
            Err(BridgeError::Said(fault)) => Ok(match fault.data["exists"].as_bool() {
                Some(true) => RemoteContent::Unreadable,
                Some(false) => RemoteContent::Nothing,
                None => RemoteContent::Unsaid,
            }),
            Err(trouble) => Err(self.in_words("fs/read", trouble)),
        }
    }

    async fn ask_twice(&self, method: &str, params: &Value, again: RetryPermission) -> Result<Value, BridgeError> {
        let asked = self.ask_once(method, params).await;
        if matches!(asked, Err(BridgeError::Lost(LostConnection::Before)))
            || (again == RetryPermission::Yes && is_lost(&asked))
        {
            return self.ask_once(method, params).await;
        }
        asked
    }

    fn in_words(&self, method: &str, trouble: BridgeError) -> String {
        let url = &self.0.url;
        match trouble {
            BridgeError::Said(fault) => fault.message,
            BridgeError::NotThere(why) => why,
            BridgeError::Silent => format!("`{method}` got no answer from {url} in {} s", ANSWER.as_secs()),
            BridgeError::Lost(_) => {
                format!("the connection to {url} was lost during `{method}`; it is not known whether it was done")
            }
        }
    }

    async fn ask_once(&self, method: &str, params: &Value) -> Result<Value, BridgeError> {
        let answered = {
            let mut line = self.0.line.lock().await;
            if line.as_mut().is_none_or(|line| line.reading.try_join_next().is_some() || line.reading.is_empty()) {
                *line = Some(self.connect().await.map_err(BridgeError::NotThere)?);
            }
            let Some(open) = line.as_mut() else { return Err(BridgeError::Lost(LostConnection::Before)) };
            match tokio::time::timeout(ANSWER, self.send(open, method, params)).await {
                Ok(Ok(answered)) => answered,
                Ok(Err(_)) => {
                    *line = None;
                    return Err(BridgeError::Lost(LostConnection::Before));
                }
                // The host does not read. Half of the message may have been sent, so nothing valid can follow.
                Err(_) => {
                    *line = None;
                    return Err(BridgeError::Silent);
                }
            }
        };
        match tokio::time::timeout(ANSWER, answered).await {
            Err(_) => Err(BridgeError::Silent),
            Ok(Err(_)) => Err(BridgeError::Lost(LostConnection::After)),
            Ok(Ok(BridgeMessage { error: Some(fault), .. })) => Err(BridgeError::Said(fault)),
            Ok(Ok(message)) => Ok(message.result),
        }
    }

    async fn send(
        &self,
        line: &mut BridgeConnection,
        method: &str,
        params: &Value,
    ) -> Result<oneshot::Receiver<BridgeMessage>, Error> {
        let id = self.0.next.fetch_add(1, Ordering::Relaxed);
        let (send, answered) = oneshot::channel();
        line.waiting.lock().insert(id, send);
        line.send.send(Frame::text(wire::request(id, method, params))).await?;
        Ok(answered)
    }

    /// Connects and shows the token; tries for a while if the connection is refused.
    async fn connect(&self) -> Result<BridgeConnection, String> {
        let deadline = tokio::time::Instant::now() + KNOCK;
        loop {
            let url = &self.0.url;
            // A host that accepts the connection and stays silent must not block us, because other requests wait for
            // this connection too.
            let Ok(dialled) = tokio::time::timeout(GREETING, self.dial()).await else {
                return Err(self.says_nothing());
            };
            match dialled {
                Ok(socket) => return self.settle(socket).await,
                Err(Error::Http(response)) if response.status() == StatusCode::UNAUTHORIZED => {
                    return Err(self.wrong_token());
                }
                Err(Error::Http(response)) => {
                    return Err(format!(
                        "{url} refused the connection ({}); is another program using this port?",
                        response.status()
                    ));
                }
                // Refused, or accepted and closed: both happen while a program is still loading.
                Err(Error::Io(_) | Error::Protocol(ProtocolError::HandshakeIncomplete))
                    if tokio::time::Instant::now() < deadline =>
                {
                    tokio::time::sleep(PAUSE).await;
                }
                Err(error) => {
                    return Err(format!(
                        "nothing answers at {url} ({error}). Check that the editor is open and its extension has loaded (just \
                         after the start it may take a moment), or that `updraft serve --bridge` runs; and that the port is \
                         the same on both sides"
                    ));
                }
            }
        }
    }

    async fn dial(&self) -> Result<ClientSocket, Error> {
        let mut request = self.0.url.as_str().into_client_request()?;
        if let Ok(shown) = HeaderValue::from_str(&format!("Bearer {}", self.0.token.reveal())) {
            request.headers_mut().insert(header::AUTHORIZATION, shown);
        }
        let config = WebSocketConfig::default().max_message_size(Some(LARGEST)).max_frame_size(Some(LARGEST));
        Ok(connect_async_with_config(request, Some(config), true).await?.0)
    }

    /// Sends the token again as the first message, for hosts that do not read headers, and starts to read.
    async fn settle(&self, socket: ClientSocket) -> Result<BridgeConnection, String> {
        let (send, mut receive) = socket.split();
        let (waiting, changed) = (PendingReplies::default(), self.0.changed.clone());
        let mut line = BridgeConnection { send, waiting: waiting.clone(), reading: JoinSet::new() };
        line.reading.spawn(async move {
            while let Some(Ok(frame)) = receive.next().await {
                let Ok(text) = frame.to_text() else { continue };
                let Some(message) = wire::read_leniently(text) else { continue };
                if message.method == "fs/changed" {
                    let _ = changed.send(message.params["path"].as_str().unwrap_or_default().to_owned());
                } else if let Some(waits) = message.id.as_u64().and_then(|id| waiting.lock().remove(&id)) {
                    let _ = waits.send(message);
                }
            }
            waiting.lock().clear();
        });
        let shown = json!({ "token": self.0.token.reveal() });
        let answered = self.send(&mut line, "auth", &shown).await.map_err(|_| self.wrong_token())?;
        match tokio::time::timeout(GREETING, answered).await {
            Ok(Ok(BridgeMessage { error: Some(fault), .. })) if fault.code == NOT_LET_IN => Err(self.wrong_token()),
            // The host read the header, and does not know `auth`.
            Ok(Ok(BridgeMessage { error: Some(fault), .. })) if fault.code == UNKNOWN => Ok(line),
            Ok(Ok(BridgeMessage { error: Some(fault), .. })) => {
                Err(format!("{} refused us: {}", self.0.url, fault.message))
            }
            Ok(Ok(_)) => Ok(line),
            Ok(Err(_)) => Err(self.wrong_token()),
            Err(_) => Err(self.says_nothing()),
        }
    }

    fn says_nothing(&self) -> String {
        format!(
            "{} connects but does not answer; is another program using this port, or does the editor hang?",
            self.0.url
        )
    }

    fn wrong_token(&self) -> String {
        format!(
            "{} does not accept our token. Check that it is the same on both sides: `antigravity.mcp.token` in the editor's \
             settings or the token file of `updraft serve`, and --token-file or UPDRAFT_BRIDGE_TOKEN here",
            self.0.url
        )
    }
}

enum BridgeError {
    Said(BridgeFault),
    NotThere(String),
    Silent,
    Lost(LostConnection),
}

fn is_lost(asked: &Result<Value, BridgeError>) -> bool {
    matches!(asked, Err(BridgeError::Lost(_)))
}
