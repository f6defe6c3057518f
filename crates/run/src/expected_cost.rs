//! Estimates what open and cut-off calls will cost, from what each model has billed so far.
//!
//! A provider may bill more than we can foresee (its own template, reasoning beyond the cap). A model that exceeded its
//! ceiling once is expected to do so again. For a model that has not billed anything yet, only a small amount is put at
//! risk.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::goal::Ceiling;
use crate::id::Cost;
use crate::message::TokenUsage;

/// The expected bill of a call, in thousandths of its ceiling: one figure for tokens and one for cost. They are
/// separate because a prompt with more tokens than estimated says little about what answers cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CeilingShare {
    tokens: u64,
    cost: u64,
}

impl CeilingShare {
    /// The whole ceiling, and no more.
    pub(crate) const WHOLE: Self = Self::alike(1_000);

    /// The assumption before the first bill: an answer that fills its cap, and twice as much reasoning on top.
    const UNSEEN: Self = Self::alike(3_000);

    const MOST: u64 = 1_000_000;

    const fn alike(share: u64) -> Self {
        Self { tokens: share, cost: share }
    }

    /// The ratio of a bill to its ceiling.
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

    /// What to expect after this bill. A model that exceeded its ceiling may exceed it a little more with another
    /// prompt, because the shares of prompt and answer in a ceiling differ.
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

/// The accounts of all models that have been asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bills(BTreeMap<Arc<str>, ModelAccount>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ModelAccount {
    /// The ceilings of its open calls.
    reserved: Ceiling,
    /// The ceilings of its calls that were cut off.
    doubtful: Ceiling,
    /// The highest ratio of a bill to its ceiling; `None` before the first bill.
    seen: Option<CeilingShare>,
}

impl Bills {
    /// The expected share for a model: learned from its bills, or the whole ceiling if there are none.
    pub(crate) fn known_share(&self, model: &str) -> CeilingShare {
        self.0.get(model).and_then(|account| account.seen).unwrap_or(CeilingShare::WHOLE)
    }

    /// Like `known_share`, but a model without bills is expected to exceed its ceiling.
    pub(crate) fn expected_share(&self, model: &str) -> CeilingShare {
        self.0.get(model).and_then(|account| account.seen).unwrap_or(CeilingShare::UNSEEN)
    }

    /// Whether this model has billed anything yet.
    pub(crate) fn has_seen(&self, model: &str) -> bool {
        self.0.get(model).is_some_and(|account| account.seen.is_some())
    }

    /// Whether a call to this model may have been billed although no bill has been seen.
    pub(crate) fn is_in_the_dark(&self, model: &str) -> bool {
        self.0.get(model).is_some_and(|account| account.seen.is_none() && account.doubtful.tokens > 0)
    }

    /// The expected cost of all calls that are open or were cut off.
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

    /// Updates the expectation from a bill.
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
