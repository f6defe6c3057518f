//! Over HTTP: one address, one path, and nobody without the token.

use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use updraft_mcp::server::{self, Handler};

use crate::token::Token;

/// How long clients have to leave when we stop.
const GRACE: Duration = Duration::from_secs(2);

/// How a server is reached over HTTP.
pub struct Host {
    /// Where it listens.
    pub listener: TcpListener,
    /// What must be shown.
    pub token: Token,
    /// Names it may be called by, besides those of this machine.
    pub hosts: Vec<String>,
    /// Web pages that may use it, besides those of this machine.
    pub origins: Vec<String>,
    /// Cancelled when the process is to stop.
    pub stop: CancellationToken,
}

/// Serves `/mcp` until it is stopped.
pub async fn serve(host: Host, handler: &Handler) -> std::io::Result<()> {
    let Host { listener, token, hosts, origins, stop } = host;
    let service = server::http(handler, &hosts, &origins, stop.clone());
    let router = Router::new().route_service("/mcp", service).layer(from_fn_with_state(token, only_with_token));
    // An answer is written in several pieces, and must not wait for the client to acknowledge the first.
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    let serving = axum::serve(listener, router).with_graceful_shutdown(stop.clone().cancelled_owned());
    tokio::select! {
        ended = serving => ended,
        // A stream that a client keeps open does not keep us.
        () = async { stop.cancelled().await; tokio::time::sleep(GRACE).await } => Ok(()),
    }
}

async fn only_with_token(State(token): State<Token>, request: Request, next: Next) -> Response {
    let shown = request.headers().get(header::AUTHORIZATION).and_then(|shown| shown.to_str().ok());
    let shown = shown.and_then(|shown| shown.split_once(' ')).filter(|(way, _)| way.eq_ignore_ascii_case("bearer"));
    if shown.is_some_and(|(_, shown)| token.is(shown)) {
        return next.run(request).await;
    }
    let text = "show the token: `Authorization: Bearer TOKEN`; `updraft serve` says at its start where it is kept\n";
    (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer realm=\"updraft\"")], text).into_response()
}
