//! Server-sent events.

use std::convert::Infallible;

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use serde_json::Value;

/// What a silent connection is told: a comment.
pub(crate) const STILL_HERE: Bytes = Bytes::from_static(b":\n\n");

/// Makes the frames of a stream, one after the other.
pub(crate) trait FrameSource: Send + 'static {
    /// The next frames; `None` when the stream is over.
    fn frames(&mut self) -> impl Future<Output = Option<Bytes>> + Send;
}

/// The stream as a response.
pub(crate) fn response(source: impl FrameSource) -> Response {
    let stream = unfold(source, |mut source| async move {
        let frames = source.frames().await?;
        Some((Ok::<Bytes, Infallible>(frames), source))
    });
    let headers = [(header::CONTENT_TYPE, "text/event-stream; charset=utf-8"), (header::CACHE_CONTROL, "no-cache")];
    (headers, Body::from_stream(stream)).into_response()
}

/// A frame with data only.
pub(crate) fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

/// A frame with the name of its event, which is the `type` of the data.
pub(crate) fn event(value: &Value) -> String {
    format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap_or_default())
}
