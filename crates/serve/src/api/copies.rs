//! Runs made of other runs: forked from the past, repeated; and two compared.

use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;
use serde::Deserialize;
use serde_json::{Map, Value};
use updraft_run::StepId;
use updraft_workbench::service::{ForkOrder, RepeatOrder};
use utoipa::ToSchema;

use super::SharedState;
use super::input::{ApiPath, RunPath, known_run, whole};
use super::keys::{KeyHeader, KeyedJson, KeyedStart, not_started};
use super::new_run::{ApiRunStart, created};
use super::problem::{ApiResult, Problem};

/// Where a run is cut, and what is different in the copy.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ForkBody {
    /// How many events are copied.
    #[serde(deserialize_with = "whole")]
    at: u64,
    /// Another goal.
    goal: Option<String>,
    /// What the user says first in the copy.
    message: Option<String>,
    /// Another model, for all agents.
    model: Option<String>,
    /// Results of steps with other values.
    #[serde(default)]
    #[schema(value_type = Object)]
    variables: Map<String, Value>,
}

/// Start a copy of a run's first events
#[utoipa::path(
    post,
    path = "/runs/{id}/fork",
    tag = "runs",
    params(("id" = String, Path, description = "The run"), KeyHeader),
    request_body = ForkBody,
    responses((status = 201, body = ApiRunStart, headers(("Location", description = "The address of the copy"))))
)]
pub(super) async fn fork(
    State(state): State<SharedState>,
    RunPath(id): RunPath,
    sent: KeyedJson<ForkBody>,
) -> ApiResult<impl IntoResponse> {
    let (body, to, _alone) = match sent.claim(&state).await? {
        KeyedStart::Known(id) => return Ok(created(id.to_string())),
        KeyedStart::New(body, id, alone) => (body, id, alone),
    };
    let ForkBody { at, goal, message, model, variables } = body;
    let order = ForkOrder { at, goal, message, model, variables: variables.into_iter().collect(), to };
    let copy = Box::pin(state.service.runs.fork(id.as_str(), order)).await;
    Ok(created(copy.map_err(not_started)?.to_string()))
}

/// Which steps are repeated.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RerunBody {
    /// These steps are carried out again, and what depends on them. None: only what is not up to date any more.
    #[serde(default)]
    steps: Vec<String>,
    /// Another goal; the planner changes the plan as little as it can.
    goal: Option<String>,
    /// Another model; steps that used another are carried out again.
    model: Option<String>,
    /// What steps got from the web and from servers is kept, although it may be outdated.
    #[serde(default)]
    keep_web: bool,
}

/// Repeat a run that has ended
#[utoipa::path(
    post,
    path = "/runs/{id}/rerun",
    tag = "runs",
    params(("id" = String, Path, description = "The run"), KeyHeader),
    request_body = RerunBody,
    responses((status = 201, body = ApiRunStart, headers(("Location", description = "The address of the new run"))))
)]
pub(super) async fn rerun(
    State(state): State<SharedState>,
    RunPath(id): RunPath,
    sent: KeyedJson<RerunBody>,
) -> ApiResult<impl IntoResponse> {
    let (RerunBody { steps, goal, model, keep_web }, to, _alone) = match sent.claim(&state).await? {
        KeyedStart::Known(id) => return Ok(created(id.to_string())),
        KeyedStart::New(body, id, alone) => (body, id, alone),
    };
    let steps = steps.iter().map(|step| StepId::parse(step)).collect::<Result<Vec<_>, _>>();
    let again = steps.map_err(|bad| Problem::conflict(bad.to_string()))?;
    let order = RepeatOrder { again, goal, model, keep_web, to };
    let repeated = Box::pin(state.service.runs.rerun(id.as_str(), order)).await;
    Ok(created(repeated.map_err(not_started)?.to_string()))
}

/// How two runs differ
///
/// `parts_at` is the first event that differs (`left_event` and `right_event` are its numbers in the two runs), `steps` are those that differ, with their status and output in both.
#[utoipa::path(
    get,
    path = "/runs/{id}/diff/{other}",
    tag = "runs",
    params(("id" = String, Path, description = "The run"), ("other" = String, Path, description = "The other run")),
    responses((status = 200, body = Object))
)]
pub(super) async fn diff(
    State(state): State<SharedState>,
    ApiPath((left, right)): ApiPath<(String, String)>,
) -> ApiResult<Json<Value>> {
    let (left, right) = (known_run(&state, &left)?, known_run(&state, &right)?);
    let runs = state.service.runs.clone();
    let found = tokio::task::spawn_blocking(move || runs.compare(left.as_str(), right.as_str())).await??;
    Ok(Json(serde_json::to_value(&found).unwrap_or_default()))
}
