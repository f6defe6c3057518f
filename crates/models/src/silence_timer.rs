//! A limit on silence: a future must make progress within it. Bytes without content are not progress.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use crate::retry::AttemptError;

/// The limit is measured in this many parts: silence is noticed late by at most one of them.
const PARTS: u32 = 8;

/// Ends a wait in which nothing was received for too long.
///
/// One timer serves a whole answer. It is not reset for each piece, and no clock is read: it fires several times within
/// the limit, and the ticks since the last progress are counted.
pub(crate) struct SilenceTimer {
    limit: Duration,
    /// Whether something was received already.
    has_begun: bool,
    timer: Pin<Box<Sleep>>,
    /// Ticks since the last progress.
    rings: u32,
    /// The waker of the timer.
    waker: Option<Waker>,
}

impl SilenceTimer {
    pub(crate) fn new(limit: Duration) -> Self {
        // The timer starts with the silence, so its first tick counts in full.
        let timer = Box::pin(tokio::time::sleep(limit / PARTS));
        Self { limit, has_begun: false, timer, rings: 1, waker: None }
    }

    /// Notes progress. The first call sets the limit that applies from then on.
    pub(crate) fn progress(&mut self, limit: Duration) {
        if self.has_begun {
            self.rings = 0;
            return;
        }
        (self.limit, self.has_begun, self.rings, self.waker) = (limit, true, 1, None);
        self.timer.as_mut().reset(Instant::now() + limit / PARTS);
    }

    /// Waits for the next event. Its arrival is not progress by itself.
    pub(crate) async fn over<T>(&mut self, next: impl Future<Output = T>) -> Result<T, AttemptError> {
        let mut next = pin!(next);
        poll_fn(|context| match next.as_mut().poll(context) {
            Poll::Ready(value) => match self.poll_silence(context) {
                Poll::Ready(()) => Poll::Ready(Err(self.trouble())),
                Poll::Pending => Poll::Ready(Ok(value)),
            },
            Poll::Pending => self.poll_silence(context).map(|()| Err(self.trouble())),
        })
        .await
    }

    fn trouble(&self) -> AttemptError {
        if self.has_begun { AttemptError::Stalled(self.limit) } else { AttemptError::Silent(self.limit) }
    }

    fn poll_silence(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let is_known = self.waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker()));
        if is_known && !self.timer.is_elapsed() {
            return Poll::Pending;
        }
        while self.timer.as_mut().poll(context).is_ready() {
            self.rings += 1;
            // The first tick may have come right after a piece.
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
    async fn what_makes_progress_in_time_is_awaited_however_long_it_takes() {
        let mut watch = SilenceTimer::new(LIMIT);
        for _ in 0..8 {
            assert!(watch.over(tokio::time::sleep(LIMIT / 2)).await.is_ok());
            watch.progress(LIMIT);
        }
    }

    #[tokio::test]
    async fn what_comes_without_progress_is_awaited_no_longer_than_the_limit() {
        let mut watch = SilenceTimer::new(LIMIT);
        let silent = loop {
            if let Err(trouble) = watch.over(tokio::time::sleep(LIMIT / 20)).await {
                break trouble;
            }
        };
        assert_eq!(silent, AttemptError::Silent(LIMIT));
        watch.progress(LIMIT * 2);
        let stalled = loop {
            // Always ready, so that it never waits.
            if let Err(trouble) = watch.over(tokio::task::yield_now()).await {
                break trouble;
            }
        };
        assert_eq!(stalled, AttemptError::Stalled(LIMIT * 2));
    }

    #[tokio::test]
    async fn silence_is_not_called_so_before_the_limit() {
        for piece in 0..5 {
            let mut watch = SilenceTimer::new(LIMIT);
            for _ in 0..2 {
                assert!(watch.over(tokio::time::sleep(LIMIT / PARTS * piece / 2)).await.is_ok());
                watch.progress(LIMIT);
            }
            let begun = Instant::now();

            let stalled = watch.over(std::future::pending::<()>()).await;

            assert!(matches!(stalled, Err(AttemptError::Stalled(LIMIT))));
            assert!(begun.elapsed() >= LIMIT, "{:?}", begun.elapsed());
        }
    }
}
