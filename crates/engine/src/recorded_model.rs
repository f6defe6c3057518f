//! Turns the recorded answers of a run into a model that gives them again.

use std::ops::ControlFlow;

use updraft_journal::Journal;
use updraft_models::{AnswerPlace, RecordedModel};
use updraft_run::{ConversationEntry, EffectKind, Event, ModelAnswer, Record, Reply, Run, RunId, Step};

use crate::Error;

/// A model that repeats the answers of this run, each at its address.
pub fn recorded(journal: &Journal, id: &RunId) -> Result<RecordedModel, Error> {
    let mut run = Run::default();
    let mut answers: Vec<(AnswerPlace, ModelAnswer)> = Vec::new();
    journal.read(id, 0, &mut |_, record: Record| {
        run.pass(&record);
        for event in &record.events {
            if let Event::Replied { id, reply: Reply::Answer(answer), .. } = event
                && let Some(step) = run.step(&id.step)
            {
                let place = AnswerPlace {
                    agent: step.spec.agent.clone(),
                    step: id.step.to_string(),
                    visit: id.visit,
                    turn: if id.kind == EffectKind::Judge { 0 } else { spoken(step) },
                    kind: id.kind,
                };
                answers.push((place, (**answer).clone()));
            }
            run.apply(event);
        }
        ControlFlow::Continue(())
    })?;
    Ok(RecordedModel::new(id.as_str(), answers))
}

/// How many answers of the model were in its conversation so far.
fn spoken(step: &Step) -> usize {
    step.conversation.iter().filter(|entry| matches!(entry, ConversationEntry::Answer(_))).count()
}
