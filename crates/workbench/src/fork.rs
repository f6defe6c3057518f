//! Forking: a new run that begins with the first events of another.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use serde_json::Value;
use updraft_engine::RunHandle;
use updraft_journal::Journal;
use updraft_models::choose;
use updraft_run::{ForkChange, Input, Run, RunId, RunMode, RunSettings, Step, StepRole};

use crate::adopt::may_be_cut;
use crate::fault::{Fault, blocking};
use crate::servers::WantedTools;
use crate::workbench::Workbench;
use crate::{model_access, tools};

/// The model of an imported run that has ended: the real one is not known, and no model will be called.
pub const UNKNOWN_MODEL: &str = "imported";

/// A request to fork a run.
#[derive(Clone, Debug)]
pub struct Fork {
    /// The run that is copied.
    pub from: RunId,
    /// How many of its events are copied.
    pub at: u64,
    /// The id of the copy.
    pub to: RunId,
    /// Another model, for all agents.
    pub model: Option<String>,
    /// Another goal.
    pub goal: Option<String>,
    /// Variables with other values.
    pub variables: Vec<(String, Value)>,
    /// Only writes the copy to the journal, without continuing it.
    pub stays: bool,
}

impl Workbench {
    /// Forks a run. If the copy is to continue, it is sent its sandbox terms, the rules that were added since, and
    /// `then`. The workbench must have been opened for the run that is copied.
    pub async fn fork(&self, fork: Fork, then: Vec<Input>) -> Result<RunHandle, Fault> {
        let Fork { from, at, to, model, goal, variables, stays } = fork;
        let journal = self.journal()?;
        let (source, copied) = (journal.clone(), from.clone());
        let copied = blocking(move || Ok(Box::new(first_events(&source, &copied, at)?))).await?;
        let mut inputs = Vec::new();
        if !stays {
            // The record that is cut may contain the end of the original run, which the copy does not have.
            inputs.extend(self.resume_terms_input(&copied).await?);
        }
        let equipment = self.equipment(WantedTools::All).await?;
        if !variables.is_empty() {
            let (engine, source) = (equipment.engine.clone(), from.clone());
            let stood = blocking(move || Ok(Box::new(engine.as_it_stood(&source, at)?))).await?;
            variables.iter().try_for_each(|(name, _)| check_variable(&stood, &from, name))?;
        }
        let unknown = (copied.settings().model == UNKNOWN_MODEL).then(|| self.settings.effective.model.value.clone());
        let settings = match model.or(unknown) {
            Some(model) => {
                let model = choose(&model_access::model_spec(&model), &self.access).await?.spec;
                Some(Arc::new(RunSettings { model, same_model: true, ..(**copied.settings()).clone() }))
            }
            None => None,
        };
        let settings = if copied.steps().any(|step| step.spec.tries.is_some()) {
            // The candidates of the copy do not share folders with those of the original.
            let settings = settings.unwrap_or_else(|| Arc::clone(copied.settings()));
            Some(Arc::new(RunSettings { copies: tools::copies_of(&self.folders, &to), ..(*settings).clone() }))
        } else {
            settings
        };
        let engine = if stays {
            // An engine that is told to stop only writes what it is given, and starts nothing.
            let stop = self.callbacks.stop.child_token();
            stop.cancel();
            &self.engine_over(&equipment.dispatcher, stop)?
        } else {
            &equipment.engine
        };
        let change = ForkChange { settings, goal, variables: variables.into_iter().collect() };
        let mut handle = engine.fork(&from, at, to, change).await?;
        if !stays {
            inputs.push(self.tighten(equipment));
            inputs.into_iter().chain(then).for_each(|input| handle.send(input));
        }
        Ok(handle)
    }
}

/// Refuses an event number that the run does not have, or at which it must not be cut.
pub fn may_fork(journal: &Journal, from: &RunId, at: u64) -> Result<(), Fault> {
    let events = journal.head(from)?.events;
    if at == 0 || at > events {
        return Err(Fault::usage(format!("run {from} has {events} events; --at {at} is not among them"))
            .hint(format!("`updraft events {from}` lists them with their numbers")));
    }
    may_be_cut(journal, from, at)
}

/// The run as it was after its first `at` events.
fn first_events(journal: &Journal, from: &RunId, at: u64) -> Result<Run, Fault> {
    let mut run = Run::default();
    journal.read(from, 0, &mut |first, record| {
        if first > at {
            return ControlFlow::Break(());
        }
        run.record(&record);
        ControlFlow::Continue(())
    })?;
    Ok(run)
}

/// Refuses a variable that no remaining step reads, or that a step would overwrite first.
pub(crate) fn check_variable(copied: &Run, from: &RunId, name: &str) -> Result<(), Fault> {
    if !copied.steps().any(|step| step.role == StepRole::Work) {
        return Ok(());
    }
    let earlier = || format!("fork at an earlier event: `updraft events {from}` shows the numbers");
    let reads = |step: &Step| step.spec.reads.iter().any(|known| known == name);
    let reads_all = matches!(copied.goal().mode, RunMode::Agent(_));
    let mut to_come = copied.steps().filter(|step| !step.has_begun() && !step.has_ended());
    if !to_come.any(|step| reads_all || reads(step)) {
        let is_read = copied.steps().any(reads);
        let why = if is_read { "the steps that read it have already begun" } else { "no step of the plan reads it" };
        let fault = Fault::usage(format!("--set {name} would change nothing: {why}"));
        return Err(if is_read { fault.hint(earlier()) } else { fault.hint(variables_read(copied)) });
    }
    let writes = |step: &&Step| !step.has_ended() && step.spec.writes.iter().any(|known| known == name);
    if let Some(writer) = copied.steps().find(writes) {
        let id = &writer.spec.id;
        return Err(Fault::usage(format!("--set {name} would be overwritten: step `{id}` writes it later"))
            .hint(format!("fork after step `{id}` is done: `updraft events {from}` shows the numbers")));
    }
    Ok(())
}

fn variables_read(copied: &Run) -> String {
    let names: BTreeSet<&str> = copied.steps().flat_map(|step| &step.spec.reads).map(String::as_str).collect();
    let names: Vec<&str> = names.into_iter().collect();
    if names.is_empty() { "its steps read no variables".to_owned() } else { format!("they read: {}", names.join(", ")) }
}
