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
        // Guardrails may have changed since, and look at every result.
        if step.role != StepRole::Work || step.visit > 0 || !self.settings.guards.is_empty() {
            return None;
        }
        let kept = repeated.results.iter().find(|kept| kept.spec == *step.spec)?;
        let is_same = self.goal.text == repeated.goal && self.are_same(&kept.spec.reads, repeated);
        (is_same && !self.has_changed_before(step, repeated)).then_some(kept)
    }

    fn are_same(&self, names: &[String], repeated: &RepeatedRun) -> bool {
        let value = |name: &String| self.variables.get(name).map(|variable| &*variable.value);
        names.iter().all(|name| value(name) == repeated.variables.get(name))
    }

    /// Whether something was carried out in this run that may have changed what this step is told or reads: a step
    /// somewhere before it used tools, or the result of one right before it is not certainly the same.
    fn has_changed_before(&self, step: &Step, repeated: &RepeatedRun) -> bool {
        let is_carried_out = |other: &&Step| other.role == StepRole::Work && !self.is_kept(&other.spec.id);
        let may_differ = |other: &Step| {
            let writes = &other.spec.writes;
            writes.is_empty() || !self.are_same(writes, repeated)
        };
        let mut others = self.steps().filter(is_carried_out);
        self.before(step).filter(is_carried_out).any(may_differ)
            || others.any(|other| other.actions.is_some() && self.leads_to(other, &step.spec.id))
    }
}
