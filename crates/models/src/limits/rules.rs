//! When the next request may go: plain arithmetic over what is known of the others.
//!
//! A server counts a request at some moment between its leaving us and its answer reaching us. So a request is taken to
//! be in the window from the first of these moments until one window after the second. Whatever the server counts, in
//! windows that slide or that begin at any fixed moment, it counts no more than we do.

use std::time::Duration;

use super::RateLimit;

/// How often to look again while waiting for something that may come at any moment.
const LOOK: Duration = Duration::from_millis(250);

/// The longest sleep: a machine that was suspended, or a longer pause, is noticed after it.
pub(super) const LONGEST_SLEEP: Duration = Duration::from_secs(5);

/// How long one whose turn has come waits for another, whose turn is first, to take it.
const AFTER_YOU: Duration = Duration::from_millis(10);

/// So many of those who wait are followed closely. The others are far from their turn.
pub(super) const CLOSE: usize = 8;

/// Where those ahead are counted no further: what is found is still never too late.
const FORESEEN: usize = 64;

/// A request that went earlier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EarlierRequest {
    /// Until when it counts; `None` as long as nothing was heard of it.
    pub(super) until: Option<Duration>,
    /// The tokens it used, or was expected to use.
    pub(super) tokens: u64,
    /// Whether it is still under way.
    pub(super) is_open: bool,
}

/// All that is known of one account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AccountState {
    pub(super) requests: Vec<EarlierRequest>,
    /// Tokens of those who came before and still wait, first come first.
    pub(super) ahead: Vec<u64>,
    /// When the last request went.
    pub(super) last: Option<Duration>,
    /// Until when the provider asked everybody to wait.
    pub(super) paused: Duration,
}

/// Whether a request may go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RateVerdict {
    Go,
    Wait(RateWait),
}

/// Why not yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RateWait {
    /// It cannot go before, as far as can be seen.
    pub(super) until: Duration,
    /// Whether `until` is known; otherwise it depends on when others end.
    pub(super) is_certain: bool,
    /// How many are served first.
    pub(super) ahead: usize,
}

impl RateWait {
    /// How long to sleep before looking again.
    pub(super) fn sleep(&self, now: Duration) -> Duration {
        let left = self.until.saturating_sub(now).max(AFTER_YOU);
        if self.is_certain {
            return left.min(LONGEST_SLEEP);
        }
        left.max(LOOK).min(LOOK.saturating_mul((1 + self.ahead / CLOSE) as u32)).min(LONGEST_SLEEP)
    }
}

/// Whether a request of so many tokens may go now, and if not, when to look again.
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
        // Those ahead are taken to go as early as they can.
        standing.requests.push(EarlierRequest { until: Some(turn.at + window), tokens, is_open: true });
        standing.last = Some(turn.at);
    }
    if ahead.is_empty() && turn.is_certain && turn.at <= now {
        return RateVerdict::Go;
    }
    RateVerdict::Wait(RateWait { until: turn.at, is_certain: turn.is_certain, ahead: ahead.len() })
}

/// The moment found so far.
struct EarliestMoment {
    at: Duration,
    is_certain: bool,
}

impl EarliestMoment {
    /// Moves on to the earliest moment for one more request, never back.
    fn follow(&mut self, standing: &AccountState, limit: &RateLimit, tokens: u64, window: Duration, now: Duration) {
        self.at = self.at.max(standing.paused);
        if let Some(last) = standing.last {
            self.at = self.at.max(last.min(self.at) + limit.spacing);
        }

        // What was not heard of counts for a whole window from when it will be.
        let unheard = now + window;
        let mut counted: Vec<(Duration, u64, bool)> = (standing.requests.iter())
            .filter(|request| request.until.is_none_or(|until| until > self.at))
            .map(|request| (request.until.unwrap_or(unheard), request.tokens, request.until.is_some()))
            .collect();
        counted.sort_unstable();

        if let Some(most) = limit.requests {
            // With the one at `over` out of the window, one fewer than the most are left.
            if let Some(over) = counted.len().checked_sub(most.max(1) as usize) {
                let (until, _, is_known) = counted[over];
                self.at = self.at.max(until);
                self.is_certain &= is_known;
            }
        }
        if let Some(most) = limit.tokens {
            let mut sum = counted.iter().fold(0_u64, |sum, (_, tokens, _)| sum.saturating_add(*tokens));
            for (until, used, _) in counted {
                // One that is larger than the limit itself goes when nothing else counts.
                if sum == 0 || sum.saturating_add(tokens) <= most {
                    break;
                }
                sum = sum.saturating_sub(used);
                self.at = self.at.max(until);
                // It may turn out that others used less than was booked for them.
                self.is_certain = false;
            }
        }
        if let Some(most) = limit.concurrency {
            let open = standing.requests.iter().filter(|request| request.is_open).count();
            self.is_certain &= open < most.max(1) as usize;
        }
    }
}
