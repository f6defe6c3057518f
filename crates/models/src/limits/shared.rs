//! Limits that several machines keep together: where they are kept is up to the caller.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::database::AdmissionRequest;
use super::{RateLimit, WORTH_A_WORD};

/// What [`SharedLimits::ask`] returns.
pub type LimitFuture<'a> = Pin<Box<dyn Future<Output = Option<Duration>> + Send + 'a>>;

/// Keeps the limits of one key over several machines.
pub trait SharedLimits: Send + Sync {
    /// An id for a request, which no other has.
    fn new_request(&self) -> String;

    /// Asks whether a request may be sent now; if not, how long to wait before asking again. It may be asked again about a
    /// request that was admitted.
    fn ask<'a>(&'a self, account: &'a str, limit: &'a RateLimit, tokens: u64, request: &'a str) -> LimitFuture<'a>;

    /// Notes that a request is over, and how many tokens it used, if that is known. Does not wait.
    fn end(&self, account: &str, request: &str, tokens: Option<u64>);
}

/// A request that was admitted there, or waits to be. Dropping it ends the request.
pub(super) struct SharedPlace {
    limits: Arc<dyn SharedLimits>,
    account: String,
    request: String,
    /// How many tokens it used; 0 as long as that is not known.
    used: AtomicU64,
}

impl SharedPlace {
    /// Waits until a request is admitted.
    pub(super) async fn admitted(
        limits: Arc<dyn SharedLimits>,
        ask: AdmissionRequest<'_>,
        waiting: &mut (dyn FnMut(Duration) + Send),
    ) -> Self {
        let (account, request) = (ask.account.to_owned(), limits.new_request());
        let place = Self { limits, account, request, used: AtomicU64::new(0) };
        while let Some(wait) = place.limits.ask(ask.account, ask.limit, ask.tokens, &place.request).await {
            if wait >= WORTH_A_WORD {
                waiting(wait);
            }
            tokio::time::sleep(wait).await;
        }
        place
    }

    pub(super) fn used(&self, tokens: u64) {
        self.used.store(tokens, Ordering::Relaxed);
    }
}

impl Drop for SharedPlace {
    fn drop(&mut self) {
        let used = Some(self.used.load(Ordering::Relaxed)).filter(|used| *used > 0);
        self.limits.end(&self.account, &self.request, used);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::RateLimiter;

    /// Lets the second attempt pass, and notes what it hears.
    #[derive(Default)]
    struct SecondTry(Mutex<Vec<String>>);

    impl SharedLimits for SecondTry {
        fn new_request(&self) -> String {
            "r1".to_owned()
        }

        fn ask<'a>(&'a self, account: &'a str, _: &'a RateLimit, tokens: u64, request: &'a str) -> LimitFuture<'a> {
            let mut heard = self.0.lock().unwrap();
            heard.push(format!("ask {account} {tokens} {request}"));
            let wait = (heard.len() < 2).then_some(WORTH_A_WORD);
            Box::pin(std::future::ready(wait))
        }

        fn end(&self, account: &str, request: &str, tokens: Option<u64>) {
            self.0.lock().unwrap().push(format!("end {account} {request} {tokens:?}"));
        }
    }

    #[tokio::test]
    async fn a_limited_request_waits_for_the_other_machines_and_an_unlimited_one_does_not() {
        let (limiter, shared) = (RateLimiter::in_process(), Arc::new(SecondTry::default()));
        limiter.share(shared.clone());
        let mut waits = Vec::new();
        let limit = RateLimit { concurrency: Some(3), ..RateLimit::default() };
        let permit = limiter.admit("gemini", &limit, 5, &mut |wait| waits.push(wait)).await;
        permit.used(9);
        drop(permit);
        drop(limiter.admit("gemini", &RateLimit::default(), 5, &mut |_| {}).await);
        assert_eq!(waits, [WORTH_A_WORD]);
        assert_eq!(*shared.0.lock().unwrap(), ["ask gemini 5 r1", "ask gemini 5 r1", "end gemini r1 Some(9)"]);
    }
}
