//! `/runs/ID/stream`: server-sent events that keep an open page up to date.
//!
//! | event | data |
//! |---|---|
//! | `patch`, with the position as its id | what has changed since the position before (`patch.rs`) |
//! | `live` | a piece of an answer that is being written: `address`, `kind`, `text`; it may be lost |
//! | `gone` | the run can no longer be read |
//!
//! A stream begins after the position in the address, or after the `Last-Event-ID` with which a browser comes back.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use futures_util::Stream;
use futures_util::stream::unfold;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::{broadcast, watch};
use updraft_run::StepId;
use updraft_workbench::service::{LiveText, LiveTextKind, RunFeed};

use super::PageState;
use super::failure::PageFailure;
use super::patch::WatchedPart;
use super::run_page::RunTab;

/// How often a silent connection is told that the server is there.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// How soon a browser tries again.
const RETRY: Duration = Duration::from_secs(1);
/// Most pieces of live text that are sent together.
const TOGETHER: usize = 64;

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
    is_over: bool,
}

pub(super) async fn open(
    State(state): State<Arc<PageState>>,
    Path(id): Path<String>,
    Query(request): Query<StreamRequest>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, PageFailure> {
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse::<u64>().ok());
    let (feed, mut positions) = state.service.runs.watched_feed(&id).map_err(PageFailure::missing)?;
    // What is known now may be newer than what the page shows.
    positions.mark_changed();
    let (earlier, live) = feed.live();
    let part = WatchedPart { tab: RunTab::of(&request.view), step: StepId::parse(&request.step).ok() };
    let after = last.unwrap_or(request.after);
    let watcher = Watcher { state, feed, positions, live, earlier, after, part, is_over: false };
    let stream = unfold(watcher, |mut watcher| async move {
        let event = watcher.next().await?;
        Some((Ok(event), watcher))
    });
    Ok(Sse::new(stream).keep_alive(KeepAlive::new().interval(HEARTBEAT)))
}

impl Watcher {
    /// The next event; `None` when the stream ends.
    async fn next(&mut self) -> Option<Event> {
        if self.is_over {
            return None;
        }
        if let Some(first) = self.earlier.pop() {
            return live_event(&[first]);
        }
        let stop = self.state.stop.clone();
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return None,
                changed = self.positions.changed() => {
                    changed.ok()?;
                    let position = *self.positions.borrow_and_update();
                    if position == u64::MAX {
                        self.is_over = true;
                        return Some(Event::default().event("gone").data("{}"));
                    }
                    if position > self.after || self.after == 0 {
                        return self.patch(position).await;
                    }
                }
                said = self.live.recv() => match said {
                    Ok(first) => {
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
            }
        }
    }

    async fn patch(&mut self, until: u64) -> Option<Event> {
        let made =
            self.state.patches.patch(&self.state.service.runs, &self.feed, (self.after, until), &self.part).await;
        let Ok(patch) = made else {
            self.is_over = true;
            return Some(Event::default().event("gone").data("{}"));
        };
        // The patch may reach further than was asked for.
        let position = serde_json::from_str::<PatchEnd>(&patch).ok()?.position;
        self.after = position;
        Some(Event::default().event("patch").id(position.to_string()).retry(RETRY).data(&*patch))
    }
}

/// The position that a patch reaches.
#[derive(Deserialize)]
struct PatchEnd {
    position: u64,
}

/// Pieces of live text as one event; neighbours of the same kind are joined.
fn live_event(pieces: &[LiveText]) -> Option<Event> {
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
    Some(Event::default().event("live").data(data))
}

fn word(kind: LiveTextKind) -> &'static str {
    match kind {
        LiveTextKind::Text => "text",
        LiveTextKind::Reasoning => "reasoning",
        LiveTextKind::Whole => "whole",
        LiveTextKind::Status => "status",
    }
}
