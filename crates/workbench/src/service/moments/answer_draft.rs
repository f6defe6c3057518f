//! Whether what a model is writing will be the answer of its run, as far as the journal tells beforehand.

use updraft_run::{
    AgentCard, AgentRole, ConversationEntry, EffectAddress, EffectKind, Note, ReflectionMode, Run, RunPhase, Step,
    StepRole, StepState,
};

/// A question whose answer becomes the answer of the run, unless the model calls tools or something is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerDraft {
    /// The question.
    pub address: EffectAddress,
    /// Which attempt at it.
    pub attempt: u32,
    /// Whether the model may call tools after some words.
    pub may_call: bool,
    /// Whether citations in it are compared with what tools returned, and perhaps marked.
    pub has_sources: bool,
}

impl AnswerDraft {
    /// What a model is writing now, if everything else in the run is done and its text is taken as it is.
    pub(super) fn of(run: &Run) -> Option<Self> {
        let mut open = run.open().iter();
        let (Some((address, effect)), None) = (open.next(), open.next()) else { return None };
        // That it has begun is in the journal only if it may be billed.
        if address.kind != EffectKind::Ask || *run.phase() != RunPhase::Running {
            return None;
        }
        let step = run.step(&address.step)?;
        let card = run.roster().agent(&step.spec.agent)?;
        if !is_last(run, step) || !is_taken_as_it_is(run, step, card) {
            return None;
        }
        Some(Self {
            address: address.clone(),
            attempt: effect.attempt,
            may_call: !card.tools.is_empty(),
            has_sources: run.steps().any(|step| step.actions.is_some()),
        })
    }
}

/// Whether only this step is left, and its result will be the whole answer.
fn is_last(run: &Run, step: &Step) -> bool {
    let is_over = |other: &Step| {
        other.spec.id == step.spec.id
            || (other.has_ended() && (other.superseded || !matches!(other.state, StepState::Failed(_))))
    };
    let is_used = |done: &&Step| run.dependants(done).any(|next| next.spec.id == step.spec.id);
    run.steps().all(is_over) && run.answering_steps().iter().all(is_used)
}

/// Whether nobody but the rules looks at its text, and the rules change nothing in it.
fn is_taken_as_it_is(run: &Run, step: &Step, card: &AgentCard) -> bool {
    // The rest of an answer that was cut off is only a part.
    let is_continued = matches!(step.conversation.last(), Some(ConversationEntry::Note(Note::CutOff)));
    step.role == StepRole::Work
        && step.spec.writes.len() <= 1
        && card.schema.is_none()
        && card.reflect == ReflectionMode::Rule
        && card.role() != AgentRole::Chooser
        && !run.is_review(step)
        && !run.settings().guards.output
        && run.proof().requirements.is_empty()
        && !is_continued
}
