//! Reserves money and tokens before a model is asked, so that parallel steps cannot overspend together.

use crate::event::Event;
use crate::expected_cost::plus;
use crate::goal::{BudgetLimit, Ceiling};
use crate::id::EffectAddress;
use crate::open_effect::{Funds, OpenEffect};
use crate::reply::{Failure, FailureKind, Reply};
use crate::state::Run;

impl Run {
    /// Decides whether a model call may be made for at most this much.
    pub(super) fn fund(&self, id: &EffectAddress, ceiling: Ceiling) -> Vec<Event> {
        let Some(open) = self.open.get(id).filter(|open| self.is_paid(id) && !matches!(open.funds, Funds::Reserved(_)))
        else {
            return Vec::new();
        };
        let capped = self.budget.cost.is_some() || self.settings.step_budget.cost.is_some();
        if capped && ceiling.cost.is_none() {
            let why = "the price of this model is not known, so a budget in money cannot be kept; \
                       set its price in the configuration";
            let reply = Reply::Failed(Failure::new(FailureKind::Config, why));
            return vec![Event::Replied { id: id.clone(), attempt: open.attempt, reply, prepared: Vec::new() }];
        }
        match self.too_much(id, &ceiling) {
            BudgetOverrun::No => vec![Event::Reserved { id: id.clone(), ceiling }],
            BudgetOverrun::ForTheStep(which) => vec![used_up(id, open, which)],
            // `settle` checks whether other calls may return some of what they reserved.
            BudgetOverrun::ForTheRun(_) => vec![Event::Held { id: id.clone(), ceiling }],
        }
    }

    /// Held calls get their reservation when others have returned some, or the run stops.
    pub(super) fn settle_funds(&self) -> Option<Vec<Event>> {
        let mut stuck = None;
        for id in &self.held {
            let Some((open, Funds::Held(ceiling))) = self.open.get(id).map(|open| (open, open.funds)) else { continue };
            match self.too_much(id, &ceiling) {
                BudgetOverrun::No => return Some(vec![Event::Reserved { id: id.clone(), ceiling }]),
                BudgetOverrun::ForTheStep(which) => return Some(vec![used_up(id, open, which)]),
                // Code waits for this call, so it must be told that the call will not be made.
                BudgetOverrun::ForTheRun(which) if id.inner.is_some() && self.ledger.reservations == 0 => {
                    return Some(vec![not_funded(id, open, "run", which)]);
                }
                BudgetOverrun::ForTheRun(which) => stuck = stuck.or(Some(which)),
            }
        }
        let which = stuck.filter(|_| self.ledger.reservations == 0)?;
        Some(vec![Event::Exhausted { which }])
    }

    fn too_much(&self, id: &EffectAddress, ceiling: &Ceiling) -> BudgetOverrun {
        let model = self.payee_of(id);
        if let Some(step) = self.step(&id.step) {
            let expected = self.bills.known_share(model).widen(&plus(&step.ledger.outstanding(), ceiling));
            if let Some(which) = step.ledger.breaks(&self.settings.step_budget, &expected) {
                return BudgetOverrun::ForTheStep(which);
            }
        }
        let is_alone = self.ledger.reservations == 0;
        // One call must be allowed before the first bill, or no bill would ever arrive.
        let goes_first = is_alone && !self.bills.is_in_the_dark(model);
        let share = if goes_first { self.bills.known_share(model) } else { self.bills.expected_share(model) };
        let mut expected = plus(&self.bills.outstanding(), &share.widen(ceiling));
        if !is_alone && !self.bills.has_seen(model) {
            // Counted twice: if all of these calls are cut off before the first bill, half of the budget is left.
            expected = plus(&expected, &expected);
        }
        self.ledger.breaks(&self.budget, &expected).map_or(BudgetOverrun::No, BudgetOverrun::ForTheRun)
    }
}

/// A step that asks for more than its own budget gets a failure, whatever the run has left.
fn used_up(id: &EffectAddress, open: &OpenEffect, which: BudgetLimit) -> Event {
    not_funded(id, open, "step", which)
}

fn not_funded(id: &EffectAddress, open: &OpenEffect, whose: &str, which: BudgetLimit) -> Event {
    let why = format!("the {whose} has used up its budget of {}", which.flag().0);
    let reply = Reply::Failed(Failure::new(FailureKind::Budget, why));
    Event::Replied { id: id.clone(), attempt: open.attempt, reply, prepared: Vec::new() }
}

enum BudgetOverrun {
    No,
    ForTheStep(BudgetLimit),
    ForTheRun(BudgetLimit),
}
