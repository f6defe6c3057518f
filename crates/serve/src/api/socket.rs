//! `/runs/{id}/socket`: the events of a run over a WebSocket, as in the stream: each once and in order.
//!
//! Every message is one event as JSON. What the client sends is not read, except pings and the end.

use std::time::Duration;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use futures_util::{SinkExt, StreamExt};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message as Frame};

use super::SharedState;
use super::input::{ApiQuery, RunPath, sensible};
use super::problem::{ApiResult, Problem};
use super::stream::{ApiWatcher, StreamParams, WatchedNews};
use crate::bearer::ApiCaller;

/// Most bytes of a message from a client.
const LARGEST: usize = 64 << 10;
/// How long a client has to take a message.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long stopping waits for a client.
const FAREWELL: Duration = Duration::from_secs(1);

/// Follow a run over a WebSocket
///
/// Every message is an event as JSON. When the run is over, the connection is closed with 1000.
#[utoipa::path(
    get,
    path = "/runs/{id}/socket",
    tag = "runs",
    params(("id" = String, Path, description = "The run"), StreamParams),
    responses(
        (status = 101, description = "The connection is a WebSocket now"),
        (status = 426, description = "The request is no WebSocket handshake", content_type = "application/problem+json", body = Problem)
    )
)]
pub(super) async fn open(
    State(state): State<SharedState>,
    Extension(caller): Extension<ApiCaller>,
    RunPath(run): RunPath,
    ApiQuery(params): ApiQuery<StreamParams>,
    mut request: Request,
) -> ApiResult<Response> {
    let upgrade = request.extensions_mut().remove::<OnUpgrade>();
    let (Some(key), Some(upgrade)) = (handshake(request.headers()), upgrade) else {
        return Err(Problem::new(StatusCode::UPGRADE_REQUIRED, "this address speaks WebSocket, version 13"));
    };
    let (runs, stop) = (state.service.runs.clone(), state.stop.clone());
    let watcher = ApiWatcher::new(state, caller, run, sensible(params.after)?);
    runs.in_background(async move {
        let sending = async {
            if let Ok(connection) = upgrade.await
                && let Err(error) = send_all(connection, watcher).await
            {
                tracing::debug!(%error, "a client that followed a run is gone");
            }
        };
        tokio::select! {
            () = sending => {}
            // A client that does not read must not delay the stop.
            () = async { stop.cancelled().await; tokio::time::sleep(FAREWELL).await } => {}
        }
    });
    let response = Response::builder()
        .status(StatusCode::SWITCHING_PROTOCOLS)
        .header(header::CONNECTION, "upgrade")
        .header(header::UPGRADE, "websocket")
        .header(header::SEC_WEBSOCKET_ACCEPT, derive_accept_key(key.as_bytes()))
        .body(Body::empty());
    response.map_err(|error| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))
}

/// The key of a WebSocket handshake, if it is one.
fn handshake(headers: &HeaderMap) -> Option<String> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let is_upgrade = text(header::UPGRADE)?.eq_ignore_ascii_case("websocket")
        && text(header::CONNECTION)?.to_ascii_lowercase().contains("upgrade")
        && text(header::SEC_WEBSOCKET_VERSION)? == "13";
    text(header::SEC_WEBSOCKET_KEY).filter(|_| is_upgrade).map(str::to_owned)
}

/// Sends the events until the run is over or the client leaves.
async fn send_all(connection: Upgraded, mut watcher: ApiWatcher) -> Result<(), Error> {
    let config = WebSocketConfig::default().max_message_size(Some(LARGEST)).max_frame_size(Some(LARGEST));
    let mut socket = WebSocketStream::from_raw_socket(TokioIo::new(connection), Role::Server, Some(config)).await;
    let late = || Error::Io(std::io::ErrorKind::TimedOut.into());
    loop {
        let frames: Vec<Frame> = tokio::select! {
            news = watcher.next() => match news {
                WatchedNews::Events(events) => {
                    events.iter().map(|event| Frame::text(serde_json::to_string(event).unwrap_or_default())).collect()
                }
                WatchedNews::Silence => vec![Frame::Ping(Vec::new().into())],
                WatchedNews::Gone => return socket.close(Some(end(CloseCode::Error, "the run was removed"))).await,
                WatchedNews::End => return socket.close(Some(end(CloseCode::Normal, ""))).await,
            },
            heard = socket.next() => match heard {
                None => return Ok(()),
                Some(Ok(Frame::Close(_))) => {
                    // The library has put an answer to it into the queue. The client may be gone already.
                    let _ = tokio::time::timeout(FAREWELL, socket.flush()).await;
                    return Ok(());
                }
                // Pings are answered by the library.
                Some(Ok(_)) => Vec::new(),
                Some(Err(error)) => return Err(error),
            },
        };
        for frame in frames {
            tokio::time::timeout(PATIENCE, socket.send(frame)).await.map_err(|_| late())??;
        }
    }
}

fn end(code: CloseCode, reason: &'static str) -> CloseFrame {
    CloseFrame { code, reason: reason.into() }
}
