//! Server-sent events, bounded: no event is larger than a message may be.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt};
use sse_stream::{Error as SseError, Sse, SseStream};

use super::lines::LARGEST;

/// Events on their way in.
pub(super) type Events = BoxStream<'static, Result<Sse, SseError>>;

/// The events of a response. One that is too large ends them with an error.
pub(super) fn events(response: reqwest::Response) -> Events {
    let bytes = response.bytes_stream().map(|piece| piece.map_err(io::Error::other));
    SseStream::from_bytes_stream(Bounded { inner: Box::pin(bytes), seen: 0, at_line_start: false, is_over: false })
        .boxed()
}

/// Whether events ended because one was too large.
pub(super) fn is_too_large(error: &SseError) -> bool {
    matches!(error, SseError::Body(cause) if cause.to_string().contains(TOO_LARGE))
}

const TOO_LARGE: &str = "an event is larger than a message may be";

/// Bytes that end with an error once too many of them came without an empty line, which ends an event.
struct Bounded<S> {
    inner: Pin<Box<S>>,
    seen: usize,
    at_line_start: bool,
    is_over: bool,
}

impl<S, B> Stream for Bounded<S>
where
    S: Stream<Item = io::Result<B>>,
    B: AsRef<[u8]>,
{
    type Item = io::Result<B>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        let polled = self.inner.as_mut().poll_next(context);
        if let Poll::Ready(Some(Ok(piece))) = &polled {
            for byte in piece.as_ref() {
                self.seen += 1;
                match byte {
                    b'\n' if self.at_line_start => self.seen = 0,
                    b'\n' => self.at_line_start = true,
                    b'\r' => {}
                    _ => self.at_line_start = false,
                }
            }
            if self.seen > LARGEST {
                self.is_over = true;
                return Poll::Ready(Some(Err(io::Error::other(TOO_LARGE))));
            }
        }
        polled
    }
}
