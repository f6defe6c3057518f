//! What a step may use: its model and its turns, and which steps have stopped because they ran out.

use crate::goal::RunMode;
use crate::id::StepId;
use crate::reply::Failure;
use crate::state::Run;
use crate::step::Step;

impl Run {
    /// The model that a step's agent uses.
    pub fn model_of(&self, step: &StepId) -> &str {
        let card = self.step(step).and_then(|step| self.card(&step.spec.agent));
        let own = card.and_then(|card| card.model.as_deref());
        own.filter(|_| !self.settings.same_model).unwrap_or(&self.settings.model)
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
