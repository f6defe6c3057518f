//! Statistics of the agents: how their steps went in the newest runs, by model. They are shown to people and to the planner.
//!
//! It is kept as one small value in the journal that each run adds to when it ends, so that starting a run reads one row.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};
use updraft_journal::{Change, Journal, RunFilter, StoredValue};
use updraft_run::{Cost, Run, RunId, Step, StepRole, StepState};

use crate::Error;

/// How many runs the statistics cover: models and prompts change, so older ones say little.
const NEWEST: usize = 100;
const SCOPE: &str = "agents";
const KEY: &str = "record";
/// How many models a planner is told about for one agent.
const MODELS_TOLD: usize = 2;

/// How the steps of one agent with one model went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentTally {
    /// The agent.
    pub agent: String,
    /// The model.
    pub model: String,
    /// Steps that it was given.
    pub steps: u64,
    /// Those that were done.
    pub done: u64,
    /// Those that failed.
    pub failed: u64,
    /// How often a step had to be entered again.
    pub retries: u64,
    /// Questions to the model.
    pub turns: u64,
    /// Tokens in both directions.
    pub tokens: u64,
    /// What it cost; absent if a price is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
}

/// The tallies of one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RunTally {
    run: RunId,
    agents: Vec<AgentTally>,
}

/// Statistics of the newest runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentStats {
    /// The oldest first.
    runs: Vec<RunTally>,
}

impl AgentStats {
    /// The statistics, or empty ones.
    pub fn load(journal: &Journal) -> Result<Self, Error> {
        Ok(journal.stored(SCOPE, KEY)?.map(|stored| parse(&stored)).unwrap_or_default())
    }

    /// The statistics, counted from the newest runs of the journal if there are none yet.
    pub async fn load_or_count(journal: &Journal) -> Result<Self, Error> {
        if journal.stored(SCOPE, KEY)?.is_some() {
            return Self::load(journal);
        }
        let heads = journal.list(&RunFilter { limit: Some(NEWEST), ..RunFilter::default() })?;
        let mut counted = Self::default();
        for head in heads.iter().rev() {
            let mut run = Run::default();
            let read = journal.read(&head.id, 0, &mut |_, record| {
                run.record(&record);
                ControlFlow::Continue(())
            });
            // A damaged run is left out.
            if read.is_ok() && run.is_over() {
                counted.add(tally(&head.id, &run));
            }
        }
        let text = serde_json::to_string(&counted).unwrap_or_default();
        let first = move |found: Option<StoredValue>| match found {
            Some(_) => (Change::Nothing, ()),
            None => (Change::Set(text.clone()), ()),
        };
        journal.change_stored(SCOPE, KEY, first).await?;
        Ok(counted)
    }

    /// The part of it that is about some of the runs.
    #[must_use]
    pub fn of_runs(mut self, is_one: impl Fn(&RunId) -> bool) -> Self {
        self.runs.retain(|tally| is_one(&tally.run));
        self
    }

    /// How many runs it covers.
    pub fn runs(&self) -> usize {
        self.runs.len()
    }

    /// The sums for each agent and model, in the order of their names.
    pub fn tallies(&self) -> Vec<AgentTally> {
        let mut sums: BTreeMap<(&str, &str), AgentTally> = BTreeMap::new();
        for one in self.runs.iter().flat_map(|run| &run.agents) {
            let sum = sums.entry((&one.agent, &one.model)).or_insert_with(|| AgentTally {
                agent: one.agent.clone(),
                model: one.model.clone(),
                cost: Some(Cost(0)),
                ..AgentTally::default()
            });
            sum.steps += one.steps;
            sum.done += one.done;
            sum.failed += one.failed;
            sum.retries += one.retries;
            sum.turns += one.turns;
            sum.tokens += one.tokens;
            sum.cost = sum.cost.zip(one.cost).map(|(sum, own)| Cost(sum.0 + own.0));
        }
        sums.into_values().collect()
    }

    /// One line for each agent, for the planner.
    pub fn lines(&self) -> BTreeMap<String, String> {
        let mut by_agent: BTreeMap<String, Vec<AgentTally>> = BTreeMap::new();
        for tally in self.tallies() {
            by_agent.entry(tally.agent.clone()).or_default().push(tally);
        }
        let line = |mut own: Vec<AgentTally>| {
            own.sort_by_key(|tally| std::cmp::Reverse(tally.steps));
            own.iter().take(MODELS_TOLD).map(AgentTally::in_words).collect::<Vec<_>>().join("; ")
        };
        by_agent.into_iter().map(|(agent, own)| (agent, line(own))).collect()
    }

    fn add(&mut self, tally: RunTally) {
        self.runs.retain(|known| known.run != tally.run);
        if !tally.agents.is_empty() {
            self.runs.push(tally);
        }
        let over = self.runs.len().saturating_sub(NEWEST);
        self.runs.drain(..over);
    }
}

impl AgentTally {
    fn in_words(&self) -> String {
        let Self { model, steps, done, failed, retries, .. } = self;
        let price = self.cost.map(|cost| format!(", {} a step", Cost(cost.0 / steps.max(&1)))).unwrap_or_default();
        format!("{done} of {steps} done, {failed} failed, {retries} retries{price} with {model}")
    }
}

/// Adds a run that is over to the statistics. If they cannot be written, they are only incomplete.
pub(crate) async fn note(journal: &Journal, id: &RunId, run: &Run) {
    let own = tally(id, run);
    if own.agents.is_empty() {
        return;
    }
    let add = move |found: Option<StoredValue>| {
        let mut stats = found.map(|stored| parse(&stored)).unwrap_or_default();
        stats.add(own.clone());
        (Change::Set(serde_json::to_string(&stats).unwrap_or_default()), ())
    };
    if let Err(error) = journal.change_stored(SCOPE, KEY, add).await {
        tracing::debug!(%error, "the statistics of the agents were not written");
    }
}

fn parse(stored: &StoredValue) -> AgentStats {
    serde_json::from_str(&stored.value).unwrap_or_default()
}

fn tally(id: &RunId, run: &Run) -> RunTally {
    let mut agents: BTreeMap<(String, String), AgentTally> = BTreeMap::new();
    let has_worked = |step: &&Step| step.role == StepRole::Work && step.ledger.turns > 0;
    for step in run.steps().filter(has_worked) {
        let (agent, model) = (step.spec.agent.clone(), without_settings(run.model_for(&step.spec)));
        let own = agents.entry((agent.clone(), model.clone())).or_insert_with(|| AgentTally {
            agent,
            model,
            cost: Some(Cost(0)),
            ..AgentTally::default()
        });
        own.steps += 1;
        own.done += u64::from(step.state == StepState::Done);
        own.failed += u64::from(matches!(step.state, StepState::Failed(_)));
        own.retries += u64::from(step.visit);
        own.turns += step.ledger.requests();
        own.tokens += step.ledger.usage.tokens();
        let cost = (step.ledger.unpriced == 0).then(|| step.ledger.at_most());
        own.cost = own.cost.zip(cost).map(|(sum, cost)| Cost(sum.0 + cost.0));
    }
    RunTally { run: id.clone(), agents: agents.into_values().collect() }
}

/// A model's name without its settings, such as its address.
fn without_settings(model: &str) -> String {
    let names = model.split(" | ").map(|one| one.split('?').next().unwrap_or(one));
    names.collect::<Vec<_>>().join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(run: usize, done: u64, cost: Option<u64>) -> RunTally {
        let (agent, model) = ("coder".to_owned(), "m".to_owned());
        let tally = AgentTally {
            agent,
            model,
            steps: 1,
            done,
            failed: 1 - done,
            cost: cost.map(Cost),
            ..AgentTally::default()
        };
        RunTally { run: RunId::parse(&format!("r{run}")).unwrap(), agents: vec![tally] }
    }

    #[test]
    fn it_covers_the_newest_runs_once_each() {
        let mut stats = AgentStats::default();
        (0..NEWEST + 5).for_each(|run| stats.add(one(run, 1, Some(1_000_000))));
        stats.add(one(NEWEST + 4, 0, Some(1_000_000)));
        assert_eq!(stats.runs(), NEWEST);
        let line = "99 of 100 done, 1 failed, 0 retries, $0.001000 a step with m";
        assert_eq!(stats.lines(), BTreeMap::from([("coder".to_owned(), line.to_owned())]));
        stats.add(one(0, 1, None));
        assert_eq!(stats.tallies()[0].cost, None, "one price is unknown, so the sum is");
    }
}
