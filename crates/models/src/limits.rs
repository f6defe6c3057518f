//! Rate limits of providers, which all runs of all processes keep together.
//!
//! Each request is admitted before it is sent. Admitted and waiting requests are recorded in a small file that the
//! processes share ([`RateLimiter::at`]), so that together they stay within what the provider allows for one key.

mod clock;
mod database;
mod file;
mod headers;
mod process;
mod rules;
mod shared;
mod store;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::Notify;

use self::database::{AdmissionRequest, AdmissionResult};
pub use self::headers::{exhausted_for, reset_after};
use self::shared::SharedPlace;
pub use self::shared::{LimitFuture, SharedLimits};
use self::store::LimiterStore;

/// The time window of providers' limits.
const WINDOW: Duration = Duration::from_mins(1);

/// A shorter wait is not reported.
const WORTH_A_WORD: Duration = Duration::from_millis(100);

/// The limits of one model and key. A missing limit means unlimited.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RateLimit {
    /// Requests per minute.
    pub requests: Option<u32>,
    /// Tokens per minute, input and output.
    pub tokens: Option<u64>,
    /// The minimum time between two requests.
    pub spacing: Duration,
    /// Maximum number of simultaneous requests.
    pub concurrency: Option<u32>,
}

impl RateLimit {
    /// The limits of Gemini's free tier: 15 requests per minute, evenly spread.
    pub const GEMINI_FREE: Self =
        Self { requests: Some(15), tokens: None, spacing: Duration::from_millis(4_500), concurrency: None };

    /// Whether nothing is limited.
    pub fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }
}

/// Enforces rate limits. Clones share their state.
#[derive(Clone)]
pub struct RateLimiter(Arc<LimiterShared>);

struct LimiterShared {
    store: LimiterStore,
    /// Notified when something changes that waiting requests of this process may depend on.
    changed: Notify,
    /// Limits that several machines keep together.
    shared: OnceLock<Arc<dyn SharedLimits>>,
}

impl RateLimiter {
    /// Limits within this process only.
    pub fn in_process() -> Self {
        Self::over(None, WINDOW)
    }

    /// Limits that are shared by all processes with this path. The file is created when first needed. If it cannot be
    /// used, a warning is logged, and the limits apply within this process only.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self::over(Some(path.into()), WINDOW)
    }

    /// The same with another length of the window, for tests. All processes that share a file must use the same length.
    #[doc(hidden)]
    pub fn over(path: Option<PathBuf>, window: Duration) -> Self {
        let store = LimiterStore::new(path, window);
        Self(Arc::new(LimiterShared { store, changed: Notify::new(), shared: OnceLock::new() }))
    }

    /// From now on, limited requests are also admitted by these limits, which other machines keep as well.
    pub fn share(&self, with: Arc<dyn SharedLimits>) {
        // Set once, when the process starts.
        let _ = self.0.shared.set(with);
    }

    /// Waits until a request may be sent; first come, first served. `account` names the model and the key; `tokens` is
    /// the expected usage of the request. `waiting` is called with the expected wait, and again if it becomes longer.
    /// Dropping the future gives up the place in the queue.
    pub async fn admit(
        &self,
        account: &str,
        limit: &RateLimit,
        tokens: u64,
        waiting: &mut (dyn FnMut(Duration) + Send),
    ) -> RequestPermit {
        let mut told = WaitNotice::default();
        if limit.is_unlimited() {
            while let Some(left) = self.0.store.paused(account, clock::now()) {
                told.tell(clock::now(), left, true, waiting);
                tokio::time::sleep(left.min(rules::LONGEST_SLEEP)).await;
            }
            return RequestPermit { shared: Arc::clone(&self.0), request: None, elsewhere: None };
        }
        let ask = AdmissionRequest { account, limit, tokens };
        let mut place = QueuePlace { shared: &self.0, id: None };
        loop {
            let mut changed = std::pin::pin!(self.0.changed.notified());
            changed.as_mut().enable();
            let now = clock::now();
            // Without a database nothing is known, and the provider's own refusals have to suffice.
            match self.0.store.write(|book| book.ask(ask, place.id, now)) {
                None => {
                    let permit = RequestPermit { shared: Arc::clone(&self.0), request: None, elsewhere: None };
                    return self.admit_elsewhere(permit, ask, waiting).await;
                }
                Some(AdmissionResult::Go(request)) => {
                    place.id = None;
                    self.0.changed.notify_waiters();
                    let permit = RequestPermit { shared: Arc::clone(&self.0), request: Some(request), elsewhere: None };
                    return self.admit_elsewhere(permit, ask, waiting).await;
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

    /// Waits until the limits that other machines keep as well allow the request, too.
    async fn admit_elsewhere(
        &self,
        mut permit: RequestPermit,
        ask: AdmissionRequest<'_>,
        waiting: &mut (dyn FnMut(Duration) + Send),
    ) -> RequestPermit {
        if let Some(shared) = self.0.shared.get() {
            permit.elsewhere = Some(SharedPlace::admitted(Arc::clone(shared), ask, waiting).await);
        }
        permit
    }

    /// Notes that the provider asked for a pause: no request of this account is sent before its end, in any process. At
    /// most an hour.
    pub fn pause(&self, account: &str, wait: Duration) {
        self.0.store.pause(account, wait, clock::now());
    }
}

impl Default for RateLimiter {
    fn default() -> Self {
        Self::in_process()
    }
}

impl fmt::Debug for RateLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Limits").field(&self.0.store.path()).finish()
    }
}

/// What was reported to the caller about a wait.
#[derive(Default)]
struct WaitNotice {
    since: Option<Duration>,
    until: Option<Duration>,
}

impl WaitNotice {
    /// Reports the expected wait once, and again if it was too short.
    fn tell(&mut self, now: Duration, left: Duration, is_certain: bool, waiting: &mut (dyn FnMut(Duration) + Send)) {
        let since = *self.since.get_or_insert(now);
        // If the end is unknown, the best guess is that half of the wait is over.
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

/// A place in the queue; dropping it gives the place up.
struct QueuePlace<'a> {
    shared: &'a LimiterShared,
    id: Option<i64>,
}

impl Drop for QueuePlace<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.shared.store.write(|book| book.leave(id));
            self.shared.changed.notify_waiters();
        }
    }
}

/// An admitted request. Dropping it frees its place.
#[must_use = "the request is over when this is dropped"]
pub struct RequestPermit {
    shared: Arc<LimiterShared>,
    request: Option<i64>,
    elsewhere: Option<SharedPlace>,
}

impl RequestPermit {
    /// Notes that the head of the response has arrived: the server has counted the request, and it leaves the window a
    /// minute from now. A request without a response stays in the window for a minute after its end.
    pub fn heard(&self) {
        if let Some(request) = self.request {
            self.shared.store.write(|book| book.heard(request, clock::now()));
            self.shared.changed.notify_waiters();
        }
    }

    /// Replaces the expected number of tokens with the actual one.
    pub fn used(&self, tokens: u64) {
        if let Some(place) = &self.elsewhere {
            place.used(tokens);
        }
        if let Some(request) = self.request {
            self.shared.store.write(|book| book.used(request, tokens));
            self.shared.changed.notify_waiters();
        }
    }
}

impl Drop for RequestPermit {
    fn drop(&mut self) {
        if let Some(request) = self.request {
            self.shared.store.write(|book| book.end(request, clock::now()));
            self.shared.changed.notify_waiters();
        }
    }
}

impl fmt::Debug for RequestPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Permit").field(&self.request).finish()
    }
}
