//! How often a provider may be asked: rate limits that all runs of all processes keep together.
//!
//! Each request is admitted before it is sent. What was admitted, and who waits, stands in a small file that the
//! processes share ([`RateLimiter::at`]), so that together they stay within what the provider allows one key.

mod book;
mod clock;
mod desk;
mod file;
mod headers;
mod process;
mod rules;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use self::book::{AdmissionRequest, AdmissionResult};
use self::desk::LimiterStore;
pub use self::headers::{exhausted_for, reset_after};

/// What providers count their limits by.
const WINDOW: Duration = Duration::from_mins(1);

/// A shorter wait is not worth a word.
const WORTH_A_WORD: Duration = Duration::from_millis(100);

/// What one model and key may use. What is absent is unlimited.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RateLimit {
    /// Requests a minute.
    pub requests: Option<u32>,
    /// Tokens a minute, in both directions.
    pub tokens: Option<u64>,
    /// The least time between two requests.
    pub spacing: Duration,
    /// Requests under way at the same time.
    pub concurrency: Option<u32>,
}

impl RateLimit {
    /// What Gemini allows those who do not pay: 15 requests a minute, evenly spread.
    pub const GEMINI_FREE: Self =
        Self { requests: Some(15), tokens: None, spacing: Duration::from_millis(4_500), concurrency: None };

    /// Whether it limits nothing.
    pub fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }
}

/// Who keeps the limits. Cloning shares it.
#[derive(Clone)]
pub struct RateLimiter(Arc<LimiterShared>);

struct LimiterShared {
    desk: LimiterStore,
    /// Something has changed that those who wait in this process may have waited for.
    changed: Notify,
}

impl RateLimiter {
    /// Limits that only this process keeps.
    pub fn in_process() -> Self {
        Self::over(None, WINDOW)
    }

    /// Limits that all processes with this path keep together. The file is made when first needed. One that cannot be
    /// used costs a warning, and this process goes on by itself.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self::over(Some(path.into()), WINDOW)
    }

    /// The same with another length of what is called a minute, for tests. All who share a file must agree on it.
    #[doc(hidden)]
    pub fn over(path: Option<PathBuf>, window: Duration) -> Self {
        Self(Arc::new(LimiterShared { desk: LimiterStore::new(path, window), changed: Notify::new() }))
    }

    /// Waits until a request may go; first come, first served. `account` names the model and the key; `tokens` is
    /// what the request will probably use. `waiting` hears how long it will take, and again when it takes longer.
    /// Dropping the future gives the place in the line back.
    pub async fn admit(
        &self,
        account: &str,
        limit: &RateLimit,
        tokens: u64,
        waiting: &mut (dyn FnMut(Duration) + Send),
    ) -> RequestPermit {
        let mut told = WaitNotice::default();
        if limit.is_unlimited() {
            while let Some(left) = self.0.desk.paused(account, clock::now()) {
                told.tell(clock::now(), left, true, waiting);
                tokio::time::sleep(left.min(rules::LONGEST_SLEEP)).await;
            }
            return RequestPermit { shared: Arc::clone(&self.0), request: None };
        }
        let ask = AdmissionRequest { account, limit, tokens };
        let mut place = QueuePlace { shared: &self.0, id: None };
        loop {
            let mut changed = std::pin::pin!(self.0.changed.notified());
            changed.as_mut().enable();
            let now = clock::now();
            // Without a book nothing is known, and the provider's own refusals have to do.
            match self.0.desk.write(|book| book.ask(ask, place.id, now)) {
                None => return RequestPermit { shared: Arc::clone(&self.0), request: None },
                Some(AdmissionResult::Go(request)) => {
                    place.id = None;
                    self.0.changed.notify_waiters();
                    return RequestPermit { shared: Arc::clone(&self.0), request: Some(request) };
                }
                Some(AdmissionResult::Wait { place: id, wait, sleep }) => {
                    place.id = Some(id);
                    told.tell(now, wait.until.saturating_sub(now), wait.is_certain, waiting);
                    if wait.ahead < rules::CLOSE {
                        let _ = tokio::time::timeout(sleep, changed).await;
                    } else {
                        tokio::time::sleep(sleep).await;
                    }
                }
            }
        }
    }

    /// The provider asked everybody to wait: nobody of this account goes before then, in any process. At most an hour.
    pub fn pause(&self, account: &str, wait: Duration) {
        self.0.desk.pause(account, wait, clock::now());
    }
}

impl Default for RateLimiter {
    fn default() -> Self {
        Self::in_process()
    }
}

impl fmt::Debug for RateLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Limits").field(&self.0.desk.path()).finish()
    }
}

/// What the caller was told of a wait.
#[derive(Default)]
struct WaitNotice {
    since: Option<Duration>,
    until: Option<Duration>,
}

impl WaitNotice {
    /// Says how long it will take, once, and again when that was not true.
    fn tell(&mut self, now: Duration, left: Duration, is_certain: bool, waiting: &mut (dyn FnMut(Duration) + Send)) {
        let since = *self.since.get_or_insert(now);
        // Of what has no known end the best guess is that half of it is over.
        let left = if is_certain { left } else { left.max(now.saturating_sub(since)) };
        let is_news = match self.until {
            None => left >= WORTH_A_WORD,
            Some(until) => now + left >= until + WORTH_A_WORD && (is_certain || now >= until),
        };
        if is_news {
            self.until = Some(now + left);
            waiting(left);
        }
    }
}

/// A place in the line; dropped, it is given back.
struct QueuePlace<'a> {
    shared: &'a LimiterShared,
    id: Option<i64>,
}

impl Drop for QueuePlace<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.shared.desk.write(|book| book.leave(id));
            self.shared.changed.notify_waiters();
        }
    }
}

/// A request that is under way. Dropping it gives its place back.
#[must_use = "the request is over when this is dropped"]
pub struct RequestPermit {
    shared: Arc<LimiterShared>,
    request: Option<i64>,
}

impl RequestPermit {
    /// The head of the response has arrived: the server has counted the request, and it leaves the window a minute
    /// from now. One that is never heard of stays a minute from its end.
    pub fn heard(&self) {
        if let Some(request) = self.request {
            self.shared.desk.write(|book| book.heard(request, clock::now()));
            self.shared.changed.notify_waiters();
        }
    }

    /// What was really used, in place of what was expected.
    pub fn used(&self, tokens: u64) {
        if let Some(request) = self.request {
            self.shared.desk.write(|book| book.used(request, tokens));
            self.shared.changed.notify_waiters();
        }
    }
}

impl Drop for RequestPermit {
    fn drop(&mut self) {
        if let Some(request) = self.request {
            self.shared.desk.write(|book| book.end(request, clock::now()));
            self.shared.changed.notify_waiters();
        }
    }
}

impl fmt::Debug for RequestPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Permit").field(&self.request).finish()
    }
}
