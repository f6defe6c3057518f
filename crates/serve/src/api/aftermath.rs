//! What is done with runs afterwards: exported, their changes reviewed and undone, removed.

use std::convert::Infallible;
use std::io::{self, BufWriter, Write};

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::mpsc;
use updraft_run::StepId;
use updraft_workbench::service::{FileReview, ReviewedChange, ReviewedState, UndoOrder};
use utoipa::{IntoParams, ToSchema};

use super::SharedState;
use super::input::{ApiJson, ApiQuery, RunPath};
use super::problem::{ApiResult, Problem};
use crate::page::run_as_html;

/// How much of an export is written at once, and how many such pieces wait for a client that reads slowly.
const PIECE: usize = 64 << 10;
const PIECES: usize = 8;

/// How a run is exported.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ExportParams {
    /// The form.
    #[serde(default)]
    format: ApiExportFormat,
}

/// The forms of an export.
#[derive(Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ApiExportFormat {
    /// Lines that `updraft import` reads: everything.
    #[default]
    Jsonl,
    /// The graph, as NetworkX reads it.
    NodeLink,
    /// The run with its steps, variables and figures.
    Report,
    /// One file for people.
    Html,
}

/// Export a run
#[utoipa::path(
    get,
    path = "/runs/{id}/export",
    tag = "runs",
    params(("id" = String, Path, description = "The run"), ExportParams),
    responses((status = 200, description = "The run in this form", content(
        (String = "application/jsonl"),
        (Value = "application/json"),
        (String = "text/html")
    )))
)]
pub(super) async fn export(
    State(state): State<SharedState>,
    RunPath(id): RunPath,
    ApiQuery(ExportParams { format }): ApiQuery<ExportParams>,
) -> ApiResult<Response> {
    let runs = state.service.runs.clone();
    match format {
        ApiExportFormat::Jsonl => {
            let (pieces, received) = mpsc::channel(PIECES);
            tokio::task::spawn_blocking(move || {
                let mut out = BufWriter::with_capacity(PIECE, PieceWriter(pieces));
                if let Err(fault) = runs.export(&id, &mut out) {
                    tracing::warn!(run = %id, "an export broke off: {}", fault.in_one_line());
                }
                // The client may be gone.
                let _ = out.flush();
            });
            let stream = unfold(received, |mut received| async move {
                let piece = received.recv().await?;
                Some((Ok::<Bytes, Infallible>(piece), received))
            });
            Ok(([(header::CONTENT_TYPE, "application/jsonl")], Body::from_stream(stream)).into_response())
        }
        ApiExportFormat::NodeLink => {
            Ok(Json(tokio::task::spawn_blocking(move || runs.graph(id.as_str())).await??).into_response())
        }
        ApiExportFormat::Report => {
            Ok(Json(tokio::task::spawn_blocking(move || runs.report(id.as_str())).await??).into_response())
        }
        ApiExportFormat::Html => {
            let page =
                tokio::task::spawn_blocking(move || Ok::<_, Problem>(run_as_html(&runs.archive(&id)?))).await??;
            Ok(([(header::CONTENT_TYPE, "text/html; charset=utf-8")], page).into_response())
        }
    }
}

/// Writes to a client, and waits for it.
struct PieceWriter(mpsc::Sender<Bytes>);

impl Write for PieceWriter {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let sent = self.0.blocking_send(Bytes::copy_from_slice(piece));
        sent.map(|()| piece.len()).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What a run has changed in the workspace.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiChanges {
    /// The files, by path. What is in `.git` is left out.
    files: Vec<ApiFileReview>,
}

/// A file that a run has changed.
#[derive(Serialize, ToSchema)]
pub(super) struct ApiFileReview {
    /// Its path, relative to the workspace.
    path: String,
    /// What the run did with it: `created`, `changed` or `removed`.
    change: &'static str,
    /// What it is now: `as_left` by the run, `as_before` the run, or `changed_since`.
    state: &'static str,
    /// Its text before the run; absent if there was no such file, or if it cannot be shown.
    before: Option<String>,
    /// Why its text before the run cannot be shown.
    hidden: Option<&'static str>,
}

impl From<FileReview> for ApiFileReview {
    fn from(FileReview { path, change, state, before, hidden }: FileReview) -> Self {
        let change = match change {
            ReviewedChange::Created => "created",
            ReviewedChange::Changed => "changed",
            ReviewedChange::Removed => "removed",
        };
        let state = match state {
            ReviewedState::AsLeft => "as_left",
            ReviewedState::AsBefore => "as_before",
            ReviewedState::ChangedSince => "changed_since",
        };
        Self { path, change, state, before, hidden }
    }
}

/// Show what a run has changed in the workspace
///
/// Each file comes with its text before the run, so that the changes can be shown beside the file as it is now.
#[utoipa::path(
    get,
    path = "/runs/{id}/changes",
    tag = "runs",
    params(("id" = String, Path, description = "The run")),
    responses((status = 200, body = ApiChanges))
)]
pub(super) async fn changes(State(state): State<SharedState>, RunPath(id): RunPath) -> ApiResult<Json<ApiChanges>> {
    let runs = state.service.runs.clone();
    let files = tokio::task::spawn_blocking(move || runs.review(&id)).await??;
    Ok(Json(ApiChanges { files: files.into_iter().map(ApiFileReview::from).collect() }))
}

/// Which changes of a run are undone.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct UndoBody {
    /// Only those of this step.
    step: Option<String>,
    /// Only those of this call, by its address.
    call: Option<String>,
    /// Only those of this path, relative to the workspace, and of what is in it.
    path: Option<String>,
    /// The last undo is undone instead.
    #[serde(default)]
    redo: bool,
    /// Files that were changed since are restored too; a copy of them is kept.
    #[serde(default)]
    force: bool,
    /// Nothing is done: `plan` says what would be.
    #[serde(default)]
    dry_run: bool,
}

/// Undo what a run has changed in the workspace
///
/// `restored` are the paths that are as they were before, `left` those that could not be restored, and why.
#[utoipa::path(
    post,
    path = "/runs/{id}/undo",
    tag = "runs",
    params(("id" = String, Path, description = "The run")),
    request_body = UndoBody,
    responses((status = 200, body = Object))
)]
pub(super) async fn undo(
    State(state): State<SharedState>,
    RunPath(id): RunPath,
    ApiJson(UndoBody { step, call, path, redo, force, dry_run }): ApiJson<UndoBody>,
) -> ApiResult<Json<Value>> {
    let bad = |bad: updraft_run::BadId| Problem::conflict(bad.to_string());
    let step = step.as_deref().map(StepId::parse).transpose().map_err(bad)?;
    let call = call.as_deref().map(str::parse).transpose().map_err(bad)?;
    Ok(Json(state.service.runs.undo(&id, UndoOrder { step, call, path, redo, force, dry_run }).await?))
}

/// Remove a run
///
/// It is gone for good, and what it changed can no longer be undone.
#[utoipa::path(
    delete,
    path = "/runs/{id}",
    tag = "runs",
    params(("id" = String, Path, description = "The run")),
    responses((status = 204, description = "The run is removed"))
)]
pub(super) async fn remove(State(state): State<SharedState>, RunPath(id): RunPath) -> ApiResult<StatusCode> {
    state.service.runs.remove(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}
