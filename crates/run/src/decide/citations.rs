//! Decides about the citations in a step's answer: those that do not hold are sent back to the agent once. If they still do
//! not hold then, they are marked in the answer.

use serde_json::Value;
use updraft_lenient::whole_object;

use crate::citation::{Citation, check, entries, mark};
use crate::event::{Event, Note};
use crate::state::Run;
use crate::step::{ConversationEntry, Step};

impl Run {
    /// What follows from citations that do not hold. Returns `None` if the answer is to be accepted as it is, or marked.
    pub(super) fn after_false_citations(
        &self,
        step: &Step,
        turn: u32,
        found: &[(String, Value)],
    ) -> Option<Vec<Event>> {
        let was_told =
            |entry: &ConversationEntry| matches!(entry, ConversationEntry::Note(Note::FalseCitations { .. }));
        // The answer must not be lost because of its citations.
        let may_ask = turn + 1 < self.turns_of(step) && self.stop_at_turn_limit(step).is_none();
        if !may_ask || step.conversation.iter().any(was_told) {
            return None;
        }
        let texts = self.texts_of(step, found);
        let faults: Vec<String> =
            texts.iter().flat_map(|text| self.citations_in(text)).filter_map(|one| one.advice()).collect();
        if faults.is_empty() {
            return None;
        }
        let note = Note::FalseCitations { faults };
        let advised = Event::Advised { step: step.spec.id.clone(), note };
        Some(std::iter::once(advised).chain(self.ask(step, turn + 1)).collect())
    }

    /// What is wrong with the citations in an answer, for the guardrails. Unlike elsewhere, an answer that cites although
    /// nothing was read is wrong too.
    pub(crate) fn false_citations(&self, answer: &str) -> Vec<String> {
        let texts: Vec<String> = match whole_object(answer) {
            Some(values) => values.values().filter_map(Value::as_str).map(str::to_owned).collect(),
            None => vec![answer.to_owned()],
        };
        let cited = texts.iter().flat_map(|text| entries(text));
        let checked = cited.map(|entry| check(entry, &self.readings.kept, self.has_forgotten_readings()));
        checked.filter_map(|one| one.advice()).collect()
    }

    /// Marks the citations that do not hold, in the step's variables and output. Returns all citations.
    pub(super) fn mark_citations(&self, found: &mut [(String, Value)], output: &mut Option<String>) -> Vec<Citation> {
        let mut citations = Vec::new();
        let values = found.iter_mut().filter_map(|(_, value)| match value {
            Value::String(text) => Some(text),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
        });
        for text in values.chain(output) {
            let own = self.citations_in(text);
            *text = mark(text, &own);
            citations.extend(own);
        }
        citations
    }

    /// The texts that a step gives as its result.
    fn texts_of(&self, step: &Step, found: &[(String, Value)]) -> Vec<String> {
        if step.spec.writes.is_empty() {
            return vec![self.final_words(step)];
        }
        found.iter().filter_map(|(_, value)| value.as_str().map(str::to_owned)).collect()
    }

    /// The citations in a text, checked. If no tool has returned anything, there is nothing to cite, and nothing is read.
    fn citations_in(&self, text: &str) -> Vec<Citation> {
        if self.readings.kept.is_empty() {
            return Vec::new();
        }
        entries(text)
            .into_iter()
            .map(|entry| check(entry, &self.readings.kept, self.has_forgotten_readings()))
            .collect()
    }

    /// Whether something was read that is not known here: too much was, or a step kept its result from an earlier run.
    fn has_forgotten_readings(&self) -> bool {
        self.readings.has_forgotten || !self.plan.kept.is_empty()
    }
}
