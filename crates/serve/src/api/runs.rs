//! `/runs`: runs listed and looked at.

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use updraft_workbench::service::{RunGroup, RunListQuery};
use utoipa::{IntoParams, ToSchema};

use super::SharedState;
use super::input::{ApiQuery, RunPath, sensible};
use super::problem::{ApiResult, Problem};
use super::run_json::{ApiEvent, ApiRun, ApiRunRow};

/// Which runs are listed.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct RunListParams {
    /// Words that the goal or the id must contain.
    #[serde(default)]
    words: String,
    /// Only runs of this kind.
    group: Option<ApiRunGroup>,
    /// How many are skipped.
    #[serde(default)]
    #[param(maximum = 1_000_000_000)]
    skip: u32,
    /// At most this many.
    #[serde(default = "fifty")]
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: u32,
}

fn fifty() -> u32 {
    50
}

/// The kinds of runs that people look for.
#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ApiRunGroup {
    /// They wait for a person, or cannot continue without one.
    NeedsYou,
    /// They are at work.
    Running,
    /// They have ended well.
    Done,
    /// They have ended otherwise.
    Failed,
}

/// One page of the list of runs.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiRunList {
    /// The runs: those that wait for a person first, then the newest.
    runs: Vec<ApiRunRow>,
    /// How many runs the query finds.
    found: usize,
    /// How many of all runs wait for a person.
    waiting: usize,
    /// How many runs there are.
    all: usize,
}

/// List runs
#[utoipa::path(get, path = "/runs", tag = "runs", params(RunListParams), responses((status = 200, body = ApiRunList)))]
pub(super) async fn list(
    State(state): State<SharedState>,
    ApiQuery(params): ApiQuery<RunListParams>,
) -> ApiResult<Json<ApiRunList>> {
    if params.skip > 1_000_000_000 || !(1..=200).contains(&params.limit) {
        return Err(Problem::unreadable("`limit` is a number from 1 to 200, and `skip` at most a billion"));
    }
    let group = params.group.map(|group| match group {
        ApiRunGroup::NeedsYou => RunGroup::NeedsYou,
        ApiRunGroup::Running => RunGroup::Running,
        ApiRunGroup::Done => RunGroup::Done,
        ApiRunGroup::Failed => RunGroup::Failed,
    });
    let query = RunListQuery { words: params.words, group, skip: params.skip as usize, most: params.limit as usize };
    let runs = state.service.runs.clone();
    let list = tokio::task::spawn_blocking(move || runs.run_list(&query)).await??;
    let rows = list.rows.into_iter().map(ApiRunRow::from).collect();
    Ok(Json(ApiRunList { runs: rows, found: list.found, waiting: list.waiting, all: list.all }))
}

/// Show a run
#[utoipa::path(
    get,
    path = "/runs/{id}",
    tag = "runs",
    params(("id" = String, Path, description = "The run")),
    responses((status = 200, body = ApiRun))
)]
pub(super) async fn show(State(state): State<SharedState>, RunPath(id): RunPath) -> ApiResult<Json<ApiRun>> {
    Ok(Json(state.service.runs.view(id.as_str()).await?.into()))
}

/// Which events are listed.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct EventParams {
    /// Only events after this number.
    #[serde(default)]
    #[param(maximum = 1_000_000_000_000_i64)]
    after: u64,
    /// At most this many.
    #[serde(default = "hundred")]
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: u32,
}

fn hundred() -> u32 {
    100
}

/// Events of a run.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiEventList {
    /// The events, oldest first.
    events: Vec<ApiEvent>,
}

/// List events of a run
#[utoipa::path(
    get,
    path = "/runs/{id}/events",
    tag = "runs",
    params(("id" = String, Path, description = "The run"), EventParams),
    responses((status = 200, body = ApiEventList))
)]
pub(super) async fn events(
    State(state): State<SharedState>,
    RunPath(id): RunPath,
    ApiQuery(params): ApiQuery<EventParams>,
) -> ApiResult<Json<ApiEventList>> {
    if !(1..=1000).contains(&params.limit) {
        return Err(Problem::unreadable("`limit` is a number from 1 to 1000"));
    }
    let (runs, run) = (state.service.runs.clone(), id.clone());
    let from = sensible(params.after)? + 1;
    let found = tokio::task::spawn_blocking(move || runs.events(&run, from, params.limit as usize)).await??;
    Ok(Json(ApiEventList { events: found.iter().map(|numbered| ApiEvent::of(&id, numbered)).collect() }))
}
