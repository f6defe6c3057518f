//! The handshake of the bridge: accepts WebSocket connections and checks their token.
//!
//! Before that, little is read and nothing is stored: the first message is small, and bytes are read one by one, so
//! that what follows the token is still in the stream when it is read on with larger limits.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::{SinkExt, StreamExt};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::http::{StatusCode, header};
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message as Frame};
use tokio_tungstenite::{WebSocketStream, accept_hdr_async_with_config};

use super::wire::{self, BridgeFault, INVALID, LARGEST, NOT_LET_IN};
use crate::token::ServeToken;

/// Maximum bytes of the message with the token, and of the buffer for it.
const FIRST: usize = 4 << 10;
/// Maximum bytes that are read between the handshake and the token.
const READ: usize = 4 * FIRST;

pub(super) type HostSocket = WebSocketStream<TcpStream>;

/// Accepts a connection and checks its token; `None` if the token was not shown.
pub(super) async fn enter(stream: TcpStream, token: &ServeToken) -> Result<Option<HostSocket>, Error> {
    let mut is_let_in = false;
    #[expect(clippy::result_large_err, reason = "the library's own type")]
    let check = |request: &Request, response: Response| {
        is_let_in = shown_at_the_door(request, token)?;
        Ok(response)
    };
    let small = WebSocketConfig::default().max_message_size(Some(FIRST)).max_frame_size(Some(FIRST));
    let small = small.read_buffer_size(FIRST);
    // Nothing of the first message is read here: a client that sends it before it has our answer is refused.
    let mut stream = accept_hdr_async_with_config(stream, check, Some(small)).await?.into_inner();
    if !is_let_in {
        let sipped = ByteLimitedStream { stream, left: READ };
        let mut socket = WebSocketStream::from_raw_socket(sipped, Role::Server, Some(small)).await;
        if !first_message(&mut socket, token).await? {
            let why = CloseFrame { code: CloseCode::Policy, reason: "send the token first".into() };
            socket.close(Some(why)).await?;
            return Ok(None);
        }
        stream = socket.into_inner().stream;
    }
    let large = WebSocketConfig::default().max_message_size(Some(LARGEST)).max_frame_size(Some(LARGEST));
    Ok(Some(WebSocketStream::from_raw_socket(stream, Role::Server, Some(large)).await))
}

/// Whether the first message contains the token. Control frames such as pings are ignored.
async fn first_message(socket: &mut WebSocketStream<ByteLimitedStream>, token: &ServeToken) -> Result<bool, Error> {
    let first = loop {
        match socket.next().await.transpose()? {
            Some(Frame::Text(text)) => break wire::read(text.as_str()),
            Some(Frame::Binary(_)) => break Err(wire::MalformedMessage::alone(INVALID, "send text, not bytes")),
            Some(Frame::Ping(_) | Frame::Pong(_) | Frame::Frame(_)) => {}
            Some(Frame::Close(_)) | None => return Ok(false),
        }
    };
    let (id, given) = match first {
        Ok(message) => {
            let is_right = message.method == "auth" && token.is(message.params["token"].as_str().unwrap_or_default());
            let refused = || BridgeFault::new(NOT_LET_IN, "wrong token; the first message is `auth` with the `token`");
            (message.id, if is_right { Ok(json!({ "success": true })) } else { Err(refused()) })
        }
        Err(unread) => (unread.id, Err(unread.fault)),
    };
    let is_right = given.is_ok();
    socket.send(Frame::text(wire::answer(&id, given))).await?;
    Ok(is_right)
}

/// A stream that delivers one byte at a time, up to a limit.
struct ByteLimitedStream {
    stream: TcpStream,
    left: usize,
}

impl AsyncRead for ByteLimitedStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.left == 0 {
            return Poll::Ready(Err(io::Error::other("too much was sent before the token")));
        }
        let mut byte = [0];
        let mut sip = ReadBuf::new(&mut byte);
        let polled = Pin::new(&mut self.stream).poll_read(cx, &mut sip);
        self.left -= sip.filled().len();
        into.put_slice(sip.filled());
        polled
    }
}

impl AsyncWrite for ByteLimitedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// Whether the request contained the token; an error if the token was wrong, or if the request comes from a web page.
#[expect(clippy::result_large_err, reason = "the library's own type")]
fn shown_at_the_door(request: &Request, token: &ServeToken) -> Result<bool, ErrorResponse> {
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
            "send the token in a header or the first message, not in the address",
        ));
    }
    let Some(shown) = request.headers().get(header::AUTHORIZATION) else { return Ok(false) };
    let shown = shown.to_str().unwrap_or_default();
    match shown.split_once(' ') {
        Some((way, shown)) if way.eq_ignore_ascii_case("bearer") && token.is(shown) => Ok(true),
        _ => Err(refuse(StatusCode::UNAUTHORIZED, "wrong token")),
    }
}
