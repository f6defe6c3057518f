//! The door for other agents: A2A 1.0, with runs as tasks and conversations as contexts.
//!
//! What another agent is told is read from the journal, so a task outlives this process. What A2A knows of a task and a
//! run does not, the messages as they were sent and the name of the context, is kept beside the journal as notes.
//!
//! | file | what it is about |
//! |---|---|
//! | `json_rpc.rs`, `rest.rs` | the two bindings: `POST /a2a`, and `/a2a/v1/…` |
//! | `operations.rs` | what both call |
//! | `agent_card.rs` | who this agent is, for everybody and for those with a token |
//! | `sent_message.rs`, `send.rs` | messages as they are sent; tasks that they begin or continue |
//! | `task_note.rs`, `task_json.rs`, `task_list.rs` | what is kept of a task; how it is written; lists of tasks |
//! | `task_stream.rs`, `push.rs` | tasks followed; other servers that are told |
//! | `field_names.rs`, `failure.rs` | the names of fields; errors |

#![allow(clippy::unused_async, reason = "axum takes async functions, also where nothing is awaited")]

mod agent_card;
mod failure;
mod field_names;
mod json_rpc;
mod operations;
mod push;
mod rest;
mod send;
mod sent_message;
mod task_json;
mod task_list;
mod task_note;
mod task_stream;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Bytes, HttpBody as _};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::{any, get, post};
use tokio_util::sync::CancellationToken;
use updraft_workbench::UpdraftService;

use crate::admission::AdmissionSlot;
use crate::bearer::BearerAccess;
use crate::bearer_gate::{BearerGate, GateRefusal};
use crate::route_handler::handler;
use failure::{A2aErrorKind, A2aFailure};

/// The version of the protocol that is spoken here.
const VERSION: &str = "1.0";
/// Most bytes of a request: files of 24 MB as text.
const MOST_BYTES: usize = 32 << 20;
/// How long a client may take to send its request.
const PATIENCE: Duration = Duration::from_mins(1);

/// What every part of this door needs.
pub(crate) struct A2aState {
    service: UpdraftService,
    access: BearerAccess,
    is_encrypted: bool,
    /// Held while a task begins, so that the same message sent twice at once begins one.
    beginning: tokio::sync::Mutex<()>,
    /// Cancelled when the server stops: open streams end.
    stop: CancellationToken,
}

/// The routes. Messages for other servers that wait are sent on.
pub(crate) fn router(
    service: UpdraftService,
    access: BearerAccess,
    is_encrypted: bool,
    stop: CancellationToken,
) -> Router {
    let state = Arc::new(A2aState { service, access, is_encrypted, beginning: tokio::sync::Mutex::default(), stop });
    push::resume(&state);
    let for_all = Router::new().route("/.well-known/agent-card.json", get(handler(agent_card::show)));
    let routes = Router::new()
        .route("/a2a", post(handler(json_rpc::answer)))
        .route("/a2a/v1", any(handler(rest::answer)))
        .route("/a2a/v1/{*path}", any(handler(rest::answer)))
        .layer(from_fn_with_state(Arc::clone(&state), check));
    for_all.merge(routes).with_state(state)
}

/// What each program may do is decided by operation.
const GATE: BearerGate = BearerGate { prefix: "", needs: |_| None, refuse };

/// Lets programs in that show a token.
async fn check(
    State(state): State<Arc<A2aState>>,
    ConnectInfo(slot): ConnectInfo<AdmissionSlot>,
    request: Request,
    next: Next,
) -> Response {
    GATE.pass(&state.access, &slot, request, next).await
}

/// A refusal in A2A's form.
fn refuse(refusal: GateRefusal) -> Response {
    let failure = match refusal {
        GateRefusal::Stranger(refusal) if refusal.status == StatusCode::UNAUTHORIZED => {
            A2aFailure::new(A2aErrorKind::Unauthenticated, refusal.why)
        }
        GateRefusal::Stranger(refusal) => A2aFailure::new(A2aErrorKind::Forbidden, refusal.why),
        GateRefusal::Role(why) => A2aFailure::new(A2aErrorKind::Forbidden, why),
    };
    failure.over_http()
}

impl A2aState {
    /// The address by which a client reached this server.
    fn origin(&self, headers: &HeaderMap) -> String {
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("localhost");
        format!("{}://{host}", if self.is_encrypted { "https" } else { "http" })
    }
}

/// Refuses requests for other versions of the protocol. Who names none speaks 0.3, as the specification has it.
fn check_version(headers: &HeaderMap, query: Option<&str>) -> Result<(), A2aFailure> {
    let header = headers.get("a2a-version").map(|version| version.to_str().unwrap_or("?").trim());
    let in_query = || {
        let mut pairs = query.unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(name, _)| name.eq_ignore_ascii_case("a2a-version")).map(|(_, version)| version)
    };
    match header.filter(|version| !version.is_empty()).or_else(in_query) {
        Some(VERSION) => Ok(()),
        other => {
            let why = format!(
                "this is A2A {VERSION}, and the request is for {}; send `A2A-Version: {VERSION}`",
                other.unwrap_or("0.3, since it has no `A2A-Version`")
            );
            Err(A2aFailure::new(A2aErrorKind::VersionNotSupported, why))
        }
    }
}

/// The body of a request.
async fn read_body(request: Request) -> Result<Bytes, A2aFailure> {
    let too_large = || A2aFailure::new(A2aErrorKind::InvalidRequest, "the request is larger than 32 MB");
    // What says beforehand that it is too large is not received.
    if request.body().size_hint().lower() > MOST_BYTES as u64 {
        return Err(too_large());
    }
    let reading = axum::body::to_bytes(request.into_body(), MOST_BYTES);
    let read = tokio::time::timeout(PATIENCE, reading).await;
    let late = |_| A2aFailure::new(A2aErrorKind::InvalidRequest, "the request took too long to arrive");
    read.map_err(late)?.map_err(|_| too_large())
}
