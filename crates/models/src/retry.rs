//! When to retry a request, and how long to wait before.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use tokio::time::Instant;
use updraft_run::Millis;

use crate::sse::EventTooLarge;
use crate::{Auth, Delta, DeltaCallback, Error};

/// A shorter wait is not told: it is what this program itself takes.
const SHORTEST_WAIT: Duration = Duration::from_millis(100);

/// How long a question waited for the request that was answered.
pub(crate) fn waited(asked: Instant, sent: Instant) -> Millis {
    let wait = sent.duration_since(asked);
    if wait < SHORTEST_WAIT { Millis::default() } else { Millis(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)) }
}

/// Time limits and retries for a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Total number of attempts. At least one is made.
    pub attempts: u32,
    /// The wait before the second attempt; each further wait is three times as long.
    pub first_wait: Duration,
    /// The longest wait, even if the provider asks for more.
    pub longest_wait: Duration,
    /// A provider that sends nothing for this long before its answer begins is given up. Some load a model first, or
    /// think in silence. Bytes without content (comments, empty events, pings) do not count.
    pub silence: Duration,
    /// The same in the middle of an answer.
    pub stall: Duration,
    /// How long a run waits for a model that is not available, after the attempts above.
    pub outage: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 4,
            first_wait: Duration::from_millis(250),
            longest_wait: Duration::from_mins(1),
            silence: Duration::from_mins(5),
            stall: Duration::from_mins(2),
            outage: Duration::from_mins(10),
        }
    }
}

impl RetryPolicy {
    /// The wait after this attempt, counted from one: the wait that the provider asked for, or else between half and
    /// the whole of a growing time. `salt` distinguishes requests that failed at the same time.
    pub(crate) fn wait_after(&self, trouble: &AttemptError, attempt: u32, salt: u64) -> Duration {
        let asked = trouble.asked_wait();
        if asked.is_none() && matches!(trouble, AttemptError::Busy { status: 500, .. }) && attempt > 1 {
            // Longer, because no wait for an outage follows: the server may be failing on this very request.
            let whole = self.first_wait.saturating_mul(40 * (attempt - 1)).min(self.outage).min(self.longest_wait);
            return whole.mul_f64(scattered(salt, attempt));
        }
        self.wait(attempt, asked, salt)
    }

    /// The same for temporary failures.
    pub(crate) fn wait(&self, attempt: u32, asked: Option<Duration>, salt: u64) -> Duration {
        if let Some(asked) = asked {
            return asked.min(self.longest_wait);
        }
        let whole = self.first_wait.saturating_mul(3_u32.saturating_pow(attempt.saturating_sub(1)));
        whole.min(self.longest_wait).mul_f64(scattered(salt, attempt))
    }
}

/// Between half and the whole of a wait.
fn scattered(salt: u64, attempt: u32) -> f64 {
    0.5 + 0.5 * fraction(salt ^ u64::from(attempt))
}

/// A number from 0 to 1 that differs for neighbouring seeds (the finaliser of splitmix64).
fn fraction(seed: u64) -> f64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) as f64 / u64::MAX as f64
}

/// Why one attempt failed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum AttemptError {
    /// A temporary status: overload, rate limits, a failure of the server.
    Busy { status: u16, message: String, after: Option<Duration> },
    /// No connection, or one that ended too early.
    Cut(String),
    /// The name of the host cannot be resolved.
    NoHost { host: String, why: String },
    /// Nothing was received for this long before the answer began.
    Silent(Duration),
    /// Nothing was received for this long in the middle of an answer.
    Stalled(Duration),
    /// Data in the middle of an answer cannot be parsed.
    Garbled(String),
    /// The response is not an answer, and a retry would not change that.
    Useless(String),
    /// The request was refused, and would be refused again.
    Refused { status: u16, message: String },
}

impl From<EventTooLarge> for AttemptError {
    fn from(_: EventTooLarge) -> Self {
        AttemptError::Useless("an event is too large".to_owned())
    }
}

impl AttemptError {
    /// Translates an HTTP status that is not a success.
    pub(crate) fn of_status(status: u16, message: String, after: Option<Duration>) -> Self {
        let passes = matches!(status, 408 | 409 | 429 | 500..=599);
        // OpenAI also returns "too many requests" for unpaid accounts; waiting does not change that.
        if passes && !message.contains("insufficient_quota") {
            AttemptError::Busy { status, message, after }
        } else {
            AttemptError::Refused { status, message }
        }
    }

    /// Whether a retry may help.
    pub(crate) fn passes(&self) -> bool {
        match self {
            AttemptError::Busy { .. }
            | AttemptError::Cut(_)
            | AttemptError::NoHost { .. }
            | AttemptError::Silent(_)
            | AttemptError::Stalled(_)
            | AttemptError::Garbled(_) => true,
            AttemptError::Useless(_) | AttemptError::Refused { .. } => false,
        }
    }

    /// The wait that the provider asked for.
    pub(crate) fn asked_wait(&self) -> Option<Duration> {
        match self {
            AttemptError::Busy { after, .. } => *after,
            AttemptError::Cut(_)
            | AttemptError::NoHost { .. }
            | AttemptError::Silent(_)
            | AttemptError::Stalled(_)
            | AttemptError::Garbled(_)
            | AttemptError::Useless(_)
            | AttemptError::Refused { .. } => None,
        }
    }

    /// Tells the listener that the request is repeated.
    pub(crate) fn tell(&self, hear: DeltaCallback<'_>) {
        let words = self.words();
        match self {
            AttemptError::Busy { status: 429 | 503, .. } => hear(Delta::Waiting(&words)),
            _ => hear(Delta::Again(&words)),
        }
    }

    pub(crate) fn words(&self) -> String {
        match self {
            AttemptError::Busy { status, message, .. } | AttemptError::Refused { status, message } => {
                format!("status {status}: {message}")
            }
            AttemptError::Cut(message) | AttemptError::Garbled(message) | AttemptError::Useless(message) => {
                message.clone()
            }
            AttemptError::NoHost { host, why } => format!("the host `{host}` cannot be found ({why})"),
            AttemptError::Silent(limit) | AttemptError::Stalled(limit) => format!("no response for {limit:?}"),
        }
    }

    /// The same without the key, in case the provider has echoed it.
    pub(crate) fn without(self, key: &Auth) -> Self {
        match self {
            AttemptError::Busy { status, message, after } => {
                AttemptError::Busy { status, message: key.redact(message), after }
            }
            AttemptError::Cut(message) => AttemptError::Cut(key.redact(message)),
            AttemptError::NoHost { .. } | AttemptError::Silent(_) | AttemptError::Stalled(_) => self,
            AttemptError::Garbled(message) => AttemptError::Garbled(key.redact(message)),
            AttemptError::Useless(message) => AttemptError::Useless(key.redact(message)),
            AttemptError::Refused { status, message } => AttemptError::Refused { status, message: key.redact(message) },
        }
    }

    /// The final error after the last attempt.
    pub(crate) fn into_error(self, model: &str, attempts: u32) -> Error {
        let model = model.to_owned();
        match self {
            AttemptError::Busy { status: 500, .. } => Error::Failing { model, attempts, message: self.words() },
            AttemptError::Busy { .. } => Error::Unreachable { model, attempts, message: self.words() },
            AttemptError::Cut(message) => Error::Unreachable { model, attempts, message },
            AttemptError::NoHost { host, why } => Error::NoHost { model, host, attempts, why },
            AttemptError::Silent(_) | AttemptError::Stalled(_) => {
                Error::Unreachable { model, attempts, message: self.words() }
            }
            AttemptError::Garbled(message) | AttemptError::Useless(message) => Error::Garbled { model, message },
            AttemptError::Refused { status, message } => Error::Refused { model, status, message },
        }
    }
}

/// The wait in `Retry-After`: seconds, or a date, which is measured against the server's own clock in `Date`.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let now = date(headers.get(DATE)?.to_str().ok()?)?;
    Some(date(value)?.duration_since(now).try_into().unwrap_or_default())
}

/// Parses an HTTP date: `Sun, 06 Nov 1994 08:49:37 GMT`.
pub(crate) fn date(text: &str) -> Option<Timestamp> {
    DateTimeParser::new().relaxed_weekday(true).parse_timestamp(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn waits_grow_differ_and_end() {
        let patience = RetryPolicy::default();

        for (attempt, whole) in [(1, 250.0), (2, 750.0), (3, 2_250.0), (30, 60_000.0)] {
            let wait = patience.wait(attempt, None, 7).as_secs_f64() * 1_000.0;
            assert!(wait >= whole / 2.0 && wait <= whole, "{attempt}: {wait}");
        }
        assert_ne!(patience.wait(1, None, 7), patience.wait(1, None, 8));
        assert_eq!(patience.wait(1, Some(Duration::from_secs(3)), 7), Duration::from_secs(3));
        assert_eq!(patience.wait(1, Some(Duration::from_hours(1)), 7), Duration::from_mins(1));
    }

    #[test]
    fn a_servers_own_failure_is_waited_for_about_half_a_minute_in_all() {
        let trouble = AttemptError::of_status(500, "oops".to_owned(), None);
        let patience = RetryPolicy::default();
        let waits: Vec<Duration> = (1..4).map(|attempt| patience.wait_after(&trouble, attempt, 7)).collect();
        let all: f64 = waits.iter().map(Duration::as_secs_f64).sum();
        assert!((15.0..=31.0).contains(&all), "{waits:?}");
        let hurried = RetryPolicy { outage: Duration::ZERO, ..patience };
        assert_eq!(hurried.wait_after(&trouble, 2, 7), Duration::ZERO);
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let seconds = |text| date(text).map(Timestamp::as_second);
        assert_eq!(seconds("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(seconds("Thu, 29 Feb 2024 00:00:00 GMT"), Some(1_709_164_800));
        assert_eq!(seconds("tomorrow"), None);
        assert_eq!(retry_after(&headers(&[("retry-after", "7")])), Some(Duration::from_secs(7)));
        assert_eq!(retry_after(&headers(&[("retry-after", "-7")])), None);
        let date = [("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"), ("date", "Sun, 06 Nov 1994 08:49:07 GMT")];
        assert_eq!(retry_after(&headers(&date)), Some(Duration::from_secs(30)));
        assert_eq!(retry_after(&headers(&date[..1])), None);
    }

    #[test]
    fn an_empty_purse_is_not_waited_for() {
        assert!(AttemptError::of_status(429, "slow down".to_owned(), None).passes());
        assert!(!AttemptError::of_status(429, "insufficient_quota: pay".to_owned(), None).passes());
        assert!(!AttemptError::of_status(422, String::new(), None).passes());
    }
}
