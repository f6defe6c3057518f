//! Runs paused, resumed, stopped and adopted.

use axum::extract::State;
use axum::{Extension, Json};
use serde::Deserialize;
use updraft_run::StepId;
use utoipa::ToSchema;

use super::SharedState;
use super::input::{ApiJson, ApiPath, RunPath, known_run};
use super::problem::{ApiResult, Problem};
use super::run_json::ApiRun;
use crate::bearer::ApiCaller;
use crate::users::UserRole;

/// Pause a run: it starts nothing new
#[utoipa::path(
    post,
    path = "/runs/{id}/pause",
    tag = "steering",
    params(("id" = String, Path, description = "The run")),
    responses((status = 200, body = ApiRun))
)]
pub(super) async fn pause(State(state): State<SharedState>, RunPath(id): RunPath) -> ApiResult<Json<ApiRun>> {
    Ok(Json(state.service.runs.pause(id.as_str()).await?.into()))
}

/// How a run is resumed.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ResumeBody {
    /// A higher limit, for a run that has reached one; needs the role `administer`.
    limit: Option<String>,
}

/// Resume a run that was paused, interrupted or out of budget
#[utoipa::path(
    post,
    path = "/runs/{id}/resume",
    tag = "steering",
    params(("id" = String, Path, description = "The run")),
    request_body = ResumeBody,
    responses((status = 200, body = ApiRun))
)]
pub(super) async fn resume(
    State(state): State<SharedState>,
    Extension(caller): Extension<ApiCaller>,
    RunPath(id): RunPath,
    ApiJson(ResumeBody { limit }): ApiJson<ResumeBody>,
) -> ApiResult<Json<ApiRun>> {
    let runs = &state.service.runs;
    let view = match limit {
        None => runs.resume(id.as_str()).await?,
        // A higher limit is the owner's money.
        Some(_) if caller.role() < UserRole::Administer => return Err(super::forbidden(&caller, UserRole::Administer)),
        Some(limit) => runs.raise_limit(id.as_str(), &limit).await?,
    };
    Ok(Json(view.into()))
}

/// Stop a run for good
#[utoipa::path(
    post,
    path = "/runs/{id}/cancel",
    tag = "steering",
    params(("id" = String, Path, description = "The run")),
    responses((status = 200, body = ApiRun))
)]
pub(super) async fn cancel(
    State(state): State<SharedState>,
    Extension(caller): Extension<ApiCaller>,
    RunPath(id): RunPath,
) -> ApiResult<Json<ApiRun>> {
    Ok(Json(state.service.runs.cancel(id.as_str(), caller.name()).await?.into()))
}

/// Stop one step of a run for good
#[utoipa::path(
    post,
    path = "/runs/{id}/steps/{step}/cancel",
    tag = "steering",
    params(("id" = String, Path, description = "The run"), ("step" = String, Path, description = "The step")),
    responses((status = 200, body = ApiRun))
)]
pub(super) async fn cancel_step(
    State(state): State<SharedState>,
    Extension(caller): Extension<ApiCaller>,
    ApiPath((id, step)): ApiPath<(String, String)>,
) -> ApiResult<Json<ApiRun>> {
    let id = known_run(&state, &id)?;
    let step = StepId::parse(&step).map_err(|bad| Problem::missing(bad.to_string()))?;
    Ok(Json(state.service.runs.cancel_step(id.as_str(), &step, caller.name()).await?.into()))
}

/// Adopt an imported run: it continues here, with the model, rules and limits of this server
#[utoipa::path(
    post,
    path = "/runs/{id}/adopt",
    tag = "steering",
    params(("id" = String, Path, description = "The run")),
    responses((status = 200, body = ApiRun))
)]
pub(super) async fn adopt(State(state): State<SharedState>, RunPath(id): RunPath) -> ApiResult<Json<ApiRun>> {
    Ok(Json(Box::pin(state.service.runs.adopt(id.as_str())).await?.into()))
}
