//! What was spent, what is promised, and whether something more fits.

use crate::goal::{Budget, Ceiling, Limit};
use crate::id::{Cost, Millis};
use crate::message::Usage;

/// The account of a run or of one step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// What models reported.
    pub usage: Usage,
    /// Calls whose cost is not known, because the price is not.
    pub unpriced: u64,
    /// What calls that were cut off may have cost.
    pub doubtful: Ceiling,
    /// What open calls may still spend.
    pub reserved: Ceiling,
    /// How many calls that is.
    pub reservations: u32,
    /// Questions to models that were wanted.
    pub turns: u64,
    /// Tool calls that were wanted.
    pub calls: u64,
    /// Answers that showed reasoning.
    pub reasoning_steps: u64,
    /// Answers.
    pub answers: u64,
    /// Answers for which the provider found something in its cache of prompts.
    pub cache_hits: u64,
}

impl Ledger {
    /// Money spent or possibly spent.
    pub fn cost(&self) -> Cost {
        let known = self.usage.cost.unwrap_or_default();
        Cost(known.0.saturating_add(self.doubtful.cost.unwrap_or_default().0))
    }

    /// The first limit that a further model call with this ceiling would break.
    pub(crate) fn breaks(&self, budget: &Budget, ceiling: &Ceiling) -> Option<Limit> {
        let promised = self.reserved.cost.unwrap_or_default().0;
        let wanted = ceiling.cost.unwrap_or_default().0;
        let cost = self.cost().0.saturating_add(promised).saturating_add(wanted);
        if budget.cost.is_some_and(|limit| cost > limit.0) {
            return Some(Limit::Cost);
        }
        let spent = self.usage.tokens().saturating_add(self.doubtful.tokens);
        let tokens = spent.saturating_add(self.reserved.tokens).saturating_add(ceiling.tokens);
        budget.tokens.is_some_and(|limit| tokens > limit).then_some(Limit::Tokens)
    }

    /// The limit that one more question or some more calls would break.
    pub(crate) fn counts_break(&self, budget: &Budget, turns: u64, calls: u64) -> Option<Limit> {
        if budget.turns.is_some_and(|limit| self.turns.saturating_add(turns) > limit) {
            return Some(Limit::Turns);
        }
        budget.calls.is_some_and(|limit| self.calls.saturating_add(calls) > limit).then_some(Limit::Calls)
    }

    pub(crate) fn reserve(&mut self, ceiling: &Ceiling) {
        self.reserved = plus(&self.reserved, ceiling);
        self.reservations += 1;
    }

    pub(crate) fn free(&mut self, ceiling: &Ceiling) {
        self.reserved.tokens = self.reserved.tokens.saturating_sub(ceiling.tokens);
        let left = self.reserved.cost.unwrap_or_default().0.saturating_sub(ceiling.cost.unwrap_or_default().0);
        self.reserved.cost = Some(Cost(left));
        self.reservations = self.reservations.saturating_sub(1);
    }

    /// A call with this ceiling was cut off: it may have been billed.
    pub(crate) fn doubt(&mut self, ceiling: &Ceiling) {
        self.doubtful = plus(&self.doubtful, ceiling);
    }

    pub(crate) fn spend(&mut self, usage: &Usage) {
        self.answers += 1;
        self.cache_hits += u64::from(usage.cached > 0);
        self.usage.input += usage.input;
        self.usage.output += usage.output;
        self.usage.cached += usage.cached;
        self.usage.stored += usage.stored;
        self.usage.pictures += usage.pictures;
        self.usage.reasoning += usage.reasoning;
        self.usage.estimated |= usage.estimated;
        match usage.cost {
            Some(cost) => self.usage.cost = Some(Cost(self.usage.cost.unwrap_or_default().0.saturating_add(cost.0))),
            None => self.unpriced += 1,
        }
    }
}

/// How far bills went beyond what was reserved for them, in thousandths of the reservation.
///
/// A provider may count what we cannot foresee (its own template, reasoning on top of the cap). Whoever did so once is
/// expected to do it again: later calls reserve so much more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Overrun(u64);

impl Default for Overrun {
    fn default() -> Self {
        Self(1000)
    }
}

impl Overrun {
    /// Learns from a bill.
    pub(crate) fn learn(&mut self, ceiling: &Ceiling, usage: &Usage) {
        let share = |used: u64, reserved: u64| match reserved {
            0 => 0,
            _ => u128::from(used).saturating_mul(1000).div_ceil(u128::from(reserved)).min(1_000_000) as u64,
        };
        let cost = share(usage.cost.unwrap_or_default().0, ceiling.cost.unwrap_or_default().0);
        // The reservation was itself widened by what was known then.
        let seen = cost.max(share(usage.tokens(), ceiling.tokens)).saturating_mul(self.0) / 1000;
        self.0 = self.0.max(seen).min(1_000_000);
    }

    /// The ceiling with what is to be expected on top.
    pub(crate) fn widen(self, ceiling: Ceiling) -> Ceiling {
        let more = |n: u64| (u128::from(n) * u128::from(self.0) / 1000).min(u128::from(u64::MAX)) as u64;
        Ceiling { tokens: more(ceiling.tokens), cost: ceiling.cost.map(|cost| Cost(more(cost.0))) }
    }
}

fn plus(a: &Ceiling, b: &Ceiling) -> Ceiling {
    let cost = a.cost.unwrap_or_default().0.saturating_add(b.cost.unwrap_or_default().0);
    Ceiling { tokens: a.tokens.saturating_add(b.tokens), cost: Some(Cost(cost)) }
}

/// Whether the time at work is used up.
pub(crate) fn time_is_up(budget: &Budget, worked: Millis) -> bool {
    budget.time.is_some_and(|limit| worked >= limit)
}
