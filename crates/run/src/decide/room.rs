//! Decides what of a conversation its model is shown, so that it fits into the model's context window.
//!
//! There is one measure, the window. The outputs of a turn take a quarter of it at most. When four fifths are used, old
//! outputs give way to their names, at least a third of the window at once: each change of what the model has been shown
//! costs the provider's cache. If they are too few, the model summarises the older turns.

use std::collections::BTreeMap;

use crate::conversation_size::bytes_shown;
use crate::effect::Effect;
use crate::event::Event;
use crate::goal::SMALL_WINDOW;
use crate::id::EffectKind;
use crate::message::FinishReason;
use crate::reply::{Failure, FailureKind, Reply};
use crate::shown::{Shortening, ShownPart, WindowSource};
use crate::state::Run;
use crate::step::{ConversationEntry, Step, StepState, ToolCallOutcome, TurnResults};

/// From shorter prompts nothing is learnt: no model has so small a window, so they were counted wrongly.
const MIN_LEARNT_WINDOW: u64 = 1_024;
/// Most bytes of one output that a small model is shown: long ones confuse it.
const MAX_SMALL_OUTPUT_BYTES: u64 = 2 << 10;
/// An output of which no more than this fits is not cut: only its name is shown.
const MIN_SHOWN_BYTES: u64 = 400;
/// Bytes of a replaced answer that a summary without a model quotes.
const MAX_QUOTED_BYTES: usize = 300;

impl Run {
    /// What comes before the next question so that it fits: outputs are shortened, or a summary is asked for. Nothing if
    /// it fits, or if nothing can be done.
    pub(super) fn make_room(&self, step: &Step, turn: u32) -> Option<Vec<Event>> {
        if let Some(outputs) = self.too_long_together(step) {
            return Some(shortened(step, Shortening::Turn, outputs));
        }
        let (window, scale) = (self.window_of(&step.spec.id), step.scale());
        let expected = step.expected_tokens()?;
        if !self.is_too_long(window, expected) {
            return None;
        }
        let old = self.old_entries(step);
        let outputs = nameable(step, old);
        if scale.in_tokens(freed_by(step, &outputs)) >= window / 3 {
            return Some(shortened(step, Shortening::Window, outputs));
        }
        let has_turns = turns_in(&step.conversation[..old]) > 0;
        has_turns.then(|| self.want_summary(step, turn))
    }

    /// A question was refused because it is longer than the window. `None` if it was not a turn or a summary of one.
    pub(super) fn after_refused_length(&self, step: &Step, why: &Failure) -> Option<Vec<Event>> {
        let (StepState::Thinking { turn } | StepState::Compacting { turn }) = step.state else { return None };
        let window = self.window_of(&step.spec.id);
        let expected = step.expected_tokens().unwrap_or_else(|| step.scale().in_tokens(step.asked_bytes));
        let model = self.model_of(&step.spec.id).to_owned();
        let learnt = Event::WindowLearnt { model, tokens: expected / 10 * 9, by: WindowSource::Refusal };
        let is_smaller = window > expected / 20 * 19 && expected >= MIN_LEARNT_WINDOW;
        // What is known of the window is believed unless the prompt comes near it, or nothing else helps.
        let is_near = self.known_window_of(&step.spec.id).is_none_or(|known| expected >= known / 2);
        if is_smaller && is_near {
            return Some(vec![learnt]);
        }
        let old = self.old_entries(step);
        let mut outputs = nameable(step, old);
        outputs.extend(self.shorter(step, old));
        let freed = step.scale().in_tokens(freed_by(step, &outputs));
        let has_turns = turns_in(&step.conversation[..old]) > 0;
        if freed > 0 {
            let fits = !self.is_too_long(window, expected.saturating_sub(freed));
            let next = if fits || !has_turns { self.ask(step, turn + 1) } else { self.want_summary(step, turn) };
            let shortened = shortened(step, Shortening::Refusal, outputs);
            return Some(shortened.into_iter().chain(next).collect());
        }
        if is_smaller {
            return Some(vec![learnt]);
        }
        if has_turns {
            return Some(vec![Self::compacted_without_model(step, old)]);
        }
        let why = format!(
            "{why}. Nothing of the conversation can be shortened further: resume it with a model that has a larger window"
        );
        let why = Failure::new(FailureKind::TooLong, why);
        Some(vec![Event::Halted { step: step.spec.id.clone(), ask: None, why }])
    }

    /// Replaces the older turns by the summary that the model gave. A model that calls a tool instead is asked once more.
    pub(super) fn after_summary(&self, step: &Step, turn: u32) -> Vec<Event> {
        let old = self.old_entries(step);
        if old == 0 {
            return self.ask(step, turn + 1);
        }
        let replaced: u64 = step.conversation[..old].iter().map(|entry| step.bytes_of(entry)).sum();
        let Some(answer) = step.side_answer.as_ref() else { return vec![Self::compacted_without_model(step, old)] };
        let text = answer.text.trim();
        if text.is_empty() && step.summary_asks < 2 {
            return self.want_summary(step, turn);
        }
        if text.is_empty() || text.len() as u64 >= replaced {
            return vec![Self::compacted_without_model(step, old)];
        }
        let end = if answer.finish == FinishReason::Stop || !answer.calls.is_empty() { "" } else { CUT_SUMMARY };
        vec![Event::Compacted { step: step.spec.id.clone(), upto: old as u32, summary: format!("{text}{end}") }]
    }

    /// The question for a summary, which is appended to what the model has been shown.
    fn want_summary(&self, step: &Step, turn: u32) -> Vec<Event> {
        let id = step.address(turn, EffectKind::Compact).sibling(EffectKind::Compact, step.summary_asks);
        self.stop_at_turn_limit(step).unwrap_or_else(|| vec![Event::Wanted { id, effect: Effect::Ask }])
    }

    /// A summary from what is on record, for a conversation of which no model makes one.
    fn compacted_without_model(step: &Step, upto: usize) -> Event {
        let said = step.conversation[..upto].iter().filter_map(|entry| match entry {
            ConversationEntry::Answer(answer) if !answer.text.trim().is_empty() => Some(quoted(&answer.text)),
            ConversationEntry::Summary(summary) => Some(summary.to_string()),
            ConversationEntry::Answer(_) | ConversationEntry::Results(_) | ConversationEntry::Note(_) => None,
        });
        let said: Vec<String> = said.collect();
        let summary = format!("{WITHOUT_MODEL}\n\n{}", said.join("\n"));
        Event::Compacted { step: step.spec.id.clone(), upto: upto as u32, summary: summary.trim_end().to_owned() }
    }

    /// Whether a prompt of so many tokens leaves too little room for the answer.
    fn is_too_long(&self, window: u64, tokens: u64) -> bool {
        tokens.saturating_add(self.settings.max_output.min(window / 10)) >= window / 5 * 4
    }

    /// How many entries from the beginning are old: all but the newest turns that take a quarter of the window together.
    /// The newest turn is never old.
    fn old_entries(&self, step: &Step) -> usize {
        let most = step.scale().in_bytes(self.window_of(&step.spec.id) / 4);
        let (mut kept, mut from) = (0, None);
        for (at, entry) in step.conversation.iter().enumerate().rev() {
            kept += step.bytes_of(entry);
            if matches!(entry, ConversationEntry::Answer(_)) {
                if from.is_some() && kept > most {
                    break;
                }
                from = Some(at);
            }
        }
        from.unwrap_or(0)
    }

    /// The outputs of the newest turn that are too long for the window, alone or together, with what is shown of them.
    fn too_long_together(&self, step: &Step) -> Option<BTreeMap<u32, ShownPart>> {
        let Some(ConversationEntry::Results(results)) = step.conversation.last() else { return None };
        let is_fitted = results.numbered().any(|(n, _)| step.shown.contains_key(&n));
        let outputs = if is_fitted { BTreeMap::new() } else { self.fitted(step, results, 1) };
        (!outputs.is_empty()).then_some(outputs)
    }

    /// The outputs that are not old, even shorter, after a refusal.
    fn shorter(&self, step: &Step, old: usize) -> BTreeMap<u32, ShownPart> {
        let new = step.conversation[old..].iter().filter_map(|entry| match entry {
            ConversationEntry::Results(results) => Some(results),
            ConversationEntry::Answer(_) | ConversationEntry::Note(_) | ConversationEntry::Summary(_) => None,
        });
        let parts = new.flat_map(|results| self.fitted(step, results, 4));
        parts.filter(|(n, part)| step.shown.get(n).is_none_or(|now| part.bytes() < now.bytes())).collect()
    }

    /// What is shown of the outputs of one turn, so that each takes an eighth of the window and all together a quarter
    /// at most, or a fraction of that. The longest are shortened first. Those that fit are left out.
    fn fitted(&self, step: &Step, results: &TurnResults, fraction: u64) -> BTreeMap<u32, ShownPart> {
        let (window, scale) = (self.window_of(&step.spec.id), step.scale());
        let alone = scale.in_bytes(window / 8 / fraction);
        let alone = if window <= SMALL_WINDOW { alone.min(MAX_SMALL_OUTPUT_BYTES) } else { alone };
        let most =
            level(texts(results).map(|(_, text)| text.len() as u64), scale.in_bytes(window / 4 / fraction)).min(alone);
        let part = |text: &str| {
            if most < MIN_SHOWN_BYTES {
                return (text.len() as u64 > MIN_SHOWN_BYTES).then_some(ShownPart::NAME);
            }
            ShownPart::within(text, most as usize)
        };
        texts(results).filter_map(|(n, text)| Some((n, part(text)?))).collect()
    }
}

/// Appended to a summary that reached the output limit: half a summary is better than none.
const CUT_SUMMARY: &str = "\n\n(The summary was cut off here.)";

/// The beginning of a summary that no model has written.
const WITHOUT_MODEL: &str = "(No summary could be made of the earlier turns. What was said in them begins like this:)";

/// The numbers and texts of the outputs of a turn.
fn texts(results: &TurnResults) -> impl Iterator<Item = (u32, &str)> {
    results.numbered().filter_map(|(n, outcome)| match outcome {
        ToolCallOutcome::Replied(Reply::Output(output)) => Some((n, output.text.as_str())),
        ToolCallOutcome::Replied(_) | ToolCallOutcome::Rejected(_) => None,
    })
}

/// The length to which the longest must be cut so that all together are at most `total` long.
fn level(lengths: impl Iterator<Item = u64>, total: u64) -> u64 {
    let mut lengths: Vec<u64> = lengths.collect();
    lengths.sort_unstable();
    let mut left = total;
    for (at, length) in lengths.iter().enumerate() {
        let share = left / (lengths.len() - at) as u64;
        if *length > share {
            return share;
        }
        left -= length;
    }
    u64::MAX
}

/// The outputs among the first entries that are longer than their names.
fn nameable(step: &Step, upto: usize) -> BTreeMap<u32, ShownPart> {
    let old = step.conversation[..upto].iter().filter_map(|entry| match entry {
        ConversationEntry::Results(results) => Some(results),
        ConversationEntry::Answer(_) | ConversationEntry::Note(_) | ConversationEntry::Summary(_) => None,
    });
    let outputs = old.flat_map(TurnResults::numbered).filter(|(n, outcome)| {
        let now = step.shown.get(n).copied();
        bytes_shown(outcome, now) > bytes_shown(outcome, Some(ShownPart::NAME)) + MIN_SHOWN_BYTES
    });
    outputs.map(|(n, _)| (n, ShownPart::NAME)).collect()
}

/// How many bytes less are shown.
fn freed_by(step: &Step, outputs: &BTreeMap<u32, ShownPart>) -> u64 {
    let results = step.conversation.iter().filter_map(|entry| match entry {
        ConversationEntry::Results(results) => Some(results),
        ConversationEntry::Answer(_) | ConversationEntry::Note(_) | ConversationEntry::Summary(_) => None,
    });
    let each = results.flat_map(TurnResults::numbered).filter_map(|(n, outcome)| {
        let part = outputs.get(&n)?;
        Some(bytes_shown(outcome, step.shown.get(&n).copied()).saturating_sub(bytes_shown(outcome, Some(*part))))
    });
    each.sum()
}

fn shortened(step: &Step, because: Shortening, outputs: BTreeMap<u32, ShownPart>) -> Vec<Event> {
    vec![Event::Shortened { step: step.spec.id.clone(), because, outputs }]
}

fn turns_in(entries: &[ConversationEntry]) -> usize {
    entries.iter().filter(|entry| matches!(entry, ConversationEntry::Answer(_))).count()
}

/// The beginning of what a model said, as a line of a list.
fn quoted(text: &str) -> String {
    let text = text.trim();
    let end = if text.len() > MAX_QUOTED_BYTES { "…" } else { "" };
    format!("- {}{end}", &text[..text.floor_char_boundary(MAX_QUOTED_BYTES)].replace('\n', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_are_cut_until_all_fit_together() {
        assert_eq!(level([10, 20, 30].into_iter(), 60), u64::MAX);
        assert_eq!(level([10, 20, 30].into_iter(), 50), 20);
        assert_eq!(level([100, 5, 100].into_iter(), 55), 25);
        assert_eq!(level(std::iter::empty(), 0), u64::MAX);
    }
}
