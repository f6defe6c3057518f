//! `POST /runs`: a goal, and how to work on it.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use updraft_run::{ApprovalMode, RunMode};
use updraft_workbench::service::{OrderFace, RunOrder};
use utoipa::ToSchema;

use super::SharedState;
use super::document::PREFIX;
use super::input::known_run;
use super::keys::{KeyHeader, KeyedJson, KeyedStart, not_started};
use super::problem::{ApiResult, Problem};

/// The longest label that can be asked for.
const LONGEST_LABEL: usize = 100;

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
    /// The label that the worker must have; only where Restate keeps the runs.
    #[schema(min_length = 1, max_length = 100)]
    label: Option<String>,
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
        let Self {
            goal,
            agent,
            swarm,
            model,
            approvals,
            plan_first,
            files,
            follows,
            requirements,
            variables,
            plan,
            label,
        } = self;
        if goal.is_empty() {
            return Err(Problem::unreadable("the goal is empty; say what you want done"));
        }
        if label.as_ref().is_some_and(|label| !(1..=LONGEST_LABEL).contains(&label.chars().count())) {
            return Err(Problem::unreadable(format!("a label has 1 to {LONGEST_LABEL} characters")));
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
        let approvals = approvals.map(ApprovalMode::from);
        let follows = follows.map(|id| known_run(state, &id)).transpose().map_err(Problem::into_conflict)?;
        let (plan, face) = (plan.map(Value::Object), OrderFace::Api);
        let order = RunOrder { goal, mode, model, approvals, plan_first, files, follows, face, ..RunOrder::default() };
        Ok(RunOrder { requirements, variables, plan, label, ..order })
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
