//! `/runs/{id}/stream`: the events of a run as server-sent events, each once and in order.
//!
//! The id of an event is its number in the run's journal. So a client that comes back with `Last-Event-ID` gets exactly
//! what it has not seen, also after the server was started again. When the run is over, the stream ends; a client that
//! comes back then is answered with 204, which tells browsers not to come again.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use serde::Deserialize;
use tokio::time::Instant;
use updraft_run::RunId;
use updraft_workbench::service::{EventTail, TailItem};
use utoipa::{IntoParams, ToSchema};

use super::input::{ApiQuery, RunPath, sensible};
use super::problem::{ApiResult, Problem};
use super::run_json::ApiEvent;
use super::{ApiState, SharedState};
use crate::bearer::ApiCaller;

/// How often a silent connection is told that the server is there.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// How often it is checked whether the user of an open stream is still a user.
const RECHECK: Duration = Duration::from_secs(2);
/// What a silent connection is told: a comment.
const STILL_HERE: Bytes = Bytes::from_static(b":\n\n");
const GONE: Bytes = Bytes::from_static(b"event: gone\ndata: {}\n\n");

/// From where on a run is followed.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct StreamParams {
    /// Only events after this number; `Last-Event-ID` counts more.
    #[serde(default)]
    #[param(maximum = 1_000_000_000_000_i64)]
    pub(super) after: u64,
}

/// One server-sent event.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it only describes the stream")]
pub(super) struct ApiStreamEvent {
    /// The number of the event in its run.
    id: String,
    /// What happened, such as `step_done`.
    event: String,
    /// The event as JSON, as in the list of events.
    data: String,
}

/// A run that a program follows.
pub(super) struct ApiWatcher {
    state: SharedState,
    caller: ApiCaller,
    run: RunId,
    tail: EventTail,
    /// When it is checked again whether the user is still a user.
    recheck: Instant,
}

/// What a program that follows a run is told next.
pub(super) enum WatchedNews {
    /// Events that are new.
    Events(Vec<ApiEvent>),
    /// Nothing happened for a while.
    Silence,
    /// The run cannot be followed any longer: it was removed.
    Gone,
    /// The run is over, the server stops, or the user was removed.
    End,
}

impl ApiWatcher {
    /// Follows a run after an event.
    pub(super) fn new(state: SharedState, caller: ApiCaller, run: RunId, after: u64) -> Self {
        let tail = state.service.runs.tail(&run, after);
        Self { state, caller, run, tail, recheck: Instant::now() + RECHECK }
    }

    /// Whether there will be nothing to tell.
    pub(super) fn is_over(&mut self) -> ApiResult<bool> {
        Ok(self.tail.is_over()?)
    }

    /// What comes next. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> WatchedNews {
        let heartbeat = Instant::now() + HEARTBEAT;
        let state: &ApiState = &self.state;
        loop {
            // However much happens, and whatever a client sends.
            if Instant::now() >= self.recheck {
                if !state.access.still_knows(&self.caller) {
                    return WatchedNews::End;
                }
                self.recheck = Instant::now() + RECHECK;
            }
            tokio::select! {
                biased;
                () = state.stop.cancelled() => return WatchedNews::End,
                item = self.tail.next() => return match item {
                    Ok(TailItem::Events(new)) => {
                        WatchedNews::Events(new.iter().map(|numbered| ApiEvent::of(&self.run, numbered)).collect())
                    }
                    Ok(TailItem::Over) => WatchedNews::End,
                    Ok(TailItem::Gone) | Err(_) => WatchedNews::Gone,
                },
                () = tokio::time::sleep_until(self.recheck) => {
                    if Instant::now() >= heartbeat {
                        return WatchedNews::Silence;
                    }
                }
            }
        }
    }
}

/// Follow a run
///
/// Server-sent events: `event` is the type of the event, `id` its number, `data` the event as JSON. Comments keep the
/// connection open.
#[utoipa::path(
    get,
    path = "/runs/{id}/stream",
    tag = "runs",
    params(
        ("id" = String, Path, description = "The run"),
        StreamParams,
        ("Last-Event-ID" = Option<u64>, Header, description = "The number of the last event that was received", maximum = 1_000_000_000_000_i64)
    ),
    responses(
        (status = 200, description = "The events", content_type = "text/event-stream", body = ApiStreamEvent),
        (status = 204, description = "The run is over, and there are no more events")
    )
)]
pub(super) async fn open(
    State(state): State<SharedState>,
    Extension(caller): Extension<ApiCaller>,
    RunPath(run): RunPath,
    ApiQuery(params): ApiQuery<StreamParams>,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let asked = sensible(params.after)?;
    let after = sensible(last_seen(&headers)?.unwrap_or(asked))?;
    let mut watcher = ApiWatcher::new(Arc::clone(&state), caller, run, after);
    if watcher.is_over()? {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let stream = unfold(Some(watcher), |watcher| async move {
        let mut watcher = watcher?;
        let (text, rest) = match watcher.next().await {
            WatchedNews::Events(events) => (frames(&events), Some(watcher)),
            WatchedNews::Silence => (STILL_HERE, Some(watcher)),
            WatchedNews::Gone => (GONE, None),
            WatchedNews::End => return None,
        };
        Some((Ok::<Bytes, Infallible>(text), rest))
    });
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
    Ok((headers, Body::from_stream(stream)).into_response())
}

/// The number of the last event that a client has received, as it says.
fn last_seen(headers: &HeaderMap) -> ApiResult<Option<u64>> {
    let Some(sent) = headers.get("last-event-id") else { return Ok(None) };
    let number = sent.to_str().ok().and_then(|sent| sent.trim().parse().ok());
    number.map(Some).ok_or_else(|| Problem::unreadable("`Last-Event-ID` is the number of an event"))
}

fn frames(events: &[ApiEvent]) -> Bytes {
    let frame = |event: &ApiEvent| {
        let data = serde_json::to_string(event).unwrap_or_default();
        format!("id: {}\nevent: {}\ndata: {data}\n\n", event.seq, event.kind)
    };
    events.iter().map(frame).collect::<String>().into()
}
