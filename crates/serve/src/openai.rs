//! The door for programs that speak OpenAI's API: agents as models, at `/v1`.
//!
//! A request becomes an ordinary run of the journal, with the rights that the server gives to every run. What a client is
//! sent is a function of the run's journal: the same events have the same numbers whenever they are read, so a stream
//! can go on after any of them.
//!
//! | file | what it is about |
//! |---|---|
//! | `gate.rs`, `failure.rs` | who may come in; errors in OpenAI's form; bodies that are read |
//! | `catalog.rs` | `/v1/models`: the agents, and the planner |
//! | `content.rs`, `parameters.rs` | what messages contain; parameters that cannot be obeyed |
//! | `chat.rs`, `chat_request.rs`, `chat_body.rs`, `chat_teller.rs` | `/v1/chat/completions` |
//! | `responses.rs`, `response_request.rs`, `response_record.rs` | `/v1/responses`: what is asked, and what is kept of it |
//! | `response_story.rs`, `response_body.rs`, `response_teller.rs` | a run told as a response: its events, numbered, and its body |
//! | `run_stream.rs` | a run, streamed |
//! | `answer_teller.rs`, `answer_form.rs` | an answer told while it is written; the form that it has |
//! | `waits.rs` | runs that need a person: what the client is told, and how its answer is understood |

#![allow(clippy::unused_async, reason = "axum takes async functions, also where nothing is awaited")]

mod answer_form;
mod answer_teller;
mod catalog;
mod chat;
mod chat_body;
mod chat_request;
mod chat_teller;
mod content;
mod failure;
mod gate;
mod parameters;
mod response_body;
mod response_record;
mod response_request;
mod response_story;
mod response_teller;
mod responses;
mod run_stream;
mod waits;

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{any, get, post};
use tokio_util::sync::CancellationToken;
use updraft_workbench::UpdraftService;

use crate::bearer::BearerAccess;
use crate::route_handler::handler;

/// What every part of this door needs.
pub(crate) struct OpenAiState {
    pub(crate) service: UpdraftService,
    pub(crate) access: BearerAccess,
    /// Where the page is, for people who have to answer.
    pub(crate) origin: String,
    /// What questions in a chat are sealed with.
    pub(crate) key: Vec<u8>,
    /// Cancelled when the server stops: open streams end.
    pub(crate) stop: CancellationToken,
}

/// The routes.
pub(crate) fn router(state: OpenAiState) -> Router {
    let state = Arc::new(state);
    Router::new()
        .route("/v1/models", get(handler(catalog::list)))
        .route("/v1/models/{*model}", get(handler(catalog::show)))
        .route("/v1/chat/completions", post(handler(chat::complete)))
        .route("/v1/responses", post(handler(responses::create)))
        .route("/v1/responses/{id}", get(handler(responses::show)).delete(handler(responses::delete)))
        .route("/v1/responses/{id}/cancel", post(handler(responses::cancel)))
        .route("/v1/responses/{id}/input_items", get(handler(responses::input_items)))
        .route("/v1", any(handler(failure::unknown)))
        .route("/v1/{*rest}", any(handler(failure::unknown)))
        .method_not_allowed_fallback(failure::wrong_method)
        .layer(from_fn_with_state(Arc::clone(&state), gate::check))
        .with_state(state)
}
