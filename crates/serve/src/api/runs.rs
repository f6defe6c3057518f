//! `/runs`: runs listed, started and looked at.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use updraft_run::{ApprovalMode, RunMode};
use updraft_workbench::service::{OrderFace, RunGroup, RunListQuery, RunOrder};
use utoipa::{IntoParams, ToSchema};

use super::SharedState;
use super::document::PREFIX;
use super::input::{ApiQuery, RunPath, known_run, sensible};
use super::keys::{KeyHeader, KeyedJson, KeyedStart, not_started};
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

/// A goal, and how to work on it.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewRunBody {
    /// What you want done.
    #[schema(min_length = 1)]
    goal: String,
    /// One agent works on it alone, instead of several with a plan.
    agent: Option<String>,
    /// A swarm of agents works on it, without a plan.
    #[serde(default)]
    swarm: bool,
    /// Another model than the server's.
    model: Option<String>,
    /// Stricter approvals than the server's.
    approvals: Option<ApiApprovals>,
    /// The plan waits for approval before anything is changed.
    #[serde(default)]
    plan_first: bool,
    /// Files of the workspace that come with it, by path.
    #[serde(default)]
    files: Vec<String>,
    /// The id of a run that has ended, which this one follows up on.
    follows: Option<String>,
    /// What must hold at the end: "cargo test passes", "file report.md exists", or free text.
    #[serde(default)]
    requirements: Vec<String>,
    /// Shared variables to start with.
    #[serde(default)]
    #[schema(value_type = Object)]
    variables: BTreeMap<String, Value>,
    /// A plan, instead of one that the planner makes: its `steps`, or node-link data.
    #[schema(value_type = Option<Object>)]
    plan: Option<Map<String, Value>>,
}

/// What happens with calls that need approval.
#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
enum ApiApprovals {
    /// All are allowed, except what a rule denies.
    Allow,
    /// A person is asked.
    Ask,
    /// Nobody is asked: such calls are refused.
    Refuse,
    /// Nothing may be changed at all.
    ReadOnly,
}

impl From<ApiApprovals> for ApprovalMode {
    fn from(approvals: ApiApprovals) -> Self {
        match approvals {
            ApiApprovals::Allow => ApprovalMode::Allow,
            ApiApprovals::Ask => ApprovalMode::Ask,
            ApiApprovals::Refuse => ApprovalMode::Refuse,
            ApiApprovals::ReadOnly => ApprovalMode::ReadOnly,
        }
    }
}

impl NewRunBody {
    fn order(self, state: &SharedState) -> ApiResult<RunOrder> {
        let Self { goal, agent, swarm, model, approvals, plan_first, files, follows, requirements, variables, plan } =
            self;
        if goal.is_empty() {
            return Err(Problem::unreadable("the goal is empty; say what you want done"));
        }
        if plan.is_some() && (agent.is_some() || swarm || plan_first) {
            return Err(Problem::conflict("`plan` excludes `agent`, `swarm` and `plan_first`"));
        }
        let mode = match (agent, swarm) {
            (Some(_), true) => return Err(Problem::conflict("`agent` and `swarm` exclude each other")),
            (Some(agent), false) => RunMode::Agent(agent),
            (None, true) => RunMode::Swarm,
            (None, false) => RunMode::Plan,
        };
        let usual = state.service.settings().effective.approvals.value;
        let approvals = approvals.map(ApprovalMode::from).filter(|approvals| *approvals != usual);
        let follows = follows.map(|id| known_run(state, &id)).transpose().map_err(Problem::into_conflict)?;
        let (plan, face) = (plan.map(Value::Object), OrderFace::Api);
        let order = RunOrder { goal, mode, model, approvals, plan_first, files, follows, face, ..RunOrder::default() };
        Ok(RunOrder { requirements, variables, plan, ..order })
    }
}

/// A run that was started.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiRunStart {
    /// Its id.
    pub(super) id: String,
}

/// The answer to a request that started a run.
pub(super) fn created(id: String) -> impl IntoResponse {
    let place = [(header::LOCATION, format!("{PREFIX}/runs/{id}"))];
    (StatusCode::CREATED, place, Json(ApiRunStart { id }))
}

/// Start a run
///
/// When this is answered, the goal is on disk, and the run continues in the background.
#[utoipa::path(
    post,
    path = "/runs",
    tag = "runs",
    params(KeyHeader),
    request_body = NewRunBody,
    responses((status = 201, body = ApiRunStart, headers(("Location", description = "The address of the run"))))
)]
pub(super) async fn start(
    State(state): State<SharedState>,
    sent: KeyedJson<NewRunBody>,
) -> ApiResult<impl IntoResponse> {
    let runs = &state.service.runs;
    let (body, id, _alone) = match sent.claim(&state).await? {
        KeyedStart::Known(id) => return Ok(created(id.to_string())),
        KeyedStart::New(body, id, alone) => (body, id, alone),
    };
    let order = body.order(&state)?;
    let started = match id {
        Some(id) => Box::pin(runs.order_as(id, order)).await,
        None => Box::pin(runs.order(order)).await,
    };
    Ok(created(started.map_err(not_started)?.to_string()))
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
