//! `/runs/{id}/logs` and `/stats`: what runs did, line by line, and how agents and models did in them.

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use updraft_workbench::observe::{LogFormat, LogKind, LogLine};
use updraft_workbench::service::{AgentTally, LogRange};
use utoipa::{IntoParams, ToSchema};

use super::SharedState;
use super::input::{ApiQuery, RunPath};
use super::problem::{ApiResult, Problem};

/// Which lines of which log.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct LogParams {
    /// The log.
    #[serde(default)]
    log: ApiLog,
    /// The form.
    #[serde(default)]
    format: ApiLogFormat,
    /// How many lines are skipped.
    #[serde(default)]
    #[param(maximum = 1_000_000_000)]
    skip: u32,
    /// At most this many lines.
    #[serde(default = "hundred")]
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: u32,
    /// The last so many lines instead, whatever `skip` and `limit` say.
    #[param(minimum = 1, maximum = 1000)]
    last: Option<u32>,
}

fn hundred() -> u32 {
    100
}

impl LogParams {
    fn range(&self) -> ApiResult<LogRange> {
        let is_count = |lines: u32| (1..=1000).contains(&lines);
        if self.skip > 1_000_000_000 || !is_count(self.limit) || !self.last.is_none_or(is_count) {
            let why = "`limit` and `last` are numbers from 1 to 1000, and `skip` is at most a billion";
            return Err(Problem::unreadable(why));
        }
        let after = LogRange::After { skip: self.skip as usize, most: self.limit as usize };
        Ok(self.last.map_or(after, |last| LogRange::Last(last as usize)))
    }
}

/// The logs of a run.
#[derive(Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum ApiLog {
    /// Every step, call, warning and error.
    #[default]
    General,
    /// Plans, reasoning, answers, decisions and judgements, with their texts.
    Reasoning,
}

/// The forms of a log.
#[derive(Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum ApiLogFormat {
    /// Objects, with the numbers of the lines.
    #[default]
    Json,
    /// The lines as people read them.
    Text,
}

/// Lines of a log.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiLogPage {
    /// How many lines come before.
    skipped: usize,
    /// The lines: `at`, `level`, `message`, `text`, and what else a line says.
    #[schema(value_type = Vec<Object>)]
    lines: Vec<Value>,
    /// How many lines the log has now.
    all: usize,
}

/// Read what a run did, as a log; or its reasoning
///
/// Logs are made from the journal, whether the server writes log files or not.
#[utoipa::path(
    get,
    path = "/runs/{id}/logs",
    tag = "runs",
    params(("id" = String, Path, description = "The run"), LogParams),
    responses((status = 200, description = "The lines", content(
        (ApiLogPage = "application/json"),
        (String = "text/plain")
    )))
)]
pub(super) async fn logs(
    State(state): State<SharedState>,
    RunPath(id): RunPath,
    ApiQuery(params): ApiQuery<LogParams>,
) -> ApiResult<Response> {
    let (range, runs) = (params.range()?, state.service.runs.clone());
    let kind = match params.log {
        ApiLog::General => LogKind::General,
        ApiLog::Reasoning => LogKind::Reasoning,
    };
    let page = tokio::task::spawn_blocking(move || runs.log(&id, kind, range)).await??;
    Ok(match params.format {
        ApiLogFormat::Json => {
            let lines = page.lines.iter().map(LogLine::as_json).collect();
            Json(ApiLogPage { skipped: page.skipped, lines, all: page.all }).into_response()
        }
        ApiLogFormat::Text => {
            let text: String = page.lines.iter().map(|line| line.written(LogFormat::Text)).collect();
            ([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response()
        }
    })
}

/// How agents and models did.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiStatistics {
    /// Over how many runs this is counted: the newest of this workspace that have ended.
    runs: usize,
    /// The sums, for each agent and model.
    agents: Vec<ApiTally>,
}

/// How one agent did with one model.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiTally {
    /// The agent.
    agent: String,
    /// The model.
    model: String,
    /// Steps that it was given.
    steps: u64,
    /// Those that were done.
    done: u64,
    /// Those that failed.
    failed: u64,
    /// How often a step had to be entered again.
    retries: u64,
    /// Questions to the model.
    turns: u64,
    /// Tokens in both directions.
    tokens: u64,
    /// What it cost, in words; absent if a price is unknown.
    cost: Option<String>,
}

impl From<AgentTally> for ApiTally {
    fn from(tally: AgentTally) -> Self {
        let AgentTally { agent, model, steps, done, failed, retries, turns, tokens, cost } = tally;
        Self { agent, model, steps, done, failed, retries, turns, tokens, cost: cost.map(|cost| cost.to_string()) }
    }
}

/// How agents and models did in the newest runs: steps, failures, retries, costs
#[utoipa::path(get, path = "/stats", tag = "runs", responses((status = 200, body = ApiStatistics)))]
pub(super) async fn stats(State(state): State<SharedState>) -> ApiResult<Json<ApiStatistics>> {
    let stats = Box::pin(state.service.runs.agent_stats()).await?;
    let agents = stats.tallies().into_iter().map(ApiTally::from).collect();
    Ok(Json(ApiStatistics { runs: stats.runs(), agents }))
}
