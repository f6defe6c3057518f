//! The handlers that Restate calls, over HTTP: one request is one invocation, and one response ends it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use tokio::net::TcpListener;

use crate::hosted_workspace::HostedWorkspace;
use crate::identity::IdentityKeys;
use crate::invocation::{Command, Invocation, answer, failure};
use crate::limits_object::{self, LIMITS};
use crate::manifest::{VERSIONS, manifest};
use crate::runs_object::HandlerFault;
use crate::workspaces_object::{self, WORKSPACES};

/// The longest request: Restate's own limit for a message is half of it.
const LONGEST: usize = 64 << 20;
/// How Restate names a version of the protocol for invocations.
const INVOCATION: &str = "application/vnd.restate.invocation.v";
/// A description of the handlers, in the version that we write.
pub(crate) const MANIFEST: &str = "application/vnd.restate.endpointmanifest.v4+json";

/// What the handlers need.
pub(crate) struct Endpoint {
    /// The workspaces that this process works in.
    pub(crate) workspaces: Vec<Arc<HostedWorkspace>>,
    /// Who may call.
    pub(crate) identity: IdentityKeys,
    /// The workers of this process whose place another machine has taken. Registered again, they would take it back.
    pub(crate) taken: Mutex<BTreeSet<String>>,
}

/// Serves the handlers. Runs that are being stopped still need them, so this ends with the process.
pub(crate) async fn serve(listener: TcpListener, endpoint: Arc<Endpoint>) {
    let router = Router::new()
        .route("/discover", get(discover))
        .route("/invoke/{service}/{handler}", post(invoke))
        .layer(DefaultBodyLimit::max(LONGEST))
        .layer(middleware::from_fn_with_state(Arc::clone(&endpoint), check_sender))
        .with_state(endpoint);
    // Without this, each answer waits for the acknowledgement of the one before: 40 ms.
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    let served = axum::serve(listener, router).await;
    if let Err(error) = served {
        tracing::error!(%error, "Restate can no longer call this worker");
    }
}

/// Lets only our Restate in, before anything of the request is read.
async fn check_sender(State(endpoint): State<Arc<Endpoint>>, request: Request, next: Next) -> Response {
    match endpoint.identity.check(request.headers(), request.uri().path(), milliseconds_now() / 1000) {
        Ok(()) => next.run(request).await,
        Err(why) => {
            tracing::warn!(path = request.uri().path(), why, "a request was refused");
            respond(StatusCode::UNAUTHORIZED, HeaderValue::from_static("text/plain"), why.as_bytes().to_vec())
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "signatures and limits are about the time of day")]
fn milliseconds_now() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| since.as_millis() as u64)
}

async fn discover(State(endpoint): State<Arc<Endpoint>>) -> Response {
    let manifest = {
        let taken = endpoint.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let names = endpoint.workspaces.iter().map(|workspace| &workspace.log.names);
        manifest(names.filter(|names| !taken.contains(names.worker())))
    };
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
    /// Leaves workers out when this process is registered again, since another machine has taken their place.
    pub(crate) fn leave_out(&self, workers: BTreeSet<String>) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        for worker in workers {
            if !taken.contains(&worker) {
                tracing::error!(worker, "another machine has taken the place of this worker; stop it");
                taken.insert(worker);
            }
        }
    }

    /// What a handler does; `None` if there is no such handler.
    async fn carry_out(
        &self,
        service: &str,
        handler: &str,
        invocation: &Invocation,
    ) -> Option<Result<Vec<Command>, HandlerFault>> {
        match service {
            WORKSPACES => return Some(workspaces_object::carry_out(handler, invocation)),
            LIMITS => return Some(limits_object::carry_out(handler, invocation, milliseconds_now())),
            _ => {}
        }
        for workspace in &self.workspaces {
            if let Some(result) = Box::pin(workspace.carry_out(service, handler, invocation)).await {
                return Some(result);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::ingress::Ingress;
    use crate::run_log::{FoldedRuns, RunLog};
    use crate::service_names::ServiceNames;

    #[tokio::test]
    async fn a_workspace_that_another_machine_has_is_not_offered_any_more() {
        let hosted = |name: &str| {
            let ingress = Ingress::new("http://127.0.0.1:1", None, CancellationToken::new()).unwrap();
            let log = RunLog { ingress, names: ServiceNames::new(name).unwrap() };
            let (folded, machine) = (FoldedRuns::default(), "m1".to_owned());
            Arc::new(HostedWorkspace { log, folded, hands: Arc::default(), changes: Arc::default(), machine })
        };
        let workspaces = vec![hosted("w1"), hosted("w2")];
        let endpoint = Endpoint { workspaces, identity: IdentityKeys::default(), taken: Mutex::default() };
        endpoint.leave_out(BTreeSet::from(["w1".to_owned()]));
        let response = discover(State(Arc::new(endpoint))).await;
        let body = axum::body::to_bytes(response.into_body(), LONGEST).await.unwrap();
        let manifest = String::from_utf8(body.to_vec()).unwrap();
        let offers = ["Runs.w1", "Runs.w2", WORKSPACES, LIMITS].map(|name| manifest.contains(&format!("\"{name}\"")));
        assert_eq!(offers, [false, true, true, true]);
    }
}
