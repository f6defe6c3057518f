//! The web page: HTML made here, that works without JavaScript, and patches that keep an open page up to date.
//!
//! Every page of a run is a function of the run and a position in its journal ([`RunHistory`]). Reading is `GET`; every
//! change is a form that is posted and answered with a redirect. Scripts and styles are files of their own
//! (`page/assets/`), and no text of a model, a tool or a user becomes markup.
//!
//! | file | what it is about |
//! |---|---|
//! | `access.rs`, `enter.rs`, `visitor.rs`, `visitor_response.rs` | who may see the page and do what: one-time address, token, cookie, role |
//! | `people.rs` | `/users`: who may use the page |
//! | `address.rs` | where the page is, and which requests may be meant for it: `Host` and `Origin` |
//! | `layout.rs`, `assets.rs`, `markdown.rs`, `failure.rs`, `words.rs` | the frame of every page, its files, texts, errors |
//! | `sessions.rs` | `/`: the list of runs |
//! | `run_page.rs`, `chat.rs`, `questions.rs`, `steps.rs`, `relations.rs`, `events.rs`, `inspector.rs` | `/runs/ID` and its parts |
//! | `stream.rs`, `patch.rs`, `patch_cache.rs` | server-sent events: what has changed since a position |
//! | `pictures.rs`, `waits.rs` | a run as the crate `drawing` takes it; what its steps waited for |
//! | `compare.rs` | `/compare`: two runs side by side |
//! | `knowledge.rs`, `memory.rs`, `tools.rs`, `settings.rs`, `doctor.rs` | what runs have around them |
//! | `actions.rs`, `fork.rs` | the forms of a run; `/runs/ID/fork` |
//! | `plan_page.rs`, `plan_draft.rs` | `/runs/ID/plan`: a plan changed before it is carried out |
//! | `export_page.rs`, `run_source.rs` | a run as one file; where a page of a run gets what its history does not hold |
//! | `inbox.rs` | `/inbox`: questions and approvals of all runs |
//! | `new_run.rs`, `uploads.rs` | `/new`: a goal, and files that come with it |
//!
//! [`RunHistory`]: updraft_workbench::history::RunHistory

#![allow(clippy::unused_async, reason = "axum takes async functions, also where nothing is awaited")]

mod access;
mod actions;
mod address;
mod assets;
mod chat;
mod compare;
mod doctor;
mod enter;
mod events;
mod export_page;
mod failure;
mod fork;
mod inbox;
mod inspector;
mod knowledge;
mod layout;
mod markdown;
mod memory;
mod new_run;
mod packing;
mod patch;
mod patch_cache;
mod people;
mod pictures;
mod plan_draft;
mod plan_page;
mod questions;
mod relations;
mod run_page;
mod run_source;
mod schedules;
mod sessions;
mod settings;
mod steps;
mod stream;
mod tools;
pub(crate) mod uploads;
mod visitor;
mod visitor_response;
mod waits;
pub(crate) mod words;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{get, post};
use tokio_util::sync::CancellationToken;
use updraft_workbench::UpdraftService;

use crate::route_handler::handler;

pub use access::PageAccess;
pub use address::PageAddress;
pub use export_page::run_as_html;

/// Most bytes of a form with files: a little more than the files may have.
const MOST_SENT: usize = uploads::MOST_BYTES + (4 << 20);

/// Most bytes of the form that strangers may send, and of those that copy a run with its results or change its plan.
const MOST_OF_TOKEN: usize = 4 << 10;
const MOST_OF_FORK: usize = 16 << 20;

/// What every part of the page needs.
pub(crate) struct PageState {
    pub(crate) service: UpdraftService,
    pub(crate) access: PageAccess,
    pub(crate) patches: patch_cache::PatchCache,
    /// Cancelled when the server stops: open streams end.
    pub(crate) stop: CancellationToken,
}

/// The routes of the page.
pub(crate) fn router(service: UpdraftService, access: PageAccess, stop: CancellationToken) -> Router {
    let patches = patch_cache::PatchCache::default();
    let state = Arc::new(PageState { service, access, patches, stop });
    Router::new()
        .route("/", get(handler(sessions::show)))
        .route(
            "/enter",
            get(handler(enter::enter)).post(handler(enter::sign_in_with)).layer(DefaultBodyLimit::max(MOST_OF_TOKEN)),
        )
        .route("/leave", post(handler(enter::leave)))
        .route("/inbox", get(handler(inbox::show)))
        .route(
            "/new",
            get(handler(new_run::show)).post(handler(new_run::start)).layer(DefaultBodyLimit::max(MOST_SENT)),
        )
        .route("/assets/{name}", get(handler(assets::show)))
        .route("/runs/{id}", get(handler(run_page::show)))
        .route("/runs/{id}/stream", get(handler(stream::open)))
        .route("/compare", get(handler(compare::show)))
        .route("/knowledge", get(handler(knowledge::show)).post(handler(knowledge::ingest)))
        .route("/memory", get(handler(memory::show)).post(handler(memory::change)))
        .route("/tools", get(handler(tools::list)))
        .route("/tools/{name}", get(handler(tools::show)).post(handler(tools::call)))
        .route("/settings", get(handler(settings::show)))
        .route("/doctor", get(handler(doctor::show)))
        .route("/schedules", get(handler(schedules::show)))
        .route("/users", get(handler(people::show)).post(handler(people::change)))
        .route(
            "/runs/{id}/plan",
            get(handler(plan_page::show)).post(handler(plan_page::change)).layer(DefaultBodyLimit::max(MOST_OF_FORK)),
        )
        .route("/runs/{id}/tell", post(handler(actions::tell)))
        .route("/runs/{id}/approve", post(handler(actions::approve)))
        .route("/runs/{id}/answer", post(handler(actions::answer)))
        .route("/runs/{id}/pause", post(handler(actions::pause)))
        .route("/runs/{id}/resume", post(handler(actions::resume)))
        .route("/runs/{id}/cancel", post(handler(actions::cancel)))
        .route(
            "/runs/{id}/fork",
            get(handler(fork::show)).post(handler(fork::start)).layer(DefaultBodyLimit::max(MOST_OF_FORK)),
        )
        .route("/runs/{id}/rerun", post(handler(actions::rerun)))
        .fallback(failure::unknown)
        .layer(from_fn_with_state(Arc::clone(&state), access::check))
        .layer(from_fn(packing::pack))
        .with_state(state)
}
