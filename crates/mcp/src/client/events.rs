//! Server-sent events with limits: on the size of an event, and on the number of events that no request asked for.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt};
use sse_stream::{Error as SseError, Sse, SseStream};

use super::open_requests::{MessageVerdict, RequestLedger};
use super::stdio::LARGEST;

/// Every so many bytes count as one more message, so that large events reach the limit sooner.
const PORTION: usize = 64 << 10;
/// What the answer to one request may contain before it counts: some notifications, and one message of maximum size.
pub(super) const FOR_ONE_ANSWER: usize = 16 + LARGEST / PORTION;

/// A stream of incoming events.
pub(super) type EventStream = BoxStream<'static, Result<Sse, SseError>>;

/// The events of a response. An event that is too large ends the stream with an error, and so do too many events: all
/// but the first `free` count as messages that no request asked for, including comments.
pub(super) fn events(response: reqwest::Response, ledger: &Arc<RequestLedger>, free: usize) -> EventStream {
    let bytes = response.bytes_stream().map(|piece| piece.map_err(io::Error::other));
    let bounded = LimitedBytes {
        inner: Box::pin(bytes),
        seen: 0,
        at_line_start: false,
        is_over: false,
        uncounted: 0,
        free,
        ledger: Arc::clone(ledger),
    };
    SseStream::from_bytes_stream(bounded).boxed()
}

/// How many messages an event with this many bytes of data counts as.
pub(super) fn weight(bytes: usize) -> usize {
    1 + bytes / PORTION
}

/// Whether the stream ended because an event was too large.
pub(super) fn is_too_large(error: &SseError) -> bool {
    matches!(error, SseError::Body(cause) if cause.to_string().contains(TOO_LARGE))
}

const TOO_LARGE: &str = "an event is larger than a message may be";

const TOO_MANY: &str = "it sent more messages than anybody asked for, and was cut off";

/// A stream of bytes that ends with an error if an event is too large, that is, if too many bytes come without the
/// empty line that ends an event, or if there are too many events.
struct LimitedBytes<S> {
    inner: Pin<Box<S>>,
    seen: usize,
    at_line_start: bool,
    is_over: bool,
    /// Bytes that do not make up a whole portion yet.
    uncounted: usize,
    free: usize,
    ledger: Arc<RequestLedger>,
}

impl<S> LimitedBytes<S> {
    /// What is wrong with these bytes, given those before them.
    fn fault(&mut self, piece: &[u8]) -> Option<&'static str> {
        let is_blank = |line: &[u8]| line.iter().all(|byte| *byte == b'\r');
        let (mut ended, mut rest) = (0, piece);
        while let Some(at) = memchr::memchr(b'\n', rest) {
            self.seen += at + 1;
            if self.at_line_start && is_blank(&rest[..at]) {
                (self.seen, ended) = (0, ended + 1);
            }
            (self.at_line_start, rest) = (true, &rest[at + 1..]);
        }
        self.seen += rest.len();
        self.at_line_start &= is_blank(rest);
        self.uncounted += piece.len();
        let counted = ended + self.uncounted / PORTION;
        self.uncounted %= PORTION;
        let unasked = counted.saturating_sub(self.free);
        self.free -= counted - unasked;
        if self.seen > LARGEST {
            Some(TOO_LARGE)
        } else if self.ledger.unasked(unasked) == MessageVerdict::Flood {
            Some(TOO_MANY)
        } else {
            None
        }
    }
}

impl<S, B> Stream for LimitedBytes<S>
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
        if let Poll::Ready(Some(Ok(piece))) = &polled
            && let Some(fault) = self.fault(piece.as_ref())
        {
            self.is_over = true;
            return Poll::Ready(Some(Err(io::Error::other(fault))));
        }
        polled
    }
}
