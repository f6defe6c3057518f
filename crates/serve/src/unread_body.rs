//! Requests that are answered before their body was read, for example refused ones: their connection is closed, and the
//! answer says so.
//!
//! What comes on the connection next would be the rest of the body, so it cannot be used again. A client that is not told
//! may send its next request on it, which is then lost.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderValue, Version, header};
use axum::middleware::Next;
use axum::response::Response;
use hyper::body::{Body as _, Frame, SizeHint};

/// Adds `Connection: close` to the answer if the request was not read to its end.
pub(crate) async fn close_unread(request: Request, next: Next) -> Response {
    if request.body().is_end_stream() || request.version() != Version::HTTP_11 {
        return next.run(request).await;
    }
    let is_read = Arc::new(AtomicBool::new(false));
    let request = request.map(|body| Body::new(WatchedBody { body, is_read: Arc::clone(&is_read) }));
    let mut response = next.run(request).await;
    if !is_read.load(Ordering::Acquire) {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// The body of a request, which remembers whether it was read to its end.
struct WatchedBody {
    body: Body,
    is_read: Arc<AtomicBool>,
}

impl hyper::body::Body for WatchedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        if matches!(frame, Poll::Ready(None)) || (frame.is_ready() && self.body.is_end_stream()) {
            self.is_read.store(true, Ordering::Release);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
