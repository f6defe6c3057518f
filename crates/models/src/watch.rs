//! A limit on silence: whatever is awaited must move within it.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use crate::retry::Trouble;

/// Silence is noticed at most so much of the limit too late.
const PARTS: u32 = 8;

/// Ends a wait in which nothing came for too long.
///
/// One timer serves a whole answer. It is not set anew for each piece, and no clock is read: it rings several times
/// within the limit, and the rings since the last piece are counted.
pub(crate) struct Watch {
    limit: Duration,
    timer: Pin<Box<Sleep>>,
    /// Rings since something came.
    rings: u32,
    /// Whom the timer wakes.
    waker: Option<Waker>,
}

impl Watch {
    pub(crate) fn new(limit: Duration) -> Self {
        Self { limit, timer: Box::pin(tokio::time::sleep(limit / PARTS)), rings: 0, waker: None }
    }

    /// Another limit from here on.
    pub(crate) fn limit(&mut self, limit: Duration) {
        if self.limit != limit {
            (self.limit, self.rings, self.waker) = (limit, 0, None);
            self.timer.as_mut().reset(Instant::now() + limit / PARTS);
        }
    }

    /// Awaits the next thing to come.
    pub(crate) async fn over<T>(&mut self, next: impl Future<Output = T>) -> Result<T, Trouble> {
        let mut next = pin!(next);
        poll_fn(|context| match next.as_mut().poll(context) {
            Poll::Ready(value) => {
                self.rings = 0;
                Poll::Ready(Ok(value))
            }
            Poll::Pending => self.poll_silence(context).map(|()| Err(Trouble::Stalled(self.limit))),
        })
        .await
    }

    fn poll_silence(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let is_known = self.waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker()));
        if is_known && !self.timer.is_elapsed() {
            return Poll::Pending;
        }
        while self.timer.as_mut().poll(context).is_ready() {
            self.rings += 1;
            // The first may have come right after a piece did.
            if self.rings > PARTS {
                return Poll::Ready(());
            }
            self.timer.as_mut().reset(Instant::now() + self.limit / PARTS);
        }
        self.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_millis(40);

    #[tokio::test]
    async fn what_moves_in_time_is_awaited_however_long_it_takes() {
        let mut watch = Watch::new(LIMIT);
        for _ in 0..8 {
            assert!(watch.over(tokio::time::sleep(LIMIT / 2)).await.is_ok());
        }
    }

    #[tokio::test]
    async fn silence_is_not_called_so_before_the_limit() {
        for piece in 0..5 {
            let mut watch = Watch::new(LIMIT);
            assert!(watch.over(tokio::time::sleep(LIMIT / PARTS * piece / 2)).await.is_ok());
            let begun = Instant::now();

            let stalled = watch.over(std::future::pending::<()>()).await;

            assert!(matches!(stalled, Err(Trouble::Stalled(LIMIT))));
            assert!(begun.elapsed() >= LIMIT, "{:?}", begun.elapsed());
        }
    }
}
