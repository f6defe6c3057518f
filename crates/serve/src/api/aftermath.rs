//! What is done with runs afterwards: their changes reviewed and undone, removed.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use updraft_run::StepId;
use updraft_workbench::service::{FileReview, ReviewedChange, ReviewedState, UndoOrder};
use utoipa::ToSchema;

use super::SharedState;
use super::input::{ApiJson, RunPath};
use super::problem::{ApiResult, Problem};

/// What a run has changed in the workspace.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiChanges {
    /// The files, by path. What is in `.git` is left out.
    files: Vec<ApiFileReview>,
}

/// A file that a run has changed.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiFileReview {
    /// Its path, relative to the workspace.
    path: String,
    /// What the run did with it: `created`, `changed` or `removed`.
    change: &'static str,
    /// What it is now: `as_left` by the run, `as_before` the run, or `changed_since`.
    state: &'static str,
    /// Its text before the run; absent if there was no such file, or if it cannot be shown.
    before: Option<String>,
    /// Why its text before the run cannot be shown.
    hidden: Option<&'static str>,
}

impl From<FileReview> for ApiFileReview {
    fn from(FileReview { path, change, state, before, hidden }: FileReview) -> Self {
        let change = match change {
            ReviewedChange::Created => "created",
            ReviewedChange::Changed => "changed",
            ReviewedChange::Removed => "removed",
        };
        let state = match state {
            ReviewedState::AsLeft => "as_left",
            ReviewedState::AsBefore => "as_before",
            ReviewedState::ChangedSince => "changed_since",
        };
        Self { path, change, state, before, hidden }
    }
}

/// Show what a run has changed in the workspace
///
/// Each file comes with its text before the run, so that the changes can be shown beside the file as it is now.
#[utoipa::path(
    get,
    path = "/runs/{id}/changes",
    tag = "runs",
    params(("id" = String, Path, description = "The run")),
    responses((status = 200, body = ApiChanges))
)]
pub(super) async fn changes(State(state): State<SharedState>, RunPath(id): RunPath) -> ApiResult<Json<ApiChanges>> {
    let runs = state.service.runs.clone();
    let files = tokio::task::spawn_blocking(move || runs.review(&id)).await??;
    Ok(Json(ApiChanges { files: files.into_iter().map(ApiFileReview::from).collect() }))
}

/// Which changes of a run are undone.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct UndoBody {
    /// Only those of this step.
    step: Option<String>,
    /// Only those of this call, by its address.
    call: Option<String>,
    /// Only those of this path, relative to the workspace, and of what is in it.
    path: Option<String>,
    /// The last undo is undone instead.
    #[serde(default)]
    redo: bool,
    /// Files that were changed since are restored too; a copy of them is kept.
    #[serde(default)]
    force: bool,
    /// Nothing is done: `plan` says what would be.
    #[serde(default)]
    dry_run: bool,
}

/// Undo what a run has changed in the workspace
///
/// `restored` are the paths that are as they were before, `left` those that could not be restored, and why.
#[utoipa::path(
    post,
    path = "/runs/{id}/undo",
    tag = "runs",
    params(("id" = String, Path, description = "The run")),
    request_body = UndoBody,
    responses((status = 200, body = Object))
)]
pub(super) async fn undo(
    State(state): State<SharedState>,
    RunPath(id): RunPath,
    ApiJson(UndoBody { step, call, path, redo, force, dry_run }): ApiJson<UndoBody>,
) -> ApiResult<Json<Value>> {
    let bad = |bad: updraft_run::BadId| Problem::conflict(bad.to_string());
    let step = step.as_deref().map(StepId::parse).transpose().map_err(bad)?;
    let call = call.as_deref().map(str::parse).transpose().map_err(bad)?;
    Ok(Json(state.service.runs.undo(&id, UndoOrder { step, call, path, redo, force, dry_run }).await?))
}

/// Remove a run
///
/// It is gone for good, and what it changed can no longer be undone.
#[utoipa::path(
    delete,
    path = "/runs/{id}",
    tag = "runs",
    params(("id" = String, Path, description = "The run")),
    responses((status = 204, description = "The run is removed"))
)]
pub(super) async fn remove(State(state): State<SharedState>, RunPath(id): RunPath) -> ApiResult<StatusCode> {
    state.service.runs.remove(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}
