//! What owners do: runs brought in from files, old ones removed.

use std::time::Duration;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use updraft_run::RunId;
use updraft_workbench::import::{ImportFile, ImportNext, ImportReport};
use utoipa::{IntoParams, ToSchema};

use super::SharedState;
use super::document::PREFIX;
use super::input::{ApiQuery, content_type, read_body, whole, wrong_type};
use super::keys::{KeyHeader, KeyedJson, SentKey};
use super::problem::{ApiResult, Problem};

/// Most bytes of a run in a file, and how long it may take to arrive.
const MOST_BYTES: usize = 64 << 20;
const WHOLE: Duration = Duration::from_mins(10);
/// A file is held in memory, so only so many are received at once.
static RECEIVERS: Semaphore = Semaphore::const_new(2);
/// The types of a file.
const JSONL: &str = "application/jsonl";
const JSON: &str = "application/json";
/// The longest time that runs are kept: a century.
const LONGEST: u64 = 3_153_600_000;

/// How a run is brought in.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ImportParams {
    /// The id of the run, if it shall have another than in the file.
    id: Option<String>,
    /// For node-link data: the model that continues unfinished steps, instead of the server's.
    model: Option<String>,
}

/// A run that was brought in.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiImport {
    /// Its id.
    id: String,
    /// What it needs to continue: `nothing`, since it has ended; `adopt`; or `resume`.
    next: &'static str,
    /// What is different from the file.
    notes: Vec<String>,
}

impl From<ImportReport> for ApiImport {
    fn from(ImportReport { id, next, notes }: ImportReport) -> Self {
        let next = match next {
            ImportNext::Nothing => "nothing",
            ImportNext::Adopt => "adopt",
            ImportNext::Resume { .. } => "resume",
        };
        Self { id: id.to_string(), next, notes }
    }
}

/// Bring in a run from a file
///
/// The body is what `GET /runs/{id}/export` gives, here or elsewhere (`application/jsonl`), or node-link data of NetworkX
/// (`application/json`). A run that is not finished is held until it is adopted.
#[utoipa::path(
    post,
    path = "/import",
    tag = "runs",
    params(ImportParams, KeyHeader),
    request_body(content((String = "application/jsonl"), (Object = "application/json"))),
    responses((status = 201, body = ApiImport, headers(("Location", description = "The address of the run"))))
)]
pub(super) async fn import(
    State(state): State<SharedState>,
    ApiQuery(ImportParams { id, model }): ApiQuery<ImportParams>,
    request: Request,
) -> ApiResult<impl IntoResponse> {
    if ![JSONL, JSON].contains(&content_type(request.headers()).as_str()) {
        return Err(wrong_type(JSONL));
    }
    let id = id.as_deref().map(RunId::parse).transpose().map_err(|bad| Problem::conflict(bad.to_string()))?;
    let sent = SentKey::of(&request)?;
    let place = RECEIVERS.acquire().await.map_err(|_| Problem::conflict("the server is stopping"))?;
    let body = read_body(request, MOST_BYTES, WHOLE).await?;
    let (runs, key) = (state.service.runs.clone(), sent.with(&body));
    let imported = state.once(key, move |_| async move {
        let file = tokio::task::spawn_blocking(move || ImportFile::read(&mut &*body, "the body")).await??;
        let report = Box::pin(runs.import(file, id, model)).await?;
        Ok(json!(ApiImport::from(report)))
    });
    let imported = imported.await?;
    drop(place);
    let place = format!("{PREFIX}/runs/{}", imported["id"].as_str().unwrap_or_default());
    Ok((StatusCode::CREATED, [(header::LOCATION, place)], Json(imported)))
}

/// Which runs are removed.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PruneBody {
    /// Those that ended longer ago than this.
    #[serde(deserialize_with = "whole")]
    #[schema(maximum = 3_153_600_000_i64)]
    older_than_seconds: u64,
    /// Nothing is removed: the answer says what would be.
    #[serde(default)]
    dry_run: bool,
}

/// Runs that were removed.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiPrune {
    /// Their ids.
    runs: Vec<String>,
}

/// Remove the runs of this workspace that ended long ago
///
/// They are gone for good, and what they changed can no longer be undone.
#[utoipa::path(
    post,
    path = "/prune",
    tag = "runs",
    params(KeyHeader),
    request_body = PruneBody,
    responses((status = 200, body = ApiPrune))
)]
pub(super) async fn prune(State(state): State<SharedState>, sent: KeyedJson<PruneBody>) -> ApiResult<Json<Value>> {
    let KeyedJson { body: PruneBody { older_than_seconds, dry_run }, key } = sent;
    if older_than_seconds > LONGEST {
        return Err(Problem::unreadable(format!("`older_than_seconds` is at most {LONGEST}")));
    }
    let runs = state.service.runs.clone();
    let pruned = state.once(key, move |_| async move {
        let gone = runs.prune(Duration::from_secs(older_than_seconds), dry_run).await?;
        Ok(json!(ApiPrune { runs: gone.iter().map(ToString::to_string).collect() }))
    });
    Ok(Json(pruned.await?))
}
