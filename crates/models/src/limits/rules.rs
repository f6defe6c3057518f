//! Computes when the next request may be sent, from what is known of the other requests.
//!
//! A server counts a request at some moment between its departure and the arrival of its answer. So a request is
//! counted in the window from the first of these moments until one window after the second. Whatever windows the server
//! uses, sliding or starting at fixed moments, it never counts more than we do.

use std::time::Duration;

use super::RateLimit;

/// How often to check again while waiting for something that may happen at any moment.
const LOOK: Duration = Duration::from_millis(250);

/// The longest sleep: after it, a suspended machine or a longer pause is noticed.
pub(super) const LONGEST_SLEEP: Duration = Duration::from_secs(5);

/// How long a request whose turn has come waits for an earlier one to take its turn.
const AFTER_YOU: Duration = Duration::from_millis(10);

/// The number of waiting requests that check closely. The others are far from their turn.
pub(super) const CLOSE: usize = 8;

/// Maximum number of requests ahead that are simulated: the result is still never too late.
const FORESEEN: usize = 64;

/// An earlier request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EarlierRequest {
    /// Until when it counts; `None` as long as there is no response.
    pub(super) until: Option<Duration>,
    /// The tokens it used, or is expected to use.
    pub(super) tokens: u64,
    /// Whether it is still in progress.
    pub(super) is_open: bool,
}

/// All that is known of one account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AccountState {
    pub(super) requests: Vec<EarlierRequest>,
    /// Tokens of the requests ahead in the queue, in their order.
    pub(super) ahead: Vec<u64>,
    /// When the last request was sent.
    pub(super) last: Option<Duration>,
    /// The end of a pause that the provider asked for.
    pub(super) paused: Duration,
}

/// Whether a request may be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RateVerdict {
    Go,
    Wait(RateWait),
}

/// Why a request has to wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RateWait {
    /// The earliest time at which it can be sent, as far as is known.
    pub(super) until: Duration,
    /// Whether `until` is certain; otherwise it depends on when other requests end.
    pub(super) is_certain: bool,
    /// How many requests are ahead.
    pub(super) ahead: usize,
}

impl RateWait {
    /// How long to sleep before checking again.
    pub(super) fn sleep(&self, now: Duration) -> Duration {
        let left = self.until.saturating_sub(now).max(AFTER_YOU);
        if self.is_certain {
            return left.min(LONGEST_SLEEP);
        }
        left.max(LOOK).min(LOOK.saturating_mul((1 + self.ahead / CLOSE) as u32)).min(LONGEST_SLEEP)
    }
}

/// Whether a request with this many tokens may be sent now; if not, when to check again.
pub(super) fn when(
    mut standing: AccountState,
    limit: &RateLimit,
    tokens: u64,
    window: Duration,
    now: Duration,
) -> RateVerdict {
    let ahead = std::mem::take(&mut standing.ahead);
    let mut turn = EarliestMoment { at: now, is_certain: true };
    for tokens in ahead.iter().copied().take(FORESEEN).chain([tokens]) {
        turn.follow(&standing, limit, tokens, window, now);
        // The requests ahead are assumed to be sent as early as possible.
        standing.requests.push(EarlierRequest { until: Some(turn.at + window), tokens, is_open: true });
        standing.last = Some(turn.at);
    }
    if ahead.is_empty() && turn.is_certain && turn.at <= now {
        return RateVerdict::Go;
    }
    RateVerdict::Wait(RateWait { until: turn.at, is_certain: turn.is_certain, ahead: ahead.len() })
}

/// The earliest time found so far.
struct EarliestMoment {
    at: Duration,
    is_certain: bool,
}

impl EarliestMoment {
    /// Moves on to the earliest time for one more request, never back.
    fn follow(&mut self, standing: &AccountState, limit: &RateLimit, tokens: u64, window: Duration, now: Duration) {
        self.at = self.at.max(standing.paused);
        if let Some(last) = standing.last {
            self.at = self.at.max(last.min(self.at) + limit.spacing);
        }

        // A request without a response counts for a whole window from the time it gets one.
        let unheard = now + window;
        let mut counted: Vec<(Duration, u64, bool)> = (standing.requests.iter())
            .filter(|request| request.until.is_none_or(|until| until > self.at))
            .map(|request| (request.until.unwrap_or(unheard), request.tokens, request.until.is_some()))
            .collect();
        counted.sort_unstable();

        if let Some(most) = limit.requests {
            // Once the request at `over` has left the window, one fewer than the maximum remain.
            if let Some(over) = counted.len().checked_sub(most.max(1) as usize) {
                let (until, _, is_known) = counted[over];
                self.at = self.at.max(until);
                self.is_certain &= is_known;
            }
        }
        if let Some(most) = limit.tokens {
            let mut sum = counted.iter().fold(0_u64, |sum, (_, tokens, _)| sum.saturating_add(*tokens));
            for (until, used, _) in counted {
                // A request that is larger than the limit itself is sent when nothing else counts.
                if sum == 0 || sum.saturating_add(tokens) <= most {
                    break;
                }
                sum = sum.saturating_sub(used);
                self.at = self.at.max(until);
                // Other requests may turn out to use less than was expected.
                self.is_certain = false;
            }
        }
        if let Some(most) = limit.concurrency {
            let open = standing.requests.iter().filter(|request| request.is_open).count();
            self.is_certain &= open < most.max(1) as usize;
        }
    }
}
