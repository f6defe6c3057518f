//! `/knowledge`: the files of the workspace, searched and brought into the index.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use updraft_workbench::service::{Ingestion, IngestionPhase, SearchHit};
use utoipa::{IntoParams, ToSchema};

use super::SharedState;
use super::input::{ApiJson, ApiQuery};
use super::problem::{ApiResult, Problem};

/// What is looked for.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct SearchParams {
    /// Words, or a question.
    #[param(min_length = 1, max_length = 1000)]
    query: String,
}

/// A document that was found.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiHit {
    /// Its path in the workspace.
    path: String,
    /// Its name for people.
    title: String,
    /// A few lines around what was found.
    text: String,
}

/// Search the files of the workspace
#[utoipa::path(
    get,
    path = "/knowledge/search",
    tag = "knowledge",
    params(SearchParams),
    responses((status = 200, body = [ApiHit]))
)]
pub(super) async fn search(
    State(state): State<SharedState>,
    ApiQuery(SearchParams { query }): ApiQuery<SearchParams>,
) -> ApiResult<Json<Vec<ApiHit>>> {
    if !(1..=1000).contains(&query.chars().count()) {
        return Err(Problem::unreadable("a query has 1 to 1000 characters"));
    }
    // Signs alone are in no document.
    if !query.chars().any(char::is_alphanumeric) {
        return Ok(Json(Vec::new()));
    }
    let found = Box::pin(state.service.files.search(&query)).await?;
    let hit = |hit: SearchHit| ApiHit { path: hit.id, title: hit.title, text: hit.text };
    Ok(Json(found.into_iter().map(hit).collect()))
}

/// A document in the index.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiDocumentEntry {
    /// Its path in the workspace.
    path: String,
    /// The kind of file.
    kind: String,
    /// Its title, where it has one.
    title: Option<String>,
    /// The size of the file.
    bytes: u64,
}

/// List the documents in the index
#[utoipa::path(get, path = "/knowledge/documents", tag = "knowledge", responses((status = 200, body = [ApiDocumentEntry])))]
pub(super) async fn documents(State(state): State<SharedState>) -> ApiResult<Json<Vec<ApiDocumentEntry>>> {
    let files = Arc::clone(&state.service.files);
    let listed = tokio::task::spawn_blocking(move || files.documents()).await??;
    let written = listed.into_iter().map(|entry| ApiDocumentEntry {
        path: entry.path,
        kind: entry.kind,
        title: entry.title,
        bytes: entry.bytes,
    });
    Ok(Json(written.collect()))
}

/// Which documents are removed from the index.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct DocumentParams {
    /// A file or folder, relative to the workspace.
    #[param(min_length = 1)]
    path: String,
}

/// How many documents were removed.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiDocumentCount {
    /// Their number.
    removed: usize,
}

/// Remove documents from the index
///
/// Files of the workspace come back unless `.gitignore` or `.ignore` leaves them out.
#[utoipa::path(
    delete,
    path = "/knowledge/documents",
    tag = "knowledge",
    params(DocumentParams),
    responses((status = 200, body = ApiDocumentCount))
)]
pub(super) async fn forget(
    State(state): State<SharedState>,
    ApiQuery(DocumentParams { path }): ApiQuery<DocumentParams>,
) -> ApiResult<Json<ApiDocumentCount>> {
    if path.is_empty() {
        return Err(Problem::unreadable("the path is empty; `.` is the whole workspace"));
    }
    let files = Arc::clone(&state.service.files);
    let removed = tokio::task::spawn_blocking(move || files.forget_documents(&path)).await??;
    Ok(Json(ApiDocumentCount { removed }))
}

/// What is to be brought into the index.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct IngestBody {
    /// A file or folder; empty: the whole workspace.
    #[serde(default)]
    path: String,
}

/// Bring files into the index
///
/// It happens in the background; `GET /knowledge/ingestion` says how far it is.
#[utoipa::path(
    post,
    path = "/knowledge/ingestion",
    tag = "knowledge",
    request_body = IngestBody,
    responses((status = 202, description = "It has begun"))
)]
pub(super) async fn ingest(
    State(state): State<SharedState>,
    ApiJson(IngestBody { path }): ApiJson<IngestBody>,
) -> ApiResult<StatusCode> {
    state.service.ingest(&path).await?;
    Ok(StatusCode::ACCEPTED)
}

/// How far files were brought into the index.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiIngestion {
    /// The file or folder; empty: the whole workspace. Absent if nothing was brought in since the server began.
    path: Option<String>,
    /// `idle`, `working`, `done` or `failed`.
    phase: &'static str,
    /// What happens, what came of it, or why it failed.
    message: String,
}

/// How far files were brought into the index
#[utoipa::path(get, path = "/knowledge/ingestion", tag = "knowledge", responses((status = 200, body = ApiIngestion)))]
pub(super) async fn ingestion(State(state): State<SharedState>) -> Json<ApiIngestion> {
    let Some(Ingestion { path, phase, .. }) = state.service.ingestion() else {
        return Json(ApiIngestion { path: None, phase: "idle", message: String::new() });
    };
    let (phase, message) = match phase {
        IngestionPhase::Working { what, .. } => ("working", what),
        IngestionPhase::Done(result) => ("done", result.words),
        IngestionPhase::Failed(why) => ("failed", why),
    };
    Json(ApiIngestion { path: Some(path), phase, message: message.clone() })
}
