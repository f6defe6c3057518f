//! `/webhooks`: the servers that are told about runs, and whether they take it.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::SharedState;

/// A server that is told about runs.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiWebhook {
    /// Where it is.
    url: String,
    /// What it is told.
    events: Vec<&'static str>,
    /// Whether this server sends the messages. If several serve a workspace, only one of them does.
    sends: bool,
    /// How many messages wait, if this server sends them.
    waiting: usize,
    /// Why the last attempt failed, if it did.
    last_failure: Option<String>,
}

/// List webhooks
#[utoipa::path(get, path = "/webhooks", tag = "server", responses((status = 200, body = [ApiWebhook])))]
pub(super) async fn list(State(state): State<SharedState>) -> Json<Vec<ApiWebhook>> {
    let listed = state.webhooks.iter().map(|known| ApiWebhook {
        url: known.endpoint.url.clone(),
        events: known.endpoint.events.iter().map(|event| event.word()).collect(),
        sends: known.sends(),
        waiting: known.waiting(),
        last_failure: known.last_failure(),
    });
    Json(listed.collect())
}
