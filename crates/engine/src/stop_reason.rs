//! Explains why a run stopped before it was done, and which command continues it.

use updraft_run::{Budget, BudgetLimit, Ceiling, Cost, FailureKind, Funds, Millis, Run, RunId, RunPhase};

/// Why a run that can continue has stopped: a limit, or a model that is not available.
pub fn why_stopped(run: &Run) -> Option<String> {
    let RunPhase::Exhausted(which) = run.phase() else { return None };
    let kind = match which {
        BudgetLimit::Model => FailureKind::Outage,
        BudgetLimit::Window => FailureKind::TooLong,
        BudgetLimit::Loop => FailureKind::ModelBehavior,
        BudgetLimit::Cost | BudgetLimit::Tokens | BudgetLimit::Time | BudgetLimit::Turns | BudgetLimit::Calls => {
            FailureKind::Budget
        }
    };
    let is_of_steps =
        matches!(which, BudgetLimit::Model | BudgetLimit::Turns | BudgetLimit::Window | BudgetLimit::Loop);
    let halted = run.halted().filter(|(_, why)| why.kind == kind && is_of_steps);
    let halted: Vec<_> = halted.collect();
    let Some((step, why)) = halted.first() else { return Some(limit_reached(run, *which)) };
    let others = match halted.len() - 1 {
        0 => String::new(),
        1 => " (and one more step)".to_owned(),
        more => format!(" (and {more} more steps)"),
    };
    Some(match which {
        BudgetLimit::Model => format!("{why}{others}"),
        BudgetLimit::Loop => format!(
            "step `{}` went round in circles: it {why}{others}; tell it what to do instead (`updraft tell`), or give it another \
             model (`--model`)",
            step.spec.id
        ),
        _ => format!("step `{}` is not done: {why}{others}", step.spec.id),
    })
}

/// The command that continues a run that stopped.
pub fn command_to_go_on(id: &RunId, run: &Run) -> String {
    let raised = match run.phase() {
        RunPhase::Exhausted(BudgetLimit::Turns) if run.halted().next().is_some() => {
            format!(" --max-turns {}", more_turns(run))
        }
        RunPhase::Exhausted(BudgetLimit::Tokens) => match next_question(run) {
            Some(next) => format!(" --max-tokens {}", rounded(spent_tokens(run) + 2 * next.tokens, 1000)),
            None => " --max-tokens N".to_owned(),
        },
        RunPhase::Exhausted(BudgetLimit::Model | BudgetLimit::Loop) => String::new(),
        RunPhase::Exhausted(BudgetLimit::Window) => " --model MODEL".to_owned(),
        RunPhase::Exhausted(which) => format!(" {} N", which.flag().1),
        _ => String::new(),
    };
    format!("updraft resume {id}{raised}")
}

/// A higher limit with which a run that stopped at one can continue for a while: enough for what waits, and twice as much
/// where nothing is known about that.
pub fn raised_limit(run: &Run) -> Option<Budget> {
    let RunPhase::Exhausted(which) = run.phase() else { return None };
    let (budget, next) = (run.budget(), next_question(run));
    let twice = |limit: Option<u64>| limit.map(|limit| limit.saturating_mul(2).max(1));
    Some(match which {
        BudgetLimit::Cost => {
            let needed = next.and_then(|next| next.cost).map(|next| run.ledger().cost().0 + 2 * next.0);
            let cost = twice(budget.cost.map(|cost| cost.0)).max(needed).map(Cost);
            Budget { cost, ..Budget::default() }
        }
        BudgetLimit::Tokens => {
            let needed = next.map(|next| rounded(spent_tokens(run) + 2 * next.tokens, 1000));
            Budget { tokens: twice(budget.tokens).max(needed), ..Budget::default() }
        }
        BudgetLimit::Time => Budget { time: twice(budget.time.map(|time| time.0)).map(Millis), ..Budget::default() },
        BudgetLimit::Turns => Budget { turns: Some(more_turns(run)), ..Budget::default() },
        BudgetLimit::Calls => Budget { calls: twice(budget.calls), ..Budget::default() },
        BudgetLimit::Model | BudgetLimit::Window | BudgetLimit::Loop => return None,
    })
}

/// The number of turns that lets every unfinished step use its turns once more.
fn more_turns(run: &Run) -> u64 {
    let unfinished = run.steps().filter(|step| !step.has_ended());
    let more: u64 = unfinished.map(|step| u64::from(run.turns_of(step))).sum();
    rounded(run.ledger().requests() + more, 10)
}

fn rounded(number: u64, to: u64) -> u64 {
    number.div_ceil(to) * to
}

fn limit_reached(run: &Run, which: BudgetLimit) -> String {
    let budget = run.budget();
    let limit = match which {
        BudgetLimit::Cost => budget.cost.map(|cost| cost.to_string()),
        BudgetLimit::Tokens => budget.tokens.map(|n| n.to_string()),
        BudgetLimit::Time => budget.time.map(|time| format!("{} s", time.0.div_ceil(1000))),
        BudgetLimit::Turns => budget.turns.map(|n| n.to_string()),
        BudgetLimit::Calls => budget.calls.map(|n| n.to_string()),
        BudgetLimit::Model | BudgetLimit::Window | BudgetLimit::Loop => None,
    };
    let limit = limit.map(|limit| format!(" ({limit})")).unwrap_or_default();
    format!("limit reached: {}{limit}{}", which.flag().0, reserved(run, which).unwrap_or_default())
}

/// What the next question would need, if a limit on money or tokens does not leave enough for it.
fn reserved(run: &Run, which: BudgetLimit) -> Option<String> {
    let next = next_question(run)?;
    let answer = run.settings().max_output;
    match which {
        BudgetLimit::Tokens => {
            let left = run.budget().tokens?.saturating_sub(spent_tokens(run));
            Some(format!(
                "; the next question reserves {} tokens (the prompt, and up to {answer} for the answer: setting \
                 `max_output`), and {left} are left",
                next.tokens
            ))
        }
        BudgetLimit::Cost => {
            let left = run.budget().cost?.0.saturating_sub(run.ledger().cost().0);
            Some(format!(
                "; the next question reserves {} (the prompt, and up to {answer} tokens for the answer: setting \
                 `max_output`), and {} are left",
                next.cost?,
                Cost(left)
            ))
        }
        BudgetLimit::Time
        | BudgetLimit::Turns
        | BudgetLimit::Calls
        | BudgetLimit::Model
        | BudgetLimit::Window
        | BudgetLimit::Loop => None,
    }
}

/// The ceiling of the smallest question that waits for its reservation.
fn next_question(run: &Run) -> Option<Ceiling> {
    let held = run.open().values().filter_map(|open| match open.funds {
        Funds::Held(ceiling) => Some(ceiling),
        Funds::None | Funds::Reserved(_) => None,
    });
    held.min_by_key(|ceiling| ceiling.tokens)
}

fn spent_tokens(run: &Run) -> u64 {
    run.ledger().usage.tokens() + run.ledger().doubtful.tokens
}
