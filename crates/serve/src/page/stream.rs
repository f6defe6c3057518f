//! `/runs/ID/stream`: server-sent events that keep an open page up to date.
//!
//! | event | data |
//! |---|---|
//! | `patch`, with the position as its id | what has changed since the position before (`patch.rs`) |
//! | `live` | a piece of an answer that is being written: `address`, `kind`, `text`; it may be lost |
//! | `gone` | the run cannot be read now: the page asks again |
//!
//! A stream begins after the position in the address, or after the `Last-Event-ID` with which a browser comes back.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::{broadcast, watch};
use tokio::time::Instant;
use updraft_run::StepId;
use updraft_workbench::service::{LiveText, LiveTextKind, RunFeed};

use super::PageState;
use super::failure::PageFailure;
use super::patch_cache::WatchedPart;
use super::run_page::RunTab;

/// How often a silent connection is told that the server is there.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// What a silent connection is told: a comment.
const STILL_HERE: Bytes = Bytes::from_static(b":\n\n");
const GONE: Bytes = Bytes::from_static(b"event: gone\ndata: {}\n\n");
/// How many bytes of patches a watcher is sent in a second, on average: after a large one it is left alone for a while.
const BYTES_A_SECOND: u32 = 2 << 20;
/// The shortest time between two pieces of live text, and most pieces that are sent together.
const LIVE_PAUSE: Duration = Duration::from_millis(30);
const TOGETHER: usize = 256;

/// What is watched, and from where on.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct StreamRequest {
    after: u64,
    view: String,
    step: String,
}

struct Watcher {
    state: Arc<PageState>,
    feed: Arc<RunFeed>,
    positions: watch::Receiver<u64>,
    live: broadcast::Receiver<LiveText>,
    /// What was said before this watcher came.
    earlier: Vec<LiveText>,
    after: u64,
    part: WatchedPart,
    /// Until when it is sent no further patch.
    rests: Instant,
    /// Until when it is sent no further live text.
    listens: Instant,
    is_over: bool,
}

pub(super) async fn open(
    State(state): State<Arc<PageState>>,
    Path(id): Path<String>,
    Query(request): Query<StreamRequest>,
    headers: HeaderMap,
) -> Result<Response, PageFailure> {
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse::<u64>().ok());
    let (feed, mut positions) = state.service.runs.watched_feed(&id).map_err(PageFailure::missing)?;
    // What is known now may be newer than what the page shows.
    positions.mark_changed();
    let (earlier, live) = feed.live();
    let part = WatchedPart { tab: RunTab::of(&request.view), step: StepId::parse(&request.step).ok() };
    let after = last.unwrap_or(request.after);
    let now = Instant::now();
    let watcher =
        Watcher { state, feed, positions, live, earlier, after, part, rests: now, listens: now, is_over: false };
    let stream = unfold(watcher, |mut watcher| async move {
        let event = watcher.next().await?;
        Some((Ok::<Bytes, Infallible>(event), watcher))
    });
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
    Ok((headers, Body::from_stream(stream)).into_response())
}

impl Watcher {
    /// The next event; `None` when the stream ends.
    async fn next(&mut self) -> Option<Bytes> {
        if self.is_over {
            return None;
        }
        if let Some(first) = self.earlier.pop() {
            return live_event(&[first]);
        }
        let stop = self.state.stop.clone();
        let heartbeat = Instant::now() + HEARTBEAT;
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return None,
                position = newest(&mut self.positions, self.rests) => {
                    if let Some(event) = self.reach(position?).await {
                        return Some(event);
                    }
                }
                said = hear(&mut self.live, self.listens) => match said {
                    Ok(first) => {
                        self.listens = Instant::now() + LIVE_PAUSE;
                        let mut pieces = vec![first];
                        while pieces.len() < TOGETHER && let Ok(piece) = self.live.try_recv() {
                            pieces.push(piece);
                        }
                        if let Some(event) = live_event(&pieces) {
                            return Some(event);
                        }
                    }
                    // What was lost is sent as a whole.
                    Err(broadcast::error::RecvError::Lagged(_)) => {
                        (self.earlier, self.live) = self.feed.live();
                        if let Some(first) = self.earlier.pop() {
                            return live_event(&[first]);
                        }
                    }
                    Err(broadcast::error::RecvError::Closed) => return None,
                },
                () = tokio::time::sleep_until(heartbeat) => return Some(STILL_HERE),
            }
        }
    }

    /// The patch that leads to a position, or further; nothing if the watcher is there already.
    async fn reach(&mut self, position: u64) -> Option<Bytes> {
        if position == u64::MAX {
            self.is_over = true;
            return Some(GONE);
        }
        // At 0, nothing was read yet. A position before that of the page is new too: the journal was cut.
        if position == 0 || position == self.after {
            return None;
        }
        let (runs, span) = (&self.state.service.runs, (self.after, position));
        let Ok(patch) = self.state.patches.patch(runs, &self.feed, span, &self.part).await else {
            self.is_over = true;
            return Some(GONE);
        };
        if patch.position == self.after {
            return None;
        }
        self.after = patch.position;
        self.rests = Instant::now() + Duration::from_secs(1) * patch.frame.len() as u32 / BYTES_A_SECOND;
        Some(patch.frame.clone())
    }
}

/// The next piece of live text, but not before a moment.
async fn hear(
    live: &mut broadcast::Receiver<LiveText>,
    moment: Instant,
) -> Result<LiveText, broadcast::error::RecvError> {
    tokio::time::sleep_until(moment).await;
    live.recv().await
}

/// The newest position, once there is a new one, but not before a moment.
async fn newest(positions: &mut watch::Receiver<u64>, moment: Instant) -> Option<u64> {
    tokio::time::sleep_until(moment).await;
    positions.changed().await.ok()?;
    Some(*positions.borrow_and_update())
}

/// Pieces of live text as one event; neighbours of the same kind are joined.
fn live_event(pieces: &[LiveText]) -> Option<Bytes> {
    let mut joined: Vec<(String, &'static str, String)> = Vec::new();
    for piece in pieces {
        let (address, kind) = (piece.address.to_string(), word(piece.kind));
        match joined.last_mut() {
            Some((at, of, text)) if *at == address && *of == kind && matches!(kind, "text" | "reasoning") => {
                text.push_str(&piece.text);
            }
            _ => joined.push((address, kind, piece.text.to_string())),
        }
    }
    let pieces: Vec<_> = joined
        .into_iter()
        .map(|(address, kind, text)| json!({ "address": address, "kind": kind, "text": text }))
        .collect();
    let data = serde_json::to_string(&pieces).ok()?;
    Some(format!("event: live\ndata: {data}\n\n").into())
}

fn word(kind: LiveTextKind) -> &'static str {
    match kind {
        LiveTextKind::Text => "text",
        LiveTextKind::Reasoning => "reasoning",
        LiveTextKind::Whole => "whole",
        LiveTextKind::Status => "status",
    }
}
