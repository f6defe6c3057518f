//! The HTTP server: one address for MCP, the page, the API and metrics, and no access without the token or what it gave.

use std::time::Duration;

use axum::Router;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use updraft_mcp::server::{self, McpHandler};
use updraft_workbench::UpdraftService;

use crate::a2a;
use crate::admission::{AdmissionSlot, WaitingListener};
use crate::api;
use crate::bearer::BearerAccess;
use crate::metrics;
use crate::openai::{self, OpenAiState};
use crate::page::{self, PageAccess, PageAddress};
use crate::tls::TlsIdentity;
use crate::token::ServeToken;
use crate::unread_body::close_unread;
use crate::users::UserFile;
use crate::webhooks::Webhooks;

/// How long clients have to disconnect when the server stops.
const GRACE: Duration = Duration::from_secs(2);

/// The settings of the HTTP server.
pub struct HttpHost {
    /// The listening socket.
    pub listener: TcpListener,
    /// The token that clients must show.
    pub token: ServeToken,
    /// Host names it may be called by, besides those of this machine.
    pub hosts: Vec<String>,
    /// Web pages that may use it, besides those of this machine.
    pub origins: Vec<String>,
    /// The certificate, if connections are to be encrypted.
    pub tls: Option<TlsIdentity>,
    /// The service that the page shows, if there is to be a page.
    pub page: Option<UpdraftService>,
    /// Who may use the page besides the owner of the token.
    pub users: UserFile,
    /// Other servers that are told about runs.
    pub webhooks: Webhooks,
    /// Cancelled when the process is to stop.
    pub stop: CancellationToken,
}

// A method, not a function: see CONTRIBUTING.md on public async functions.
impl HttpHost {
    /// Serves `/mcp`, and the page, until it is stopped.
    pub async fn serve(self, handler: &McpHandler) -> std::io::Result<()> {
        crate::priority::yield_to_runs();
        let HttpHost { listener, token, hosts, origins, tls, page, users, webhooks, stop } = self;
        let names: Vec<String> = hosts.iter().cloned().chain(tls.iter().flat_map(TlsIdentity::names)).collect();
        let service = server::http(handler, &names, &origins, stop.clone());
        let guard = from_fn_with_state(token.clone(), only_with_token);
        let told = page.clone();
        let router = match page {
            Some(service_of_page) => {
                let address = PageAddress { bound: listener.local_addr()?, hosts, tls: tls.clone() };
                let programs = BearerAccess::new(token.clone(), users.clone()).named(&names, &origins, tls.as_ref());
                let api = api::router(service_of_page.clone(), programs.clone(), webhooks.clone(), stop.clone());
                let a2a = a2a::router(service_of_page.clone(), programs.clone(), tls.is_some(), stop.clone());
                let origin = address.origin();
                let service_of_openai = service_of_page.clone();
                let metrics = metrics::router(service_of_page.clone(), programs.clone());
                let (key, stop_of_openai) = (token.key("questions in a chat"), stop.clone());
                let openai =
                    OpenAiState { service: service_of_openai, access: programs, origin, key, stop: stop_of_openai };
                let access = PageAccess::new(token, address, users);
                let page = page::router(service_of_page, access, stop.clone());
                let router = Router::new().route_service("/mcp", service).layer(guard);
                router.merge(api).merge(a2a).merge(openai::router(openai)).merge(metrics).merge(page)
            }
            None => Router::new().route_service("/mcp", service).layer(guard),
        };
        let router = router.layer(from_fn(close_unread));
        let visitors = router.into_make_service_with_connect_info::<AdmissionSlot>();
        let serving = axum::serve(WaitingListener::of(listener, tls), visitors)
            .with_graceful_shutdown(stop.clone().cancelled_owned());
        let telling = async {
            if let Some(service) = &told {
                webhooks.deliver(service, &stop).await;
            }
            // The server goes on, whether or not there is somebody to tell.
            std::future::pending::<()>().await;
        };
        tokio::select! {
            ended = serving => ended,
            () = telling => Ok(()),
            // A stream that a client keeps open does not delay the stop.
            () = async { stop.cancelled().await; tokio::time::sleep(GRACE).await } => Ok(()),
        }
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
        // A CORS preflight request of a browser contains no token.
        return answer_for(page, next.run(request).await);
    }
    let shown = request.headers().get(header::AUTHORIZATION).and_then(|shown| shown.to_str().ok());
    let shown = shown.and_then(|shown| shown.split_once(' ')).filter(|(way, _)| way.eq_ignore_ascii_case("bearer"));
    if shown.is_some_and(|(_, shown)| token.is(shown)) {
        seat.let_in();
        return answer_for(page, next.run(request).await);
    }
    let text =
        "send the token: `Authorization: Bearer TOKEN`; `updraft serve` prints at its start where it is stored\n";
    // A client without the token gets no further requests on this connection.
    let headers = [(header::WWW_AUTHENTICATE, "Bearer realm=\"updraft\""), (header::CONNECTION, "close")];
    (StatusCode::UNAUTHORIZED, headers, text).into_response()
}

/// A request that a web page makes through a browser, which has to know whether the page may read the answer.
pub(crate) struct CorsRequest {
    origin: HeaderValue,
    /// The headers that the page wants to send, in a preflight request.
    headers: Option<HeaderValue>,
}

impl CorsRequest {
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let origin = headers.get(header::ORIGIN)?.clone();
        Some(Self { origin, headers: headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned() })
    }
}

/// Adds the CORS headers, so that a page gets the answer. The inner service has already decided whether the page may
/// make the request: for a page that is not allowed, nothing is done and nothing is added.
pub(crate) fn answer_for(page: Option<CorsRequest>, mut response: Response) -> Response {
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
        say(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, PUT, DELETE"));
        say(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
        // Newer browsers ask in addition before a page of the web may reach this machine.
        say(HeaderName::from_static("access-control-allow-private-network"), HeaderValue::from_static("true"));
        if let Some(headers) = headers {
            say(header::ACCESS_CONTROL_ALLOW_HEADERS, headers);
        }
    } else {
        say(
            header::ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static("Location, Mcp-Session-Id, WWW-Authenticate"),
        );
    }
    response
}
