//! A limit that a run has reached, and the higher one with which a person lets it continue.

use updraft_engine::{raised_limit, why_stopped};
use updraft_run::{Budget, BudgetLimit, Cost, Input, Millis, Run, RunPhase};

use super::runs::LiveRuns;
use super::service_types::RunView;
use crate::fault::Fault;
use crate::time_format::{self, count};

/// A limit that a run has reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReachedLimit {
    /// Which limit.
    pub which: BudgetLimit,
    /// What happened, in words.
    pub why: String,
    /// A limit with which the run can continue, as a person would write it; absent if no limit helps.
    pub suggestion: Option<String>,
}

impl ReachedLimit {
    /// The limit that a run has reached.
    pub fn of(run: &Run) -> Option<Self> {
        let RunPhase::Exhausted(which) = run.phase() else { return None };
        let suggestion = raised_limit(run).and_then(|budget| written(&budget, *which));
        Some(Self { which: *which, why: why_stopped(run).unwrap_or_default(), suggestion })
    }
}

/// A limit as a person writes it.
fn written(budget: &Budget, which: BudgetLimit) -> Option<String> {
    match which {
        BudgetLimit::Cost => budget.cost.map(|cost| format!("{:.2}", (cost.0 as f64 / 1e7).ceil() / 100.0)),
        BudgetLimit::Tokens => budget.tokens.map(|tokens| tokens.to_string()),
        BudgetLimit::Time => budget.time.map(|time| format!("{}s", time.0.div_ceil(1_000))),
        BudgetLimit::Turns => budget.turns.map(|turns| turns.to_string()),
        BudgetLimit::Calls => budget.calls.map(|calls| calls.to_string()),
        BudgetLimit::Model | BudgetLimit::Window | BudgetLimit::Loop => None,
    }
}

/// A budget with this limit, as a person wrote it. Refused if the run has used as much already.
fn read(run: &Run, which: BudgetLimit, text: &str) -> Result<Budget, Fault> {
    let number = || {
        let number = text.trim().parse::<u64>().ok().filter(|number| *number > 0);
        number.ok_or_else(|| Fault::usage(format!("`{text}` is not a limit; expected a whole number above 0")))
    };
    let more_than = |used: bool, words: String| {
        if used {
            Err(Fault::usage(format!("the run has used {words} already; give it a higher limit")))
        } else {
            Ok(())
        }
    };
    let ledger = run.ledger();
    match which {
        BudgetLimit::Cost => {
            let cost = dollars(text)?;
            more_than(cost <= ledger.cost(), ledger.cost().to_string())?;
            Ok(Budget { cost: Some(cost), ..Budget::default() })
        }
        BudgetLimit::Tokens => {
            let tokens = number()?;
            more_than(tokens <= ledger.usage.tokens(), count(ledger.usage.tokens(), "token"))?;
            Ok(Budget { tokens: Some(tokens), ..Budget::default() })
        }
        BudgetLimit::Time => {
            let time = time_format::duration(text).map_err(Fault::usage)?;
            let time = Millis(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
            more_than(time <= run.worked(), time_format::length(run.worked()))?;
            Ok(Budget { time: Some(time), ..Budget::default() })
        }
        BudgetLimit::Turns => {
            let turns = number()?;
            more_than(turns <= ledger.requests(), count(ledger.requests(), "turn"))?;
            Ok(Budget { turns: Some(turns), ..Budget::default() })
        }
        BudgetLimit::Calls => {
            let calls = number()?;
            more_than(calls <= ledger.calls, count(ledger.calls, "tool call"))?;
            Ok(Budget { calls: Some(calls), ..Budget::default() })
        }
        BudgetLimit::Model => Err(Fault::usage("the run waits for its model, not for a limit; resume it without one")),
        BudgetLimit::Loop => {
            Err(Fault::usage("the run went round in circles, and no limit was reached; resume it without one"))
        }
        BudgetLimit::Window => Err(Fault::usage(
            "the conversation is too long for its model: resume the run with one that has a larger window",
        )),
    }
}

/// Reads an amount of dollars.
fn dollars(text: &str) -> Result<Cost, Fault> {
    let amount = text.trim().trim_start_matches('$').parse::<f64>().ok();
    let amount = amount.filter(|amount| amount.is_finite() && (0.0..=1e9).contains(amount));
    let amount = amount
        .ok_or_else(|| Fault::usage(format!("`{text}` is not an amount of dollars; expected for instance 0.50")))?;
    Ok(Cost((amount * 1e9).round() as u64))
}

impl LiveRuns {
    /// Resumes a run that has reached a limit, with a higher one.
    pub async fn raise_limit(&self, run: &str, limit: &str) -> Result<RunView, Fault> {
        let loaded = self.load(&self.find(run)?).await?;
        let RunPhase::Exhausted(which) = loaded.phase() else {
            return Err(Fault::usage(format!("the run has reached no limit; it is {}", loaded.status())));
        };
        let budget = read(&loaded, *which, limit)?;
        self.say(run, |_| Ok(Input::Resume { budget: Some(budget), approvals: None })).await
    }
}
