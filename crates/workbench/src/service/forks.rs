//! Runs that people take up again from the past or repeat, perhaps with another goal, message, model or values.

use serde_json::Value;
use updraft_engine::WebResults;
use updraft_run::{Event, Input, RunId, StepId};

use super::orders::OrderFace;
use super::runs::LiveRuns;
use crate::fault::{Fault, blocking};
use crate::flags::Flags;
use crate::fork::{Fork, check_variable, may_fork};
use crate::journal::new_id;
use crate::repeat::RepeatChange;

/// Where a run is cut, and what is different in the copy.
#[derive(Clone, Debug, Default)]
pub struct ForkOrder {
    /// How many events are copied.
    pub at: u64,
    /// Another goal.
    pub goal: Option<String>,
    /// What the user says first in the copy.
    pub message: Option<String>,
    /// Another model, for all agents.
    pub model: Option<String>,
    /// Variables with other values.
    pub variables: Vec<(String, Value)>,
    /// The id of the copy, if it must have a certain one.
    pub to: Option<RunId>,
}

/// How a run is repeated.
#[derive(Clone, Debug, Default)]
pub struct RepeatOrder {
    /// Steps that are carried out again in any case, and what depends on them.
    pub again: Vec<StepId>,
    /// Another goal: the planner changes the plan.
    pub goal: Option<String>,
    /// Another model; steps that used another are carried out again.
    pub model: Option<String>,
    /// What steps got from the web and from servers is kept, although it may be outdated.
    pub keep_web: bool,
    /// The id of the repetition, if it must have a certain one.
    pub to: Option<RunId>,
}

/// What can be different in a copy of a run.
#[derive(Clone, Debug)]
pub struct ForkChoices {
    /// The goal.
    pub goal: String,
    /// The user's message that the last copied event is, if it is one: a copy that is cut before it can get another.
    pub message: Option<String>,
    /// The model.
    pub model: String,
    /// The results that steps to come will read, with their values.
    pub variables: Vec<(String, Value)>,
}

impl LiveRuns {
    /// What can be different in a copy that is cut after an event. Blocks on the disk.
    pub fn fork_choices(&self, run: &str, at: u64) -> Result<ForkChoices, Fault> {
        let from = self.find(run)?;
        may_fork(self.journal(), &from, at)?;
        let message = self.events(&from, at, 1)?.into_iter().find_map(|numbered| match numbered.event {
            Event::Told { message } => Some(message),
            _ => None,
        });
        let copied = self.engine().as_it_stood(&from, at)?;
        let is_open = |name: &str| check_variable(&copied, &from, name).is_ok();
        let variables = copied.variables().iter().filter(|(name, _)| is_open(name));
        Ok(ForkChoices {
            goal: copied.goal().own_words().to_owned(),
            message,
            model: copied.settings().model.clone(),
            variables: variables.map(|(name, variable)| (name.clone(), (*variable.value).clone())).collect(),
        })
    }

    /// Starts a copy of a run's first events.
    pub async fn fork(&self, run: &str, order: ForkOrder) -> Result<RunId, Fault> {
        let ForkOrder { at, goal, message, model, variables, to } = order;
        let from = self.find(run)?;
        let (journal, cut) = (self.journal().clone(), from.clone());
        blocking(move || may_fork(&journal, &cut, at)).await?;
        let source = self.load(&from).await?;
        if source.is_imported() {
            return Err(Fault::usage(format!("run {from} was imported, and has not been adopted yet"))
                .hint(format!("`updraft resume {from} --workspace DIR --mode workspace` adopts it")));
        }
        let flags = self.flags_for(&source).await?;
        let approvals = flags.approvals;
        let bench = self.bench_for(&source, flags)?;
        let to = to.map_or_else(new_id, Ok)?;
        let (engine, cut) = (self.engine().clone(), from.clone());
        let stood = blocking(move || Ok(Box::new(engine.as_it_stood(&cut, at)?))).await?;
        let goal = changed(goal, stood.goal().own_words());
        let model = changed(model, &stood.settings().model);
        let fork = Fork { from, at, to: to.clone(), model, goal, variables, stays: false };
        let mut then = vec![Input::Resume { budget: None, approvals }];
        then.extend(message.filter(|text| !text.trim().is_empty()).map(|message| Input::Tell { message }));
        let handle = Box::pin(bench.fork(fork, then)).await?;
        self.drive_on(handle, Some(bench));
        Ok(to)
    }

    /// Repeats a run that has ended.
    pub async fn rerun(&self, run: &str, order: RepeatOrder) -> Result<RunId, Fault> {
        let RepeatOrder { again, goal, model, keep_web, to } = order;
        let of = self.find(run)?;
        let old = self.load(&of).await?;
        if !old.is_over() {
            return Err(Fault::usage(format!("run {of} has not ended; it is {}", old.status())));
        }
        if old.is_imported() {
            return Err(Fault::usage(format!("run {of} was imported; its model, folder and commands are not yours")));
        }
        let goal = goal.filter(|goal| !goal.trim().is_empty());
        let model = model.unwrap_or_else(|| old.settings().model.clone());
        let flags = Flags { model: Some(model), ..self.flags_for(&old).await? };
        let mut bench = self.bench_for(&old, flags)?;
        if goal.is_some() && bench.is_plan_first(&old) {
            bench.hold_to_reading();
        }
        let web = if keep_web { WebResults::Kept } else { WebResults::Renewed };
        let change = RepeatChange { goal, again, web, ..RepeatChange::default() };
        let mut repeat = Box::pin(bench.repeat(&of, change)).await?;
        bench.check(&repeat.new, Vec::new())?;
        OrderFace::Page.word().clone_into(&mut repeat.new.goal.door);
        let id = to.map_or_else(new_id, Ok)?;
        let handle = Box::pin(bench.start(id.clone(), repeat.new)).await?;
        self.drive_on(handle, Some(bench));
        Ok(id)
    }
}

/// A text, if it says something else than before.
fn changed(text: Option<String>, before: &str) -> Option<String> {
    text.filter(|text| !text.trim().is_empty() && text.trim() != before.trim())
}
