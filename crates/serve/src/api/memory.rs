//! `/memory`: what is remembered, to be read and changed.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use updraft_workbench::Fault;
use utoipa::ToSchema;

use super::SharedState;
use super::input::{ApiJson, ApiPath};
use super::keys::{KeyHeader, KeyedJson};
use super::problem::{ApiResult, Problem};

/// Something that is remembered.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiMemory {
    /// Its number.
    id: i64,
    /// What is remembered.
    text: String,
    /// For whom: runs in this `workspace`, all of the `user`, or one `agent`.
    scope: &'static str,
    /// Whether every run is told.
    pinned: bool,
    /// When it was made, in seconds since 1970.
    made: i64,
    /// How often it was recalled.
    uses: i64,
}

/// What is to be remembered.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MemoryBody {
    /// What.
    #[schema(min_length = 1)]
    text: String,
    /// Whether every run is told.
    #[serde(default)]
    pinned: bool,
}

impl MemoryBody {
    fn checked(self) -> ApiResult<Self> {
        if self.text.is_empty() { Err(Problem::unreadable("the text is empty")) } else { Ok(self) }
    }
}

/// List what is remembered
#[utoipa::path(get, path = "/memory", tag = "memory", responses((status = 200, body = [ApiMemory])))]
pub(super) async fn list(State(state): State<SharedState>) -> ApiResult<Json<Vec<ApiMemory>>> {
    let runs = state.service.runs.clone();
    let all = tokio::task::spawn_blocking(move || runs.memories()).await??;
    let written = all.into_iter().map(|memory| ApiMemory {
        id: memory.id,
        scope: memory.content.scope.word(),
        text: memory.content.text,
        pinned: memory.content.pinned,
        made: memory.made,
        uses: memory.uses,
    });
    Ok(Json(written.collect()))
}

/// Remember something for this workspace
#[utoipa::path(
    post,
    path = "/memory",
    tag = "memory",
    params(KeyHeader),
    request_body = MemoryBody,
    responses((status = 204, description = "It is remembered"))
)]
pub(super) async fn add(State(state): State<SharedState>, sent: KeyedJson<MemoryBody>) -> ApiResult<StatusCode> {
    let (runs, body) = (state.service.runs.clone(), sent.body.checked()?);
    let added = state.once(sent.key, move |_| async move {
        tokio::task::spawn_blocking(move || runs.remember(&body.text, body.pinned)).await??;
        Ok(Value::Null)
    });
    added.await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Change what is remembered
#[utoipa::path(
    put,
    path = "/memory/{id}",
    tag = "memory",
    params(("id" = i64, Path, description = "Its number")),
    request_body = MemoryBody,
    responses((status = 204, description = "It is changed"))
)]
pub(super) async fn change(
    State(state): State<SharedState>,
    ApiPath(id): ApiPath<i64>,
    ApiJson(body): ApiJson<MemoryBody>,
) -> ApiResult<StatusCode> {
    let (runs, body) = (state.service.runs.clone(), body.checked()?);
    on_known(state, id, move || runs.change_memory(id, &body.text, body.pinned)).await
}

/// Forget something
#[utoipa::path(
    delete,
    path = "/memory/{id}",
    tag = "memory",
    params(("id" = i64, Path, description = "Its number")),
    responses((status = 204, description = "It is forgotten"))
)]
pub(super) async fn forget(State(state): State<SharedState>, ApiPath(id): ApiPath<i64>) -> ApiResult<StatusCode> {
    let runs = state.service.runs.clone();
    on_known(state, id, move || runs.forget_memory(id)).await
}

/// Does something with a memory that exists.
async fn on_known(
    state: SharedState,
    id: i64,
    work: impl FnOnce() -> Result<(), Fault> + Send + 'static,
) -> ApiResult<StatusCode> {
    tokio::task::spawn_blocking(move || {
        let is_known = state.service.runs.memories()?.iter().any(|memory| memory.id == id);
        if !is_known {
            return Err(Problem::missing(format!("there is no memory {id}")));
        }
        Ok(work()?)
    })
    .await??;
    Ok(StatusCode::NO_CONTENT)
}
