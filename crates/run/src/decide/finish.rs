//! Decides the end of a run: its answer, or the part of it that exists.

use std::sync::Arc;

use crate::event::Event;
use crate::extract::{only_final_answer, plain};
use crate::reply::{Failure, FailureKind};
use crate::state::Run;
use crate::step::{ConversationEntry, Step, StepRole, StepState};

/// The longest answer that joins several results; beyond this, the results are better read one by one.
const LONGEST_ANSWER: usize = 256 * 1024;

impl Run {
    /// Finishes a run in which nothing is left to do.
    pub(super) fn finish(&self) -> Vec<Event> {
        vec![Event::Finished { answer: self.answer(), failed: self.failure().or_else(|| self.unmet()) }]
    }

    /// Ends the cancelling when all effects that had begun have ended.
    pub(super) fn finish_cancelling(&self, by: &str) -> Vec<Event> {
        if !self.open.is_empty() {
            return Vec::new();
        }
        let unfinished = self.steps().filter(|step| !step.has_ended());
        let mut events: Vec<Event> =
            unfinished.map(|step| Event::StepCancelled { step: step.spec.id.clone() }).collect();
        let failed = Some(Failure::new(FailureKind::Cancelled, format!("cancelled by {by}")));
        events.push(Event::Finished { answer: self.answer(), failed });
        events
    }

    /// The answer so far: the results that no other step used, and the last text of halted steps. If nothing is done
    /// yet, the last text of the steps at work.
    pub fn answer(&self) -> String {
        let last = self.answering_steps();
        let is_unfinished = |step: &&Step| step.role == StepRole::Work && step.is_at_work() && !self.is_over();
        let unfinished = self.steps().filter(is_unfinished).filter(|step| last.is_empty() || step.halted.is_some());
        let unfinished: Vec<(&Step, String)> =
            unfinished.filter_map(|step| Some((step, self.said_by(step)?))).collect();
        if last.is_empty() {
            return unfinished.into_iter().map(|(_, words)| words).collect::<Vec<_>>().join("\n\n");
        }
        if let ([only], []) = (last.as_slice(), unfinished.as_slice()) {
            return only.output.as_deref().unwrap_or_default().to_owned();
        }
        let done = last.into_iter().map(|step| (step, "", step.output.as_deref().unwrap_or_default()));
        let parts = done.chain(unfinished.iter().map(|(step, words)| (*step, " (unfinished)", words.as_str())));
        let mut answer = String::new();
        for (step, mark, output) in parts {
            let title = if step.spec.description.is_empty() { step.spec.id.as_str() } else { &step.spec.description };
            if answer.len() + output.len() > LONGEST_ANSWER {
                answer.push_str("\n…\n");
                break;
            }
            answer.extend(["## ", title, mark, "\n\n", output, "\n\n"]);
        }
        answer.truncate(answer.trim_end().len());
        answer
    }

    /// The steps that are done and whose results are the answer: no other step used them.
    pub fn answering_steps(&self) -> Vec<&Step> {
        let rejected: Vec<&Step> = self.steps().filter(|step| step.rejected_by.is_some() && !step.superseded).collect();
        let builds_on_rejected = |step: &Step| rejected.iter().any(|maker| self.leads_to(maker, &step.spec.id));
        // If a review accepts a result, that result is the answer, together with any remarks of the review.
        let says_nothing = |step: &Step| self.is_review(step) && step.output.as_deref().is_none_or(str::is_empty);
        let is_last = |step: &&Step| {
            // A step that a new plan replaced also used the result.
            let goes_on = |next: &Step| {
                let uses_it = next.state == StepState::Done && !self.is_review(next) && next.role != StepRole::Prove;
                uses_it || next.superseded
            };
            let used = self.dependants(step).any(goes_on);
            let is_result = step.role == StepRole::Work && step.state == StepState::Done && !step.superseded;
            is_result && !used && !builds_on_rejected(step)
        };
        self.steps().filter(is_last).filter(|step| !says_nothing(step)).collect()
    }

    /// Why the run counts as failed: the first step of the work that failed and was not replaced by a new plan.
    pub(super) fn failure(&self) -> Option<Failure> {
        let is_work = |step: &&Step| step.role == StepRole::Work && !self.may_fail_alone(step);
        let work = self.steps().filter(is_work).find_map(failure_of);
        let is_counted = |step: &&Step| step.role != StepRole::Prove && !self.may_fail_alone(step);
        work.or_else(|| self.steps().filter(is_counted).find_map(failure_of))
    }

    /// The last text of a step, or otherwise the last good result of its tools.
    pub(crate) fn best_words(&self, step: &Step) -> Option<String> {
        step.spoken().find_map(|entry| match entry {
            ConversationEntry::Answer(answer) => {
                let is_call = answer.calls.is_empty() && !self.calls_in(step, answer).is_empty();
                (!is_call && !answer.text.trim().is_empty()).then(|| answer.text.clone())
            }
            ConversationEntry::Results(results) => {
                let good = results.outcomes.iter().rev().find(|outcome| outcome.is_good());
                good.map(|outcome| crate::answer_calls::outcome_words(outcome).into_owned())
                    .filter(|text| !text.trim().is_empty())
            }
            ConversationEntry::Note(_) | ConversationEntry::Summary(_) => None,
        })
    }

    /// The output of a step that writes no variable: its text, taken out of an object that holds only a final answer.
    pub(super) fn final_words(&self, step: &Step) -> String {
        let text = self.best_words(step).unwrap_or_default();
        only_final_answer(&text).map(|answer| plain(&answer)).unwrap_or(text)
    }

    /// The last text of a step that is not done. Results of its tools do not count.
    fn said_by(&self, step: &Step) -> Option<String> {
        step.spoken().find_map(|entry| match entry {
            ConversationEntry::Answer(answer) if !answer.text.trim().is_empty() => {
                let is_call = answer.calls.is_empty() && !self.calls_in(step, answer).is_empty();
                (!is_call).then(|| answer.text.clone())
            }
            ConversationEntry::Answer(_)
            | ConversationEntry::Results(_)
            | ConversationEntry::Note(_)
            | ConversationEntry::Summary(_) => None,
        })
    }

    /// What a step wrote, as text: its only variable, or all of them as JSON.
    pub(crate) fn written_by(&self, step: &Step) -> Arc<str> {
        let names = step.spec.writes.iter();
        let written: Vec<_> = names.filter_map(|name| Some((name, &self.variables.get(name)?.value))).collect();
        let text = match written.as_slice() {
            [] => String::new(),
            [(_, only)] => plain(only),
            several => {
                let object: serde_json::Map<_, _> =
                    several.iter().map(|(name, value)| ((*name).clone(), (***value).clone())).collect();
                plain(&serde_json::Value::Object(object))
            }
        };
        text.into()
    }
}

fn failure_of(step: &Step) -> Option<Failure> {
    let id = &step.spec.id;
    match &step.state {
        StepState::Failed(_) | StepState::Cancelled if step.superseded => None,
        StepState::Failed(why) => Some(Failure::new(why.kind, format!("step `{id}` failed: {why}"))),
        StepState::Cancelled => Some(Failure::new(FailureKind::Tool, format!("step `{id}` was cancelled"))),
        StepState::Waiting
        | StepState::Ready
        | StepState::Thinking { .. }
        | StepState::Acting { .. }
        | StepState::Judging { .. }
        | StepState::Compacting { .. }
        | StepState::Done
        | StepState::Skipped { .. }
        | StepState::Dropped => None,
    }
}
