//! Decides which results of a repeated run are kept: those of steps that would be asked the same again.

use crate::earlier_runs::{KeptResult, RepeatedRun};
use crate::event::Event;
use crate::state::Run;
use crate::step::{Step, StepRole};

impl Run {
    /// The events that give a step the result it had in the run that is repeated; `None` if it must be carried out.
    pub(super) fn keep(&self, at: usize) -> Option<Vec<Event>> {
        let (step, repeated) = (&self.steps[at], self.plan.earlier.repeated.as_ref()?);
        let kept = self.kept_result(step, repeated)?;
        let id = &step.spec.id;
        let wrote = kept.wrote.iter().map(|(name, value)| Event::Wrote {
            step: id.clone(),
            name: name.clone(),
            value: value.clone(),
            untrusted: !kept.origins.is_empty(),
            origins: kept.origins.clone(),
        });
        let done = Event::StepDone {
            step: id.clone(),
            best_effort: false,
            output: kept.output.clone(),
            kept_from: Some(repeated.of.clone()),
        };
        Some(wrote.chain([done]).collect())
    }

    fn kept_result<'a>(&self, step: &Step, repeated: &'a RepeatedRun) -> Option<&'a KeptResult> {
        if step.role != StepRole::Work || step.visit > 0 {
            return None;
        }
        let kept = repeated.results.iter().find(|kept| kept.spec == *step.spec)?;
        let is_same =
            |name: &String| self.variables.get(name).map(|variable| &*variable.value) == repeated.variables.get(name);
        let is_moved = kept.used_tools && self.has_changed_before(step);
        (kept.spec.reads.iter().all(is_same) && !is_moved).then_some(kept)
    }

    /// Whether a step that comes before this one was carried out in this run and used tools: it may have changed what
    /// this step reads.
    fn has_changed_before(&self, step: &Step) -> bool {
        let used_tools = |other: &&Step| other.role == StepRole::Work && other.actions.is_some();
        self.steps().filter(used_tools).any(|other| self.leads_to(other, &step.spec.id))
    }
}
