//! Decides which results of a repeated run are kept: those of steps that would be asked the same again.

use crate::earlier_runs::{KeptResult, RepeatedRun};
use crate::event::Event;
use crate::goal::RunMode;
use crate::requirement::Check;
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
        // What it read is not in this run's journal, so that citations of it could not be checked.
        let must_cite = self.proof.requirements.iter().any(|one| one.check == Check::Citations);
        if must_cite && kept.used_tools {
            return None;
        }
        let is_about_it = self.goal.text != repeated.goal && self.depends_on_goal(step);
        let is_same = !is_about_it && self.are_same(&kept.spec.reads, repeated);
        (is_same && !self.has_changed_before(step, kept, repeated)).then_some(kept)
    }

    /// Whether another goal may change the result of a step whose task stayed the same. The planner is asked to change
    /// every task that the new goal concerns. Beyond that, the goal counts where it is the task itself, and for the last
    /// steps, which answer it.
    fn depends_on_goal(&self, step: &Step) -> bool {
        let is_without_task = step.spec.prompt.trim().is_empty() && step.spec.description.trim().is_empty();
        let is_last = self.dependants(step).all(|next| self.is_review(next) || next.role != StepRole::Work);
        is_without_task || is_last || matches!(self.goal.mode, RunMode::Agent(_))
    }

    fn are_same(&self, names: &[String], repeated: &RepeatedRun) -> bool {
        let value = |name: &String| self.variables.get(name).map(|variable| &*variable.value);
        names.iter().all(|name| value(name) == repeated.variables.get(name))
    }

    /// Whether something was carried out in this run that may have changed what this step is told or reads: a step
    /// right before it gave another result, or one somewhere before it changed something and this one used tools.
    fn has_changed_before(&self, step: &Step, kept: &KeptResult, repeated: &RepeatedRun) -> bool {
        let is_carried_out = |other: &&Step| other.role == StepRole::Work && !self.is_kept(&other.spec.id);
        let gives_another = |other: &Step| {
            let output = repeated.outputs.get(&other.spec.id);
            let is_same_output = output.is_some_and(|output| other.output.as_deref() == Some(output));
            if other.spec.writes.is_empty() { !is_same_output } else { !self.are_same(&other.spec.writes, repeated) }
        };
        let mut actors = self.steps().filter(is_carried_out).filter(|other| kept.used_tools && other.has_acted);
        self.before(step).filter(is_carried_out).any(gives_another)
            || actors.any(|other| self.leads_to(other, &step.spec.id))
    }
}
