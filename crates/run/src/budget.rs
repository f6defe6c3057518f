//! What has been spent, what is reserved, and whether more fits into the budget.

use crate::expected_cost::{minus, plus};
use crate::goal::{Budget, BudgetLimit, Ceiling};
use crate::id::{Cost, Millis};
use crate::message::TokenUsage;

/// The account of a run or of one step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// The usage that models reported.
    pub usage: TokenUsage,
    /// Calls whose cost is unknown because the price is unknown.
    pub unpriced: u64,
    /// What calls that were cut off may have cost.
    pub doubtful: Ceiling,
    /// What open calls may still spend.
    pub reserved: Ceiling,
    /// How many calls `reserved` covers.
    pub reservations: u32,
    /// Calls that were cut off, which may have been billed.
    pub cut_off: u64,
    /// Questions to models that were wanted.
    pub turns: u64,
    /// Further attempts at questions whose answer was cut off.
    pub repeats: u64,
    /// Tool calls that were wanted.
    pub calls: u64,
    /// Answers that showed reasoning.
    pub reasoning_steps: u64,
    /// Answers.
    pub answers: u64,
    /// Answers for which the provider used its prompt cache.
    pub cache_hits: u64,
}

impl Ledger {
    /// Money spent or possibly spent.
    pub fn cost(&self) -> Cost {
        let known = self.usage.cost.unwrap_or_default();
        Cost(known.0.saturating_add(self.doubtful.cost.unwrap_or_default().0))
    }

    /// Requests to models: each question, and each further attempt at one.
    pub fn requests(&self) -> u64 {
        self.turns.saturating_add(self.repeats)
    }

    /// Money spent or possibly spent, including calls that have not answered yet.
    pub fn at_most(&self) -> Cost {
        let known = self.usage.cost.unwrap_or_default();
        Cost(known.0.saturating_add(self.outstanding().cost.unwrap_or_default().0))
    }

    /// The first limit that would be exceeded if `expected` were added to what models reported.
    pub(crate) fn breaks(&self, budget: &Budget, expected: &Ceiling) -> Option<BudgetLimit> {
        let cost = self.usage.cost.unwrap_or_default().0.saturating_add(expected.cost.unwrap_or_default().0);
        if budget.cost.is_some_and(|limit| cost > limit.0) {
            return Some(BudgetLimit::Cost);
        }
        let tokens = self.usage.tokens().saturating_add(expected.tokens);
        budget.tokens.is_some_and(|limit| tokens > limit).then_some(BudgetLimit::Tokens)
    }

    /// What was reserved and not yet reported: the ceilings of calls that are open or were cut off.
    pub fn outstanding(&self) -> Ceiling {
        plus(&self.reserved, &self.doubtful)
    }

    /// The limit that would be exceeded by this many more questions and calls.
    pub(crate) fn count_limit_reached(&self, budget: &Budget, turns: u64, calls: u64) -> Option<BudgetLimit> {
        if budget.turns.is_some_and(|limit| self.requests().saturating_add(turns) > limit) {
            return Some(BudgetLimit::Turns);
        }
        budget.calls.is_some_and(|limit| self.calls.saturating_add(calls) > limit).then_some(BudgetLimit::Calls)
    }

    pub(crate) fn reserve(&mut self, ceiling: &Ceiling) {
        self.reserved = plus(&self.reserved, ceiling);
        self.reservations += 1;
    }

    pub(crate) fn free(&mut self, ceiling: &Ceiling) {
        self.reserved = minus(&self.reserved, ceiling);
        self.reservations = self.reservations.saturating_sub(1);
    }

    /// A call with this ceiling was cut off: it may have been billed.
    pub(crate) fn doubt(&mut self, ceiling: &Ceiling) {
        self.cut_off += 1;
        self.unpriced += u64::from(ceiling.cost.is_none());
        self.doubtful = plus(&self.doubtful, ceiling);
    }

    pub(crate) fn spend(&mut self, usage: &TokenUsage) {
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

/// Whether the working time is used up.
pub(crate) fn time_is_up(budget: &Budget, worked: Millis) -> bool {
    budget.time.is_some_and(|limit| worked >= limit)
}
