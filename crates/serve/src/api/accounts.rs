//! Accounts of runs: what calls touched, whether the rules still decide the same, details, and how agents did.

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use updraft_workbench::service::{CallAudit, DifferenceKind, ReplayAccount, ReplayDifference, RunDetail};
use utoipa::ToSchema;

use super::SharedState;
use super::input::{ApiPath, ApiQuery, ListParams, RunPath, known_run};
use super::problem::{ApiResult, Problem};

/// Most differences that a replay tells; the first matters most.
const DIFFERENCES: usize = 100;
/// A replay keeps a processor busy, so only so many are made at once.
static REPLAYS: Semaphore = Semaphore::const_new(2);

/// A part of a list.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiItems {
    /// The objects, in order.
    #[schema(value_type = Vec<Object>)]
    items: Vec<Value>,
    /// How many there are.
    all: usize,
}

/// What each call of a run touched: files, commands, hosts, approvals
///
/// Each is an object as `updraft audit --json` prints it, with `diff` for what it changed in text files.
#[utoipa::path(
    get,
    path = "/runs/{id}/audit",
    tag = "runs",
    params(("id" = String, Path, description = "The run"), ListParams),
    responses((status = 200, body = ApiItems))
)]
pub(super) async fn audit(
    State(state): State<SharedState>,
    RunPath(id): RunPath,
    ApiQuery(params): ApiQuery<ListParams>,
) -> ApiResult<Json<ApiItems>> {
    let ((skip, most), runs) = (params.range()?, state.service.runs.clone());
    let calls = tokio::task::spawn_blocking(move || runs.audit(&id)).await??;
    let items = calls.iter().skip(skip).take(most).map(|call: &CallAudit| json!(call)).collect();
    Ok(Json(ApiItems { items, all: calls.len() }))
}

/// What can be looked at in detail.
#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum ApiDetail {
    /// The messages between the user and the agents.
    Messages,
    /// What agents were told besides their tasks, and why.
    Context,
    /// The sources that the answer cites, and whether the quoted words hold.
    Sources,
    /// What was required, and the evidence.
    Proof,
    /// Every prompt, word for word.
    Prompts,
}

/// Show a run in detail, as `updraft show` does with the flag of this name
#[utoipa::path(
    get,
    path = "/runs/{id}/details/{detail}",
    tag = "runs",
    params(
        ("id" = String, Path, description = "The run"),
        ("detail" = ApiDetail, Path, description = "What to show"),
        ListParams
    ),
    responses((status = 200, body = ApiItems))
)]
pub(super) async fn detail(
    State(state): State<SharedState>,
    ApiPath((id, detail)): ApiPath<(String, ApiDetail)>,
    ApiQuery(params): ApiQuery<ListParams>,
) -> ApiResult<Json<ApiItems>> {
    let detail = match detail {
        ApiDetail::Messages => RunDetail::Messages,
        ApiDetail::Context => RunDetail::Context,
        ApiDetail::Sources => RunDetail::Sources,
        ApiDetail::Proof => RunDetail::Proof,
        ApiDetail::Prompts => RunDetail::Prompts,
    };
    let (id, (skip, most), runs) = (known_run(&state, &id)?, params.range()?, state.service.runs.clone());
    let (items, all) = tokio::task::spawn_blocking(move || runs.detail(&id, detail, skip, most)).await??;
    Ok(Json(ApiItems { items, all }))
}

/// What came of making all decisions of a run again.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiReplay {
    /// Whether every event and every prompt is the same.
    same: bool,
    /// How many events were decided again and compared.
    events: u64,
    /// How many events were copied from another run, and only applied.
    copied: u64,
    /// How many prompts were made again and compared.
    prompts: u64,
    /// The version of Updraft that wrote the journal. Another version may decide differently, which does not make the
    /// journal invalid.
    version: String,
    /// Whether that is the version of this server.
    own_version: bool,
    /// How many differences there are.
    different: usize,
    /// The first of them.
    differences: Vec<ApiDifference>,
}

/// Where a replay differs from the journal.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiDifference {
    /// The number of the event.
    event: u64,
    /// The question whose prompt differs; absent if an event does.
    prompt: Option<String>,
    /// What the journal has: an event, or the hash of a prompt.
    recorded: Option<String>,
    /// What is decided or made now.
    now: Option<String>,
}

impl From<ReplayDifference> for ApiDifference {
    fn from(ReplayDifference { event, what }: ReplayDifference) -> Self {
        match what {
            DifferenceKind::Event { recorded, decided } => Self { event, prompt: None, recorded, now: decided },
            DifferenceKind::Prompt { id, recorded, made } => Self {
                event,
                prompt: Some(id.to_string()),
                recorded: Some(recorded.to_string()),
                now: Some(made.to_string()),
            },
        }
    }
}

/// Repeat all decisions of a run from its journal, and compare every event and prompt
///
/// Nothing is asked, called or changed.
#[utoipa::path(
    get,
    path = "/runs/{id}/replay",
    tag = "runs",
    params(("id" = String, Path, description = "The run")),
    responses((status = 200, body = ApiReplay))
)]
pub(super) async fn replay(State(state): State<SharedState>, RunPath(id): RunPath) -> ApiResult<Json<ApiReplay>> {
    let turn = REPLAYS.acquire().await.map_err(|_| Problem::conflict("the server is stopping"))?;
    let runs = state.service.runs.clone();
    // The work goes on if the client leaves, and so does its turn.
    let account = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        runs.replay(&id)
    });
    let ReplayAccount { report, version } = account.await??;
    Ok(Json(ApiReplay {
        same: report.differences.is_empty(),
        events: report.events,
        copied: report.copied,
        prompts: report.prompts,
        own_version: version == env!("CARGO_PKG_VERSION"),
        version,
        different: report.differences.len(),
        differences: report.differences.into_iter().take(DIFFERENCES).map(ApiDifference::from).collect(),
    }))
}
