//! Over HTTP: one address, one path, and nobody without the token.

use std::time::Duration;

use axum::Router;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use updraft_mcp::server::{self, McpHandler};

use crate::token::ServeToken;
use crate::visitors::{AdmissionSlot, WaitingListener};

/// How long clients have to leave when we stop.
const GRACE: Duration = Duration::from_secs(2);

/// How a server is reached over HTTP.
pub struct HttpHost {
    /// Where it listens.
    pub listener: TcpListener,
    /// What must be shown.
    pub token: ServeToken,
    /// Names it may be called by, besides those of this machine.
    pub hosts: Vec<String>,
    /// Web pages that may use it, besides those of this machine.
    pub origins: Vec<String>,
    /// Cancelled when the process is to stop.
    pub stop: CancellationToken,
}

/// Serves `/mcp` until it is stopped.
pub async fn serve(host: HttpHost, handler: &McpHandler) -> std::io::Result<()> {
    let HttpHost { listener, token, hosts, origins, stop } = host;
    let service = server::http(handler, &hosts, &origins, stop.clone());
    let router = Router::new().route_service("/mcp", service).layer(from_fn_with_state(token, only_with_token));
    let visitors = router.into_make_service_with_connect_info::<AdmissionSlot>();
    let serving =
        axum::serve(WaitingListener::of(listener), visitors).with_graceful_shutdown(stop.clone().cancelled_owned());
    tokio::select! {
        ended = serving => ended,
        // A stream that a client keeps open does not keep us.
        () = async { stop.cancelled().await; tokio::time::sleep(GRACE).await } => Ok(()),
    }
}

async fn only_with_token(
    State(token): State<ServeToken>,
    ConnectInfo(seat): ConnectInfo<AdmissionSlot>,
    request: Request,
    next: Next,
) -> Response {
    let page = CorsRequest::of(request.headers());
    if page.is_some() && request.method() == Method::OPTIONS {
        // A browser asks for a page whether it may ask; it shows no token with that.
        return answer_for(page, next.run(request).await);
    }
    let shown = request.headers().get(header::AUTHORIZATION).and_then(|shown| shown.to_str().ok());
    let shown = shown.and_then(|shown| shown.split_once(' ')).filter(|(way, _)| way.eq_ignore_ascii_case("bearer"));
    if shown.is_some_and(|(_, shown)| token.is(shown)) {
        seat.let_in();
        return answer_for(page, next.run(request).await);
    }
    let text = "show the token: `Authorization: Bearer TOKEN`; `updraft serve` says at its start where it is kept\n";
    // Whoever does not know it has no more to say here.
    let headers = [(header::WWW_AUTHENTICATE, "Bearer realm=\"updraft\""), (header::CONNECTION, "close")];
    (StatusCode::UNAUTHORIZED, headers, text).into_response()
}

/// A web page that asks, through a browser, which wants to know whether the page may read the answer.
struct CorsRequest {
    origin: HeaderValue,
    /// The headers that it wants to send, where the browser asks beforehand.
    headers: Option<HeaderValue>,
}

impl CorsRequest {
    fn of(headers: &HeaderMap) -> Option<Self> {
        let origin = headers.get(header::ORIGIN)?.clone();
        Some(Self { origin, headers: headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned() })
    }
}

/// What a browser must be told so that a page gets the answer. Whether the page may ask was decided by who answered:
/// nothing is done for one that is not allowed, and it is told nothing.
fn answer_for(page: Option<CorsRequest>, mut response: Response) -> Response {
    let Some(CorsRequest { origin, headers }) = page else { return response };
    if response.status() == StatusCode::FORBIDDEN {
        return response;
    }
    let is_beforehand = response.status() == StatusCode::METHOD_NOT_ALLOWED;
    if is_beforehand {
        response = StatusCode::NO_CONTENT.into_response();
    }
    let mut say = |name: HeaderName, value: HeaderValue| drop(response.headers_mut().insert(name, value));
    say(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    say(header::VARY, HeaderValue::from_static("Origin"));
    if is_beforehand {
        say(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, DELETE"));
        say(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
        // Newer browsers ask once more before a page of the web may reach this machine.
        say(HeaderName::from_static("access-control-allow-private-network"), HeaderValue::from_static("true"));
        if let Some(headers) = headers {
            say(header::ACCESS_CONTROL_ALLOW_HEADERS, headers);
        }
    } else {
        say(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("Mcp-Session-Id, WWW-Authenticate"));
    }
    response
}
