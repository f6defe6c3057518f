//! A limit on silence: whatever is awaited must move within it.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use crate::retry::Trouble;

/// Ends a wait in which nothing came for too long.
///
/// One timer serves a whole answer: it is not set anew for each piece, but looks at the last one when it rings.
pub(crate) struct Watch {
    limit: Duration,
    last: Instant,
    timer: Pin<Box<Sleep>>,
}

impl Watch {
    pub(crate) fn new(limit: Duration) -> Self {
        Self { limit, last: Instant::now(), timer: Box::pin(tokio::time::sleep(limit)) }
    }

    /// Another limit from here on.
    pub(crate) fn limit(&mut self, limit: Duration) {
        if self.limit != limit {
            self.limit = limit;
            let due = self.last + limit;
            self.timer.as_mut().reset(due);
        }
    }

    /// Awaits the next thing to come.
    pub(crate) async fn over<T>(&mut self, next: impl Future<Output = T>) -> Result<T, Trouble> {
        let mut next = pin!(next);
        poll_fn(|context| match next.as_mut().poll(context) {
            Poll::Ready(value) => {
                self.last = Instant::now();
                Poll::Ready(Ok(value))
            }
            Poll::Pending => self.poll_silence(context).map(|()| Err(Trouble::Stalled(self.limit))),
        })
        .await
    }

    fn poll_silence(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while self.timer.as_mut().poll(context).is_ready() {
            let due = self.last + self.limit;
            if due <= Instant::now() {
                return Poll::Ready(());
            }
            self.timer.as_mut().reset(due);
        }
        Poll::Pending
    }
}
