//! `/api/v1`: what the page and the commands do, for programs, over HTTP.
//!
//! Programs show a token (`bearer.rs`). Bodies and answers are JSON, errors are problem details, and
//! `/api/v1/openapi.json` describes all of it.
//!
//! | file | what it is about |
//! |---|---|
//! | `document.rs`, `roles.rs`, `problem.rs`, `input.rs` | the description; who may do what; errors; what requests carry |
//! | `runs.rs`, `new_run.rs`, `run_json.rs` | runs listed, shown, started; how they are written |
//! | `stream.rs`, `socket.rs` | the events of a run as they happen: server-sent, or over a WebSocket |
//! | `steering.rs`, `lifecycle.rs`, `plan.rs` | messages, answers, decisions; pause, resume, cancel, adopt; a plan that waits for approval |
//! | `copies.rs`, `export.rs`, `aftermath.rs` | runs made of other runs; two compared; exported; reviewed, undone, removed |
//! | `accounts.rs`, `logs.rs` | what calls touched, replays, details; logs and statistics |
//! | `upkeep.rs` | runs brought in from files; old ones removed |
//! | `permissions.rs`, `aside.rs` | rules and marks; files that were moved out of the workspace |
//! | `files.rs` | files that programs add |
//! | `surroundings.rs`, `memory.rs`, `knowledge.rs` | agents, tools, models; what is remembered; files searched |
//! | `recurring.rs`, `recipes.rs` | schedules; recipes |
//! | `keys.rs` | requests that may be sent again |
//! | `server.rs`, `hooks.rs` | the server itself: health, users; webhooks |

#![allow(clippy::unused_async, reason = "axum takes async functions, also where nothing is awaited")]

mod accounts;
mod aftermath;
mod aside;
mod copies;
mod document;
mod export;
mod files;
mod hooks;
mod input;
mod keys;
mod knowledge;
mod lifecycle;
mod logs;
mod memory;
mod new_run;
mod permissions;
mod plan;
mod problem;
mod recipes;
mod recurring;
mod roles;
mod run_json;
mod runs;
mod server;
mod socket;
mod steering;
mod stream;
mod surroundings;
mod upkeep;

use std::sync::Arc;

use axum::Router;
use axum::extract::{ConnectInfo, DefaultBodyLimit, Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, delete, get, post, put};
use tokio_util::sync::CancellationToken;
use updraft_workbench::UpdraftService;
use updraft_workbench::folders::unguessable;

use crate::admission::AdmissionSlot;
use crate::bearer::{ApiCaller, BearerAccess};
use crate::bearer_gate::{BearerGate, GateRefusal, ROLE_HINT};
use crate::route_handler::handler;
use crate::users::UserRole;
use crate::webhooks::Webhooks;
pub(crate) use problem::Problem;

/// What every operation needs.
pub(crate) struct ApiState {
    pub(crate) service: UpdraftService,
    pub(crate) access: BearerAccess,
    pub(crate) webhooks: Webhooks,
    /// Requests with an `Idempotency-Key` wait for each other.
    turns: keys::KeyTurns,
    /// Tells this server from others that use the same keys.
    name: String,
    /// Cancelled when the server stops: open streams end.
    pub(crate) stop: CancellationToken,
}

/// The state, as operations get it.
type SharedState = Arc<ApiState>;

/// The routes of the API.
pub(crate) fn router(
    service: UpdraftService,
    access: BearerAccess,
    webhooks: Webhooks,
    stop: CancellationToken,
) -> Router {
    // Without randomness two servers would wait for each other's requests longer than they have to.
    let name = unguessable(16).unwrap_or_default();
    let state = Arc::new(ApiState { service, access, webhooks, turns: keys::KeyTurns::default(), name, stop });
    let routes = Router::new()
        .route("/openapi.json", get(handler(document::openapi)))
        .route("/runs", get(handler(runs::list)).post(handler(new_run::start)))
        .route("/runs/{id}", get(handler(runs::show)).delete(handler(aftermath::remove)))
        .route("/runs/{id}/events", get(handler(runs::events)))
        .route("/runs/{id}/stream", get(handler(stream::open)))
        .route("/runs/{id}/socket", get(handler(socket::open)))
        .route("/runs/{id}/tell", post(handler(steering::tell)))
        .route("/runs/{id}/answer", post(handler(steering::answer)))
        .route("/runs/{id}/approve", post(handler(steering::approve)))
        .route("/runs/{id}/pause", post(handler(lifecycle::pause)))
        .route("/runs/{id}/resume", post(handler(lifecycle::resume)))
        .route("/runs/{id}/cancel", post(handler(lifecycle::cancel)))
        .route("/runs/{id}/steps/{step}/cancel", post(handler(lifecycle::cancel_step)))
        .route("/runs/{id}/adopt", post(handler(lifecycle::adopt)))
        .route("/runs/{id}/fork", post(handler(copies::fork)))
        .route("/runs/{id}/rerun", post(handler(copies::rerun)))
        .route("/runs/{id}/diff/{other}", get(handler(copies::diff)))
        .route("/runs/{id}/export", get(handler(export::export)))
        .route("/runs/{id}/changes", get(handler(aftermath::changes)))
        .route("/runs/{id}/undo", post(handler(aftermath::undo)))
        .route("/runs/{id}/logs", get(handler(logs::logs)))
        .route("/runs/{id}/audit", get(handler(accounts::audit)))
        .route("/runs/{id}/replay", get(handler(accounts::replay)))
        .route("/runs/{id}/details/{detail}", get(handler(accounts::detail)))
        .route("/stats", get(handler(logs::stats)))
        .route("/import", post(handler(upkeep::import)))
        .route("/prune", post(handler(upkeep::prune)))
        .route(
            "/permissions",
            get(handler(permissions::list)).post(handler(permissions::allow)).delete(handler(permissions::forget)),
        )
        .route("/permissions/clear", post(handler(permissions::clear)))
        .route("/aside", get(handler(aside::list)).delete(handler(aside::delete)))
        .route("/aside/restore", post(handler(aside::restore)))
        .route("/runs/{id}/plan", get(handler(plan::show)).put(handler(plan::replace)))
        .route("/runs/{id}/files", post(handler(files::add_to_run)).layer(DefaultBodyLimit::max(files::MOST_SENT)))
        .route("/files", post(handler(files::add)).layer(DefaultBodyLimit::max(files::MOST_SENT)))
        .route("/agents", get(handler(surroundings::agents)))
        .route("/tools", get(handler(surroundings::tools)))
        .route("/tools/{name}", post(handler(surroundings::call)))
        .route("/models", get(handler(surroundings::models)))
        .route("/skills", get(handler(surroundings::skills)))
        .route("/servers", get(handler(surroundings::servers)))
        .route("/memory", get(handler(memory::list)).post(handler(memory::add)))
        .route("/memory/{id}", put(handler(memory::change)).delete(handler(memory::forget)))
        .route("/knowledge/search", get(handler(knowledge::search)))
        .route("/knowledge/documents", get(handler(knowledge::documents)).delete(handler(knowledge::forget)))
        .route("/knowledge/ingestion", get(handler(knowledge::ingestion)).post(handler(knowledge::ingest)))
        .route("/schedules", get(handler(recurring::list)).post(handler(recurring::add)))
        .route("/schedules/{name}", delete(handler(recurring::remove)))
        .route("/schedules/{name}/pause", post(handler(recurring::pause)))
        .route("/schedules/{name}/resume", post(handler(recurring::resume)))
        .route("/schedules/{name}/run", post(handler(recurring::run_now)))
        .route("/recipes", get(handler(recipes::list)))
        .route("/recipes/{name}/run", post(handler(recipes::run)))
        .route("/health", get(handler(server::health)))
        .route("/doctor", get(handler(server::doctor)))
        .route("/settings", get(handler(server::settings)))
        .route("/webhooks", get(handler(hooks::list)))
        .route("/users", get(handler(server::users)).post(handler(server::add_user)))
        .route("/users/{name}", delete(handler(server::remove_user)))
        .fallback(problem::no_such_address)
        .method_not_allowed_fallback(problem::no_such_method)
        .layer(from_fn_with_state(Arc::clone(&state), check))
        .with_state(state);
    // Other versions, or none in the address: programs get a problem, not a page.
    Router::new().nest(document::PREFIX, routes).route("/api/{*rest}", any(handler(problem::no_such_address)))
}

const GATE: BearerGate = BearerGate {
    prefix: document::PREFIX,
    needs: |request| Some(roles::needed(request.method(), request.uri().path())),
    refuse,
};

/// Lets programs in that show a token with the role that the operation needs.
async fn check(
    State(state): State<SharedState>,
    ConnectInfo(slot): ConnectInfo<AdmissionSlot>,
    request: Request,
    next: Next,
) -> Response {
    GATE.pass(&state.access, &slot, request, next).await
}

/// A refusal as a problem.
fn refuse(refusal: GateRefusal) -> Response {
    match refusal {
        GateRefusal::Stranger(refusal) => Problem::from(refusal).into_response(),
        GateRefusal::Role(why) => lacks_role(why).into_response(),
    }
}

/// What a program may not do.
fn forbidden(caller: &ApiCaller, needed: UserRole) -> Problem {
    lacks_role(caller.role_refusal(needed))
}

fn lacks_role(why: String) -> Problem {
    Problem::new(StatusCode::FORBIDDEN, why).hint(ROLE_HINT)
}
