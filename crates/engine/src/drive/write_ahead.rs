//! Begins the effects whose `Begun` must be on disk first: calls that may not be repeated, model calls with a known price
//! and no reservation (with one, `Reserved` is on disk already), model calls that are asked again, and all model calls of
//! a run kept elsewhere.

use std::sync::Arc;

use updraft_journal::Blob;
use updraft_run::{Ceiling, Cost, EffectAddress, EffectFacts, Funds, Input, ToolCall};

use super::RunDriver;
use crate::Error;
use crate::ask_model;
use crate::effects::{DeltaListener, ModelCallSetup};
use crate::outage::{ModelRenewal, RenewableModel};

/// An effect that may begin once its beginning is on disk.
pub(super) enum WriteAheadEffect {
    /// A call that may not simply be made again.
    Call(EffectAddress, ToolCall),
    /// A question that may be billed, and what is known as it begins.
    Question(EffectAddress, EffectFacts, ModelQuestion),
}

/// A question to a model.
pub(super) enum ModelQuestion {
    /// The next turn of an agent.
    Own(Box<ModelCallSetup>),
    /// A question that an agent asks another model.
    Anothers { model: RenewableModel, question: Box<ask_model::ConsultRequest>, hear: DeltaListener },
}

impl RunDriver {
    /// The most a question can use, if no budget has reserved it and it may be billed.
    pub(super) fn unreserved(&self, id: &EffectAddress, ceiling: impl FnOnce() -> Ceiling) -> Option<Ceiling> {
        let is_reserved = self.run.open().get(id).is_some_and(|open| matches!(open.funds, Funds::Reserved(_)));
        if is_reserved { None } else { Some(ceiling()).filter(|ceiling| ceiling.cost != Some(Cost(0))) }
    }

    /// Asks a question, or returns it if its beginning must be on disk first: its price is known and it may be billed,
    /// or it is a repeated attempt, or the run's home is elsewhere. For other questions, `Begun` is written with the next
    /// append, because they may be asked again.
    pub(super) fn begin_model_call(
        &mut self,
        id: &EffectAddress,
        facts: EffectFacts,
        question: ModelQuestion,
    ) -> Option<WriteAheadEffect> {
        let attempt = self.attempt(id);
        let has_price = facts.ceiling.as_ref().is_some_and(|ceiling| ceiling.cost.is_some());
        if has_price || attempt > 1 || self.is_elsewhere() {
            return Some(WriteAheadEffect::Question(id.clone(), facts, question));
        }
        self.unwritten
            .deferred_inputs
            .push(Input::Begun { id: id.clone(), attempt, epoch: self.position.lease.epoch(), facts }.into());
        self.send(id.clone(), attempt, question);
        None
    }

    /// Records in one append that these effects begin, and begins them.
    pub(super) async fn record_and_begin(&mut self, all: Vec<WriteAheadEffect>) -> Result<(), Error> {
        if all.is_empty() {
            return Ok(());
        }
        let epoch = self.position.lease.epoch();
        let mut begun = std::mem::take(&mut self.unwritten.deferred_inputs);
        let (mut calls, mut questions) = (Vec::new(), Vec::new());
        for one in all {
            let (id, attempt, facts) = match one {
                WriteAheadEffect::Call(id, call) => {
                    let workspace = self.run.workspace_of(&id.step);
                    let facts = self.engine.performer.facts(&workspace, &call).await;
                    let previous = self.engine.performer.previous_contents(&workspace, &call).await;
                    self.unwritten.blobs.extend(previous.into_iter().map(Blob::new));
                    calls.push((id.clone(), call));
                    let attempt = self.attempt(&id);
                    (id, attempt, facts)
                }
                WriteAheadEffect::Question(id, facts, question) => {
                    let attempt = self.attempt(&id);
                    questions.push((id.clone(), attempt, question));
                    (id, attempt, facts)
                }
            };
            begun.push(Input::Begun { id, attempt, epoch, facts }.into());
        }
        let then = self.both_clocks();
        let (records, handled) = self.decide(begun).await?;
        self.append(records, handled).await?;
        if self.is_elsewhere() {
            self.confirm_since(then).await?;
            // Others may have sent something in between, such as a cancel.
            calls.retain(|(id, _)| self.has_just_begun(id));
            questions.retain(|(id, _, _)| self.has_just_begun(id));
        }
        for (id, call) in calls {
            self.call(id, call);
        }
        for (id, attempt, question) in questions {
            self.send(id, attempt, question);
        }
        Ok(())
    }

    /// Whether an effect is recorded as begun, and may still go on.
    fn has_just_begun(&self, id: &EffectAddress) -> bool {
        self.run.phase_allows(id) && self.run.open().get(id).is_some_and(|open| open.begun.is_some())
    }

    /// Sets a model up again, for the case that its key was refused and has changed since.
    pub(super) fn renewal_of(&self, model: &str) -> ModelRenewal {
        let (performer, name) = (Arc::clone(&self.engine.performer), model.to_owned());
        Box::new(move |refused| performer.renewed_model(&name, refused))
    }

    fn send(&mut self, id: EffectAddress, attempt: u32, question: ModelQuestion) {
        match question {
            ModelQuestion::Own(asking) => self.work.effects.ask(id, attempt, *asking),
            ModelQuestion::Anothers { model, question, hear } => {
                self.work.effects.ask_other_model(id, attempt, model, *question, hear);
            }
        }
    }
}
