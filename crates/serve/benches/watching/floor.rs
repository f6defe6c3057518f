//! The floor: a bare axum server that broadcasts given bytes as server-sent events, and does nothing else.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::response::Sse;
use axum::response::sse::Event;
use axum::routing::{get, post};
use futures_util::Stream;
use futures_util::stream::unfold;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio::sync::broadcast;

use crate::figures::micros;

/// A message that is sent on a channel at a time.
#[derive(Clone, Deserialize, Serialize)]
pub(crate) struct FloorMessage {
    pub(crate) channel: usize,
    /// Microseconds since the first.
    pub(crate) at: u64,
    pub(crate) bytes: usize,
}

/// Most channels: one for each run that is compared with.
const CHANNELS: usize = 1_000;

type Channels = Arc<Vec<broadcast::Sender<Arc<str>>>>;

/// Serves on a port of its own, and returns its address.
pub(crate) async fn serve() -> String {
    let channels: Channels = Arc::new((0..CHANNELS).map(|_| broadcast::channel(1_024).0).collect());
    let router = Router::new().route("/{channel}", get(stream)).route("/replay", post(replay)).with_state(channels);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    address
}

async fn stream(
    State(channels): State<Channels>,
    Path(channel): Path<usize>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let heard = channels[channel].subscribe();
    Sse::new(unfold(heard, |mut heard| async move {
        let text = heard.recv().await.ok()?;
        Some((Ok(Event::default().data(&*text)), heard))
    }))
}

/// Sends messages at their times; each begins with the moment at which it is sent.
async fn replay(State(channels): State<Channels>, body: String) {
    let messages: Vec<FloorMessage> = serde_json::from_str(&body).unwrap();
    let began = tokio::time::Instant::now();
    for FloorMessage { channel, at, bytes } in messages {
        tokio::time::sleep_until(began + Duration::from_micros(at)).await;
        let _ = channels[channel].send(format!("{} {}", micros(), "x".repeat(bytes)).into());
    }
    for channel in channels.iter() {
        let _ = channel.send("end".into());
    }
}
