//! The handlers that Restate calls, over HTTP: one request is one invocation, and one response ends it.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use serde_json::json;
use tokio::net::TcpListener;

use crate::hands::Hands;
use crate::invocation::{Command, Invocation, answer, failure};
use crate::messages::LogEntry;
use crate::run_log::{FoldedRuns, RunLog};
use crate::runs_object::{self, ENTRY, HandlerFault, commands_of, head_of, parse};

/// The longest request: Restate's own limit for a message is half of it.
const LONGEST: usize = 64 << 20;
/// How Restate names a version of the protocol for invocations. What is used here is the same in all of these.
const INVOCATION: &str = "application/vnd.restate.invocation.v";
const VERSIONS: [u32; 2] = [5, 6];
/// A description of the handlers, in the version that we write.
pub(crate) const MANIFEST: &str = "application/vnd.restate.endpointmanifest.v4+json";
/// How long Restate remembers the key of a request.
const KEYS: u64 = 24 * 60 * 60 * 1000;

/// The shortest and the longest time between two attempts, in milliseconds; and how many there are before Restate waits
/// for a person.
const FIRST_RETRY: u64 = 50;
const RETRY_INTERVAL: u64 = 1000;
const RETRIES: u64 = 1_000_000_000;
/// How long Restate waits for an answer before it tries again, in milliseconds, in two parts: handlers take milliseconds, but
/// if the network is cut, nobody says that no answer will come. By its own settings it waits for eleven minutes.
const SILENCE: u64 = 20_000;

/// What the handlers need.
pub(crate) struct Endpoint {
    pub(crate) log: RunLog,
    pub(crate) folded: FoldedRuns,
    pub(crate) hands: Arc<Hands>,
}

/// Serves the handlers. Runs that are being stopped still need them, so this ends with the process.
pub(crate) async fn serve(listener: TcpListener, endpoint: Arc<Endpoint>) {
    let router = Router::new()
        .route("/discover", get(discover))
        .route("/invoke/{service}/{handler}", post(invoke))
        .layer(DefaultBodyLimit::max(LONGEST))
        .with_state(endpoint);
    // Without this, each answer waits for the acknowledgement of the one before: 40 ms.
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    let served = axum::serve(listener, router).await;
    if let Err(error) = served {
        tracing::error!(%error, "Restate can no longer call this worker");
    }
}

async fn discover(State(endpoint): State<Arc<Endpoint>>) -> Response {
    let names = &endpoint.log.names;
    // A worker may be away for long, and is needed as soon as it is back.
    let service = |name: String, kind: &str, handlers: serde_json::Value| {
        json!({
            "name": name, "ty": kind, "handlers": handlers, "idempotencyRetention": KEYS, "journalRetention": 0,
            "retryPolicyInitialInterval": FIRST_RETRY, "retryPolicyMaxInterval": RETRY_INTERVAL,
            "retryPolicyMaxAttempts": RETRIES, "inactivityTimeout": SILENCE, "abortTimeout": SILENCE,
        })
    };
    let handler = |name: &str, kind: &str| json!({ "name": name, "ty": kind });
    // Nobody but the handlers themselves writes to the log and hands effects over.
    let put = json!({ "name": "put", "ty": "EXCLUSIVE", "ingressPrivate": true });
    let perform = json!({ "name": "perform", "ingressPrivate": true });
    let runs = ["attach", "adopt", "advance", "tell"].map(|name| handler(name, "EXCLUSIVE"));
    let runs = json!([runs[0], runs[1], runs[2], runs[3], handler("head", "SHARED")]);
    let manifest = json!({
        "protocolMode": "REQUEST_RESPONSE",
        "minProtocolVersion": VERSIONS[0],
        "maxProtocolVersion": VERSIONS[VERSIONS.len() - 1],
        "services": [
            service(names.runs(), "VIRTUAL_OBJECT", runs),
            service(names.log(), "VIRTUAL_OBJECT", json!([put, handler("read", "SHARED")])),
            service(names.hands(), "SERVICE", json!([perform])),
        ],
    });
    respond(StatusCode::OK, HeaderValue::from_static(MANIFEST), manifest.to_string().into_bytes())
}

async fn invoke(
    State(endpoint): State<Arc<Endpoint>>,
    Path((service, handler)): Path<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let plain = HeaderValue::from_static("text/plain");
    let kind = headers.get(header::CONTENT_TYPE).filter(|kind| is_known(kind)).cloned();
    let Some(kind) = kind else {
        return respond(StatusCode::UNSUPPORTED_MEDIA_TYPE, plain, b"another version of the protocol".to_vec());
    };
    let invocation = match Invocation::read(&body) {
        Ok(invocation) => invocation,
        Err(fault) => return respond(StatusCode::BAD_REQUEST, plain, fault.to_string().into_bytes()),
    };
    let Some(result) = endpoint.carry_out(&service, &handler, &invocation).await else {
        return respond(StatusCode::NOT_FOUND, plain, format!("there is no {service}/{handler}").into_bytes());
    };
    let commands = match result {
        Ok(commands) => commands,
        Err(HandlerFault::Refused(status, why)) => vec![Command::Refuse { status, why }],
        Err(HandlerFault::Later(why)) => {
            tracing::warn!(service, handler, why, "a request of Restate has to wait");
            return respond(StatusCode::OK, kind, failure(&why));
        }
    };
    respond(StatusCode::OK, kind, answer(&commands, invocation.replayed.len()))
}

fn is_known(kind: &HeaderValue) -> bool {
    let version = kind.to_str().ok().and_then(|kind| kind.strip_prefix(INVOCATION)).and_then(|n| n.parse().ok());
    version.is_some_and(|version: u32| VERSIONS.contains(&version))
}

fn respond(status: StatusCode, kind: HeaderValue, body: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    let own = HeaderValue::from_static(concat!("updraft/", env!("CARGO_PKG_VERSION")));
    response.headers_mut().insert("x-restate-server", own);
    response
}

impl Endpoint {
    /// What a handler does; `None` if there is no such handler.
    async fn carry_out(
        &self,
        service: &str,
        handler: &str,
        invocation: &Invocation,
    ) -> Option<Result<Vec<Command>, HandlerFault>> {
        let names = &self.log.names;
        let result = if service == names.runs() {
            match handler {
                "attach" => runs_object::attach(invocation),
                "adopt" => self.adopt(invocation),
                "advance" | "tell" => Box::pin(self.decide(handler, invocation)).await,
                "head" => head_of(invocation).and_then(|head| Ok(vec![Command::Output(runs_object::json(&head)?)])),
                _ => return None,
            }
        } else if service == names.log() {
            match handler {
                "put" => Ok(vec![
                    Command::Set { key: ENTRY, value: invocation.input.clone() },
                    Command::Output(b"null".to_vec()),
                ]),
                "read" => {
                    let entry = invocation.state.get(ENTRY).cloned();
                    Ok(vec![Command::Output(entry.unwrap_or_else(|| b"null".to_vec()))])
                }
                _ => return None,
            }
        } else if service == names.hands() && handler == "perform" {
            self.perform(invocation).await
        } else {
            return None;
        };
        Some(result)
    }

    fn adopt(&self, invocation: &Invocation) -> Result<Vec<Command>, HandlerFault> {
        let entry = if let Some(stored) = invocation.replayed.first() {
            parse(stored)?
        } else {
            let (entry, folded) = runs_object::adopt(invocation)?;
            self.folded.keep(&invocation.key, folded);
            entry
        };
        commands_of(&invocation.key, &entry, &self.log.names)
    }

    async fn decide(&self, handler: &str, invocation: &Invocation) -> Result<Vec<Command>, HandlerFault> {
        let run = &invocation.key;
        // A decision that was stored is completed, and not taken again.
        if let Some(stored) = invocation.replayed.first() {
            let entry: LogEntry = parse(stored)?;
            return commands_of(run, &entry, &self.log.names);
        }
        let folded = self.folded.take(&self.log, run, head_of(invocation)?).await?;
        let decided = match handler {
            "tell" => runs_object::tell(parse(&invocation.input)?, folded),
            _ => runs_object::advance(&parse(&invocation.input)?, folded),
        };
        let (entry, folded) = decided?;
        self.folded.keep(run, folded);
        commands_of(run, &entry, &self.log.names)
    }

    async fn perform(&self, invocation: &Invocation) -> Result<Vec<Command>, HandlerFault> {
        self.hands.take(parse(&invocation.input)?).await?;
        Ok(vec![Command::Output(b"null".to_vec())])
    }
}
