//! Serves a handler over standard input and output, or as a service for an HTTP server.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use rmcp::service::QuitReason;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{RoleServer, ServiceExt};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::sync::CancellationToken;

use super::handler::McpHandler;
use super::http_transport::{self, HttpService};
use super::stream_transport::StreamTransport;

/// How a conversation over a pair of streams ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConversationEnd {
    /// The client closed the stream.
    Left,
    /// The server was told to stop.
    Stopped,
}

/// Serves on standard input and output until the client leaves or `stop` is cancelled. The error says what went wrong.
pub async fn over_stdio(handler: &McpHandler, stop: CancellationToken) -> Result<ConversationEnd, String> {
    let (input, output) = rmcp::transport::io::stdio_pipes();
    over(handler, input, output, stop).await
}

/// Serves over a pair of streams, with one JSON message per line.
pub async fn over<R, W>(
    handler: &McpHandler,
    input: R,
    output: W,
    stop: CancellationToken,
) -> Result<ConversationEnd, String>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let handler = handler.another();
    let transport = StreamTransport::new(EofDetector { input, handler: handler.clone() }, output);
    let serving = ServiceExt::<RoleServer>::serve_with_ct(handler, transport, stop.child_token());
    let running = tokio::select! {
        begun = serving => begun,
        () = stop.cancelled() => return Ok(ConversationEnd::Stopped),
    };
    let running = match running {
        Ok(running) => running,
        // It is not an error if a client leaves before its first message.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(ConversationEnd::Left),
        // Either of the two cases above may notice this first.
        Err(_) if stop.is_cancelled() => return Ok(ConversationEnd::Stopped),
        Err(error) => return Err(format!("the client did not begin as the protocol asks: {error}")),
    };
    match running.waiting().await {
        Ok(QuitReason::Cancelled) => Ok(ConversationEnd::Stopped),
        Ok(_) => Ok(ConversationEnd::Left),
        Err(error) => Err(format!("the connection was interrupted: {error}")),
    }
}

/// Notices the end of the stream before the SDK does: a request that is cancelled after it was not cancelled by the
/// client.
struct EofDetector<R> {
    input: R,
    handler: McpHandler,
}

impl<R: AsyncRead + Unpin> AsyncRead for EofDetector<R> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<std::io::Result<()>> {
        let before = into.filled().len();
        let polled = Pin::new(&mut self.input).poll_read(cx, into);
        let is_end = match &polled {
            Poll::Ready(Ok(())) => into.filled().len() == before && into.remaining() > 0,
            Poll::Ready(Err(_)) => true,
            Poll::Pending => false,
        };
        if is_end {
            self.handler.session().has_left.store(true, Ordering::Relaxed);
        }
        polled
    }
}

/// A service for an HTTP server. `hosts` are the host names it may be called by, and `origins` the web pages that may
/// use it, besides those of this machine.
pub fn http(handler: &McpHandler, hosts: &[String], origins: &[String], stop: CancellationToken) -> HttpService {
    let own = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let local = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"].map(str::to_owned);
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(own.into_iter().chain(hosts.iter().cloned()))
        .with_allowed_origins(local.into_iter().chain(origins.iter().cloned()))
        .enforce_origin_validation()
        .with_max_request_body_bytes(http_transport::LARGEST)
        .with_cancellation_token(stop);
    let handler = handler.clone();
    let sessions = Arc::new(LocalSessionManager::default());
    HttpService::new(StreamableHttpService::new(move || Ok(handler.another()), sessions, config))
}
