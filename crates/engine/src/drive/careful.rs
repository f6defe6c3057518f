//! Effects whose beginning is on disk before they touch the world: calls that may not be made twice, and questions that
//! somebody may bill.

use std::sync::Arc;

use updraft_journal::Blob;
use updraft_run::{Ceiling, Cost, EffectAddress, EffectFacts, Funds, Input, ToolCall};

use super::RunDriver;
use crate::Error;
use crate::consult;
use crate::effects::{DeltaListener, ModelCallSetup};
use crate::outage::{ModelRenewal, RenewableModel};

/// An effect that is to begin once that is on disk.
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
    /// One that an agent puts to another model.
    Anothers { model: RenewableModel, question: Box<consult::ConsultRequest>, hear: DeltaListener },
}

impl RunDriver {
    /// The most that a question can use, where no budget has reserved it and somebody may bill it.
    pub(super) fn unreserved(&self, id: &EffectAddress, ceiling: impl FnOnce() -> Ceiling) -> Option<Ceiling> {
        let is_reserved = self.run.open().get(id).is_some_and(|open| matches!(open.funds, Funds::Reserved(_)));
        if is_reserved { None } else { Some(ceiling()).filter(|ceiling| ceiling.cost != Some(Cost(0))) }
    }

    /// Puts a question, or gives it back where its beginning must be on disk first: its price is known and may be billed, or
    /// it is put once more. That others began rides with the next append, since they may be put again.
    pub(super) fn put(
        &mut self,
        id: &EffectAddress,
        facts: EffectFacts,
        question: ModelQuestion,
    ) -> Option<WriteAheadEffect> {
        let attempt = self.attempt(id);
        let has_price = facts.ceiling.as_ref().is_some_and(|ceiling| ceiling.cost.is_some());
        if has_price || attempt > 1 {
            return Some(WriteAheadEffect::Question(id.clone(), facts, question));
        }
        self.unwritten
            .riding
            .push(Input::Begun { id: id.clone(), attempt, epoch: self.position.lease.epoch(), facts }.into());
        self.send(id.clone(), attempt, question);
        None
    }

    /// Writes down that these begin, in one append, and begins them.
    pub(super) async fn begin_careful(&mut self, all: Vec<WriteAheadEffect>) -> Result<(), Error> {
        if all.is_empty() {
            return Ok(());
        }
        let workspace = self.run.settings().workspace.clone();
        let epoch = self.position.lease.epoch();
        let mut begun = std::mem::take(&mut self.unwritten.riding);
        let (mut calls, mut questions) = (Vec::new(), Vec::new());
        for one in all {
            let (id, attempt, facts) = match one {
                WriteAheadEffect::Call(id, call) => {
                    let facts = self.engine.hands.facts(&workspace, &call).await;
                    let images = self.engine.hands.images(&workspace, &call).await;
                    self.unwritten.blobs.extend(images.into_iter().map(Blob::new));
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
        let (records, handled) = self.decide(begun);
        self.append(records, handled).await?;
        for (id, call) in calls {
            self.call(id, call);
        }
        for (id, attempt, question) in questions {
            self.send(id, attempt, question);
        }
        Ok(())
    }

    /// Sets a model up again, should its key be refused and be another one by then.
    pub(super) fn renewal_of(&self, model: &str) -> ModelRenewal {
        let (hands, name) = (Arc::clone(&self.engine.hands), model.to_owned());
        Box::new(move |refused| hands.renewed_model(&name, refused))
    }

    fn send(&mut self, id: EffectAddress, attempt: u32, question: ModelQuestion) {
        match question {
            ModelQuestion::Own(asking) => self.work.effects.ask(id, attempt, *asking),
            ModelQuestion::Anothers { model, question, hear } => {
                self.work.effects.consult(id, attempt, model, *question, hear);
            }
        }
    }
}
