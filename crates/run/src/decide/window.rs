//! What is known about the size of a model's context window: it was told, a refusal stated it, or the server left out
//! part of a prompt without a word.

use crate::event::Event;
use crate::id::{EffectAddress, EffectKind, StepId};
use crate::message::ModelAnswer;
use crate::reply::Reply;
use crate::shown::WindowSource;
use crate::state::Run;
use crate::step::{ConversationEntry, Step};

/// Tokens of a window of which nothing is known.
const UNKNOWN_WINDOW: u64 = 128_000;
/// So many bytes more must show in the tokens that a server counts.
const MIN_GROWTH_BYTES: u64 = 2_000;

impl Run {
    /// The context window of a step's model in tokens; a usual one if nothing is known of it.
    pub fn window_of(&self, step: &StepId) -> u64 {
        self.known_window_of(step).unwrap_or(UNKNOWN_WINDOW)
    }

    /// The context window of a step's model, if it was told or learnt.
    pub fn known_window_of(&self, step: &StepId) -> Option<u64> {
        let model = self.model_of(step);
        let at_start = self.settings.window.filter(|_| *model == *self.settings.model);
        self.windows.get(model).copied().or(at_start).filter(|window| *window > 0)
    }

    /// What is decided when the size of a model's window is found out. A refusal counts more than what was told.
    pub(super) fn hear_window(&self, model: &str, tokens: u64, by: WindowSource) -> Vec<Event> {
        let known = self.windows.get(model).copied();
        let is_news = match by {
            WindowSource::Told => known.is_none(),
            WindowSource::Refusal | WindowSource::Silence => known.is_none_or(|known| tokens < known),
        };
        if !is_news || tokens == 0 {
            return Vec::new();
        }
        vec![Event::WindowLearnt { model: model.to_owned(), tokens, by }]
    }

    /// Some servers drop the beginning of a prompt that is longer than their window, and say nothing. It shows in what they
    /// count: the prompt has grown, and its tokens have not.
    pub(super) fn hear_silence(&self, id: &EffectAddress, reply: &Reply) -> Vec<Event> {
        let (EffectKind::Ask, Reply::Answer(answer)) = (id.kind, reply) else { return Vec::new() };
        let shifted = self.step(&id.step).and_then(|step| tokens_before_shift(step, answer));
        shifted.map_or_else(Vec::new, |tokens| self.hear_window(self.model_of(&id.step), tokens, WindowSource::Silence))
    }
}

/// How many tokens the prompt before this one had, if the server has dropped the beginning of this one.
fn tokens_before_shift(step: &Step, answer: &ModelAnswer) -> Option<u64> {
    let last = step.size.filter(|last| last.input > 0 && !answer.usage.estimated)?;
    // After words of a person, templates leave out earlier thoughts.
    if !matches!(step.conversation.last(), Some(ConversationEntry::Results(_))) {
        return None;
    }
    let growth = step.conversation_bytes().checked_sub(last.bytes).filter(|growth| *growth >= MIN_GROWTH_BYTES)?;
    // Fewer than a quarter: the server found most of it in its cache and left that out.
    let is_whole = answer.usage.input >= last.input / 4;
    (is_whole && answer.usage.input < last.input + growth / 20).then_some(last.input)
}
