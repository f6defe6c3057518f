//! `/runs/{id}/export`: a run as a file, in several forms.

use std::convert::Infallible;
use std::io::{self, BufWriter, Write};

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use serde::Deserialize;
use tokio::sync::mpsc;
use utoipa::{IntoParams, ToSchema};

use super::SharedState;
use super::input::{ApiQuery, RunPath};
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
                    tracing::warn!(run = %id, "an export was interrupted: {}", fault.in_one_line());
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
