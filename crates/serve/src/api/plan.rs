//! `/runs/{id}/plan`: the plan that waits for approval, read and replaced.

use axum::extract::State;
use axum::{Extension, Json};
use serde::Serialize;
use serde_json::{Map, Value};
use updraft_workbench::{WaitingPlan, plan_file};
use utoipa::ToSchema;

use super::SharedState;
use super::input::{ApiJson, RunPath};
use super::problem::{ApiResult, Problem};
use super::run_json::ApiRun;
use crate::bearer::ApiCaller;

/// A plan that waits for approval.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiPlan {
    /// The question about it: `POST …/approve` with this `approval` carries it out as it is, or refuses it.
    approval: String,
    /// The plan: its steps and what is required, as `updraft run --plan` reads it.
    #[schema(value_type = Object)]
    plan: Value,
}

/// Show the plan that waits for approval
#[utoipa::path(
    get,
    path = "/runs/{id}/plan",
    tag = "plans",
    params(("id" = String, Path, description = "The run")),
    responses((status = 200, body = ApiPlan))
)]
pub(super) async fn show(State(state): State<SharedState>, RunPath(id): RunPath) -> ApiResult<Json<ApiPlan>> {
    let feed = state.service.runs.feed(id.as_str())?;
    let waiting = tokio::task::spawn_blocking(move || feed.read(|history| WaitingPlan::of(history.run()))).await??;
    let plan = waiting.ok_or_else(|| {
        Problem::missing("no plan of this run waits for approval").hint("runs with `plan_first` wait with theirs")
    })?;
    let file = plan_file(&plan.graph, &plan.requirements);
    Ok(Json(ApiPlan { approval: plan.approval.to_string(), plan: file }))
}

/// Replace the plan that waits for approval, and carry it out
#[utoipa::path(
    put,
    path = "/runs/{id}/plan",
    tag = "plans",
    params(("id" = String, Path, description = "The run")),
    request_body = Object,
    responses((status = 200, body = ApiRun))
)]
pub(super) async fn replace(
    State(state): State<SharedState>,
    Extension(caller): Extension<ApiCaller>,
    RunPath(id): RunPath,
    ApiJson(plan): ApiJson<Map<String, Value>>,
) -> ApiResult<Json<ApiRun>> {
    let runs = &state.service.runs;
    runs.edit_plan(id.as_str(), &Value::Object(plan), caller.name()).await?;
    Ok(Json(runs.view(id.as_str()).await?.into()))
}
