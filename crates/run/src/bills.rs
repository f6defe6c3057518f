//! What calls that are open, or were cut off, will be billed: as far as each model's bills so far tell.
//!
//! A provider may count what we cannot foresee (its own template, reasoning on top of the cap). Whoever did so once is
//! expected to do it again; whoever has sent no bill yet is trusted with little.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::goal::Ceiling;
use crate::id::Cost;
use crate::message::TokenUsage;

/// What is expected of a call, in thousandths of its ceiling: of its tokens, and of its cost. A prompt that has more tokens
/// than was estimated says little about what answers cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CeilingShare {
    tokens: u64,
    cost: u64,
}

impl CeilingShare {
    /// No more than its ceiling.
    pub(crate) const WHOLE: Self = Self::alike(1_000);

    /// While no bill was seen: an answer that fills its cap, and twice as much reasoning on top.
    const UNSEEN: Self = Self::alike(3_000);

    const MOST: u64 = 1_000_000;

    const fn alike(share: u64) -> Self {
        Self { tokens: share, cost: share }
    }

    /// What a bill was of the ceiling.
    fn of(usage: &TokenUsage, ceiling: &Ceiling) -> Self {
        let share = |used: u64, reserved: u64| match reserved {
            0 => 0,
            _ => u128::from(used).saturating_mul(1_000).div_ceil(u128::from(reserved)).min(Self::MOST.into()) as u64,
        };
        Self {
            tokens: share(usage.tokens(), ceiling.tokens),
            cost: share(usage.cost.unwrap_or_default().0, ceiling.cost.unwrap_or_default().0),
        }
    }

    /// What is to be expected after such a bill. What went beyond the ceiling may go a little further with another
    /// prompt: how much of a ceiling is prompt, and how much answer, differs.
    fn expected_next(self) -> Self {
        let whole = Self::WHOLE.tokens;
        let next = |share: u64| (share + share.saturating_sub(whole) / 4).clamp(whole, Self::MOST);
        Self { tokens: next(self.tokens), cost: next(self.cost) }
    }

    fn or_more(self, other: Self) -> Self {
        Self { tokens: self.tokens.max(other.tokens), cost: self.cost.max(other.cost) }
    }

    pub(crate) fn widen(self, ceiling: &Ceiling) -> Ceiling {
        let more =
            |n: u64, share: u64| (u128::from(n) * u128::from(share)).div_ceil(1_000).min(u128::from(u64::MAX)) as u64;
        let cost = ceiling.cost.map(|cost| Cost(more(cost.0, self.cost)));
        Ceiling { tokens: more(ceiling.tokens, self.tokens), cost }
    }
}

/// The accounts of all models that were asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bills(BTreeMap<Arc<str>, ModelAccount>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ModelAccount {
    /// The ceilings of its open calls.
    reserved: Ceiling,
    /// The ceilings of those that were cut off.
    doubtful: Ceiling,
    /// The most that a bill was of its ceiling; absent until one was seen.
    seen: Option<CeilingShare>,
}

impl Bills {
    /// What is expected of a model that has sent bills; no more than its ceilings of one that has not.
    pub(crate) fn known_share(&self, model: &str) -> CeilingShare {
        self.0.get(model).and_then(|account| account.seen).unwrap_or(CeilingShare::WHOLE)
    }

    /// The same, of one that has not with what may be on top of its ceilings.
    pub(crate) fn expected_share(&self, model: &str) -> CeilingShare {
        self.0.get(model).and_then(|account| account.seen).unwrap_or(CeilingShare::UNSEEN)
    }

    /// Whether a bill of this model was seen.
    pub(crate) fn has_seen(&self, model: &str) -> bool {
        self.0.get(model).is_some_and(|account| account.seen.is_some())
    }

    /// Whether some call of this model may have been billed, and nobody knows how its bills are.
    pub(crate) fn is_in_the_dark(&self, model: &str) -> bool {
        self.0.get(model).is_some_and(|account| account.seen.is_none() && account.doubtful.tokens > 0)
    }

    /// What all calls that are open or were cut off will be billed.
    pub(crate) fn outstanding(&self) -> Ceiling {
        self.0.values().fold(Ceiling::default(), |sum, account| {
            let share = account.seen.unwrap_or(CeilingShare::UNSEEN);
            plus(&sum, &share.widen(&plus(&account.reserved, &account.doubtful)))
        })
    }

    pub(crate) fn reserve(&mut self, model: &Arc<str>, ceiling: &Ceiling) {
        let account = self.0.entry(Arc::clone(model)).or_default();
        account.reserved = plus(&account.reserved, ceiling);
    }

    pub(crate) fn free(&mut self, model: &str, ceiling: &Ceiling) {
        if let Some(account) = self.0.get_mut(model) {
            account.reserved = minus(&account.reserved, ceiling);
        }
    }

    /// A call was cut off: it may have been billed.
    pub(crate) fn doubt(&mut self, model: &str, ceiling: &Ceiling) {
        if let Some(account) = self.0.get_mut(model) {
            account.doubtful = plus(&account.doubtful, ceiling);
        }
    }

    /// Learns from a bill.
    pub(crate) fn learn(&mut self, model: &str, ceiling: &Ceiling, usage: &TokenUsage) {
        if let Some(account) = self.0.get_mut(model) {
            let next = CeilingShare::of(usage, ceiling).expected_next();
            account.seen = Some(account.seen.map_or(next, |seen| seen.or_more(next)));
        }
    }
}

pub(crate) fn plus(a: &Ceiling, b: &Ceiling) -> Ceiling {
    let cost = a.cost.unwrap_or_default().0.saturating_add(b.cost.unwrap_or_default().0);
    Ceiling { tokens: a.tokens.saturating_add(b.tokens), cost: Some(Cost(cost)) }
}

pub(crate) fn minus(a: &Ceiling, b: &Ceiling) -> Ceiling {
    let cost = a.cost.unwrap_or_default().0.saturating_sub(b.cost.unwrap_or_default().0);
    Ceiling { tokens: a.tokens.saturating_sub(b.tokens), cost: Some(Cost(cost)) }
}
