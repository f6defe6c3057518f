//! Notices a step that goes round in circles: the same call with the same result, also with others between.
//!
//! Its model is told first: what the call returned, and what else could be done. If that does not help, the step halts, and
//! continues when the run is resumed.

use crate::answer_calls::outcome_words;
use crate::event::{Event, Note};
use crate::goal::SMALL_WINDOW;
use crate::message::ToolCall;
use crate::reply::{Failure, FailureKind, Reply};
use crate::state::Run;
use crate::step::{ConversationEntry, Step, ToolCallOutcome, TurnResults};

/// How many of the newest turns are looked at.
const TURNS: usize = 12;
/// From so many equal results on, the model is told.
const TOLD_FROM: u32 = 3;
/// A model with a small window is told at the first repetition, and is given more tries.
const SMALL_TOLD_FROM: u32 = 2;
/// How much of the result is quoted, in bytes.
const MAX_QUOTED_BYTES: usize = 400;

/// A call that returned the same several times.
struct Repetition<'a> {
    call: ToolCall,
    outcome: &'a ToolCallOutcome,
    times: u32,
}

/// The calls of a turn and their results.
type Turn<'a> = (Vec<ToolCall>, &'a TurnResults);

/// What follows from a repetition.
pub(super) enum RepetitionEvents {
    /// The model is told, and asked again.
    Told(Event),
    /// The step halts.
    Halted(Vec<Event>),
}

impl Run {
    /// What follows if a call of the turn that has just ended was made before with the same result: its model is told, or
    /// the step halts.
    pub(super) fn after_repetition(&self, step: &Step) -> Option<RepetitionEvents> {
        let Repetition { call, outcome, times } = self.repetition(step)?;
        let is_small = self.window_of(&step.spec.id) <= SMALL_WINDOW;
        let (told_from, most) = if is_small {
            (SMALL_TOLD_FROM, self.most_repeats().saturating_mul(2))
        } else {
            (TOLD_FROM.min(self.most_repeats()), self.most_repeats())
        };
        if times < told_from {
            return None;
        }
        let note = Note::RepeatedCall { name: call.name.clone(), times, returned: quoted(outcome) };
        let told = Event::Advised { step: step.spec.id.clone(), note };
        if times < most {
            return Some(RepetitionEvents::Told(told));
        }
        let why =
            format!("called `{}` {times} times with the same arguments and got the same result each time", call.name);
        let why = Failure::new(FailureKind::ModelBehavior, why);
        Some(RepetitionEvents::Halted(vec![told, Event::Halted { step: step.spec.id.clone(), ask: None, why }]))
    }

    /// The call of the newest turn that has returned the same most often.
    fn repetition<'a>(&self, step: &'a Step) -> Option<Repetition<'a>> {
        // It has been told, or the person has said something: then it gets another try.
        if !step.pending.is_empty() {
            return None;
        }
        let ConversationEntry::Results(newest) = step.conversation.last()? else { return None };
        let turns = self.newest_turns(step);
        let (calls, _) = turns.first()?;
        let all = calls.iter().zip(&newest.outcomes).map(|(call, outcome)| {
            // After another call has changed something, the same call is a new question.
            let unchanged = turns.iter().take_while(|turn| !changed_by_another(turn, call));
            let times = unchanged.filter(|turn| has(turn, call, outcome)).count();
            Repetition { call: call.clone(), outcome, times: times as u32 }
        });
        all.max_by_key(|repetition| repetition.times)
    }

    /// The calls and the results of the newest turns, the newest first.
    fn newest_turns<'a>(&self, step: &'a Step) -> Vec<Turn<'a>> {
        let mut turns = Vec::new();
        let mut results = None;
        for entry in step.conversation.iter().rev() {
            match entry {
                ConversationEntry::Results(ended) => results = Some(ended),
                ConversationEntry::Answer(answer) => {
                    if let Some(ended) = results.take() {
                        turns.push((self.calls_in(step, answer).into_owned(), ended));
                    }
                    if turns.len() == TURNS {
                        break;
                    }
                }
                ConversationEntry::Note(_) | ConversationEntry::Summary(_) => {}
            }
        }
        turns
    }

    /// At least two: a single call is not a repetition, whatever the settings say.
    fn most_repeats(&self) -> u32 {
        self.settings.repeats.max(2)
    }
}

fn pairs<'a>((calls, ended): &'a Turn<'_>) -> impl Iterator<Item = (&'a ToolCall, &'a ToolCallOutcome)> {
    calls.iter().zip(&ended.outcomes)
}

fn is_same(a: &ToolCall, b: &ToolCall) -> bool {
    a.name == b.name && a.args == b.args
}

/// Whether a turn contains this call with this outcome.
fn has(turn: &Turn<'_>, call: &ToolCall, outcome: &ToolCallOutcome) -> bool {
    let is_equal = |other: &ToolCallOutcome| {
        other.is_good() == outcome.is_good()
            && without_durations(&outcome_words(other)) == without_durations(&outcome_words(outcome))
    };
    pairs(turn).any(|(other, ended)| is_same(other, call) && is_equal(ended))
}

/// What a call returned, without how long it took: `0.3 s`, `12ms`. Test runners print that too.
fn without_durations(text: &str) -> String {
    let mut rest = text;
    let mut plain = String::with_capacity(text.len());
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let end = rest[at..].find(|c: char| !c.is_ascii_digit() && c != '.').map_or(rest.len(), |len| at + len);
        let unit = rest[end..].strip_prefix(' ').unwrap_or(&rest[end..]);
        let word = &unit[..unit.find(|c: char| !c.is_alphabetic()).unwrap_or(unit.len())];
        let is_duration = matches!(word, "s" | "ms" | "µs" | "sec" | "seconds");
        plain.push_str(&rest[..if is_duration { at } else { end }]);
        rest = &rest[end..];
    }
    plain + rest
}

/// Whether another call of a turn has changed files.
fn changed_by_another(turn: &Turn<'_>, call: &ToolCall) -> bool {
    let changes = |outcome: &ToolCallOutcome| match outcome {
        ToolCallOutcome::Replied(Reply::Output(output)) => !output.changes.is_empty(),
        ToolCallOutcome::Replied(_) | ToolCallOutcome::Rejected(_) => false,
    };
    pairs(turn).any(|(other, ended)| !is_same(other, call) && changes(ended))
}

/// The beginning of what a call returned.
fn quoted(outcome: &ToolCallOutcome) -> String {
    let words = outcome_words(outcome);
    let words = words.trim();
    let end = if words.len() > MAX_QUOTED_BYTES { " …" } else { "" };
    format!("{}{end}", &words[..words.floor_char_boundary(MAX_QUOTED_BYTES)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_long_a_call_took_makes_no_difference() {
        let plain = without_durations("[exit code 1, 0.3 s]\n2 failed in 0.12s, 15 lines, 3 steps");
        assert_eq!(plain, "[exit code 1,  s]\n2 failed in s, 15 lines, 3 steps");
        assert_eq!(without_durations("took 5"), "took 5");
    }
}
