//! What a step may use: its model and its turns, and which steps have stopped because they ran out.

use crate::goal::RunMode;
use crate::graph::{StepSpec, Tries};
use crate::id::StepId;
use crate::reply::Failure;
use crate::state::Run;
use crate::step::Step;

impl Run {
    /// The model that a step uses: the one that the plan names, its agent's, or the run's.
    pub fn model_of(&self, step: &StepId) -> &str {
        self.step(step).map_or(&*self.settings.model, |step| self.model_for(&step.spec))
    }

    /// The model that a step uses if it is planned like this.
    pub fn model_for(&self, spec: &StepSpec) -> &str {
        if matches!(spec.tries.as_deref(), Some(Tries::Choice { tests: Some(_), .. })) {
            // Tests choose, so no model has to: the one that is built in calls the tools.
            return "builtin";
        }
        let named = spec.model.as_ref().and_then(|name| self.settings.models.get(name));
        let own = || self.card(&spec.agent).and_then(|card| card.model.as_ref());
        let chosen = named.or_else(own).filter(|_| !self.settings.same_model);
        chosen.unwrap_or(&self.settings.model)
    }

    /// The steps that cannot continue until the run is resumed, and why.
    pub fn halted(&self) -> impl Iterator<Item = (&Step, &Failure)> {
        self.steps().filter_map(|step| Some((step, step.halted.as_ref()?)))
    }

    /// How many turns a visit of the step may take.
    pub fn turns_of(&self, step: &Step) -> u32 {
        let own = self.card(&step.spec.agent).and_then(|card| card.turns);
        let usual = match self.goal.mode {
            RunMode::Agent(_) => self.settings.query_turns,
            RunMode::Plan | RunMode::Swarm | RunMode::Given => self.settings.turns,
        };
        own.unwrap_or(usual).max(self.settings.least_turns.unwrap_or(1)).max(1)
    }
}
