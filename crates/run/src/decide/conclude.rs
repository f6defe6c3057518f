//! The end of a visit: the answer becomes variables, is judged, and the step is done, tried again, or fails.

use serde_json::Value;

use crate::effect::Effect;
use crate::event::{Event, Judgement, Note};
use crate::extract::{extract, failure_mark, object_in};
use crate::goal::Reflect;
use crate::id::Kind;
use crate::message::Answer;
use crate::reply::{Failure, FailureKind};
use crate::schema;
use crate::state::{Role, Run, Step};

impl Run {
    /// An answer without calls ends the visit.
    pub(super) fn conclude(&self, step: &Step, turn: u32, answer: &Answer) -> Vec<Event> {
        if let Some(again) = crate::talk::again(&answer.text)
            && self.may_re_enter(step)
        {
            return self.run_again(step, again.instruction);
        }
        match step.role {
            Role::Plan => return self.conclude_plan(step, turn, answer),
            Role::Distill => return self.conclude_profile(step, answer),
            Role::Work => {}
        }
        if let Some(why) = failure_mark(&step.spec.writes, answer) {
            return self.retry_or_fail(step, why);
        }
        let extracted = extract(step, answer);
        if !extracted.missing.is_empty() {
            let names = extracted.missing;
            let why = format!("the result lacks {}", quoted(&names));
            let otherwise = Failure::new(FailureKind::ModelBehavior, why);
            if step.corrections() > 0 {
                return self.fail(step, otherwise);
            }
            return self.correct(step, turn, Note::MissingOutput { names }, otherwise);
        }
        if let Some(what) = self.misfit(step, answer) {
            let otherwise = Failure::new(FailureKind::Validation, what.clone());
            if step.corrections() > 0 {
                return self.fail(step, otherwise);
            }
            return self.correct(step, turn, Note::Unfit { what }, otherwise);
        }
        if self.card(&step.spec.agent).is_some_and(|card| card.reflect == Reflect::Model) {
            return self.want_judge(step, turn);
        }
        self.accept(step, answer, false)
    }

    /// The step is done: its variables are written.
    pub(super) fn accept(&self, step: &Step, answer: &Answer, best_effort: bool) -> Vec<Event> {
        if let Some(why) = sent_back(step, answer).filter(|_| self.may_replan()) {
            return vec![Event::Judged { step: step.spec.id.clone(), verdict: Judgement::Replan { why } }];
        }
        let id = &step.spec.id;
        let mut found = extract(step, answer).found;
        if best_effort {
            let missing = step.spec.writes.iter().filter(|name| !found.iter().any(|(had, _)| had == *name));
            let text = Value::String(answer.text.trim().to_owned());
            let filled: Vec<(String, Value)> = missing.map(|name| (name.clone(), text.clone())).collect();
            found.extend(filled);
        }
        let wrote = found.into_iter().map(|(name, value)| Event::Wrote {
            step: id.clone(),
            name,
            value,
            untrusted: step.untrusted,
        });
        wrote.chain([Event::StepDone { step: id.clone(), best_effort }]).collect()
    }

    /// The turns ran out: the best there is, rather than nothing.
    pub(super) fn best_effort(&self, step: &Step, answer: &Answer) -> Vec<Event> {
        let said = |entry: &crate::state::Entry| match entry {
            crate::state::Entry::Answer(earlier) if !earlier.text.trim().is_empty() => Some(earlier.text.clone()),
            crate::state::Entry::Results(outcomes) => {
                outcomes.iter().rev().find(|o| o.is_good()).map(|o| crate::talk::outcome_words(o).into_owned())
            }
            crate::state::Entry::Answer(_) | crate::state::Entry::Note(_) | crate::state::Entry::Summary(_) => None,
        };
        let text = if answer.text.trim().is_empty() { step.talk.iter().rev().find_map(said) } else { None };
        if step.role != Role::Work {
            let why = Failure::new(FailureKind::ModelBehavior, "used all its turns without a result");
            return self.fail(step, why);
        }
        match text {
            None if answer.text.trim().is_empty() => {
                let why = Failure::new(FailureKind::ModelBehavior, "used all its turns and said nothing");
                self.fail(step, why)
            }
            None => self.accept(step, answer, true),
            Some(text) => self.accept(step, &Answer { text, ..Answer::default() }, true),
        }
    }

    fn want_judge(&self, step: &Step, turn: u32) -> Vec<Event> {
        if let Some(which) = self.ledger.counts_break(&self.budget, 1, 0) {
            return vec![Event::Exhausted { which }];
        }
        vec![Event::Wanted { id: step.address(turn, Kind::Judge), effect: Effect::Ask }]
    }

    fn misfit(&self, step: &Step, answer: &Answer) -> Option<String> {
        let schema = self.card(&step.spec.agent)?.schema.as_ref()?;
        let value = object_in(&answer.text).map_or(Value::Null, Value::Object);
        schema::misfit(schema, &value)
    }

    pub(super) fn may_re_enter(&self, step: &Step) -> bool {
        step.visit < self.settings.revisits
    }

    pub(super) fn run_again(&self, step: &Step, instruction: String) -> Vec<Event> {
        if !self.may_re_enter(step) {
            let why = format!("asked to be run again more than {} times", self.settings.revisits);
            return self.fail(step, Failure::new(FailureKind::ModelBehavior, why));
        }
        vec![Event::Judged { step: step.spec.id.clone(), verdict: Judgement::Again { instruction } }]
    }

    fn retry_or_fail(&self, step: &Step, why: String) -> Vec<Event> {
        if step.visit == 0 && self.may_re_enter(step) {
            return vec![Event::Judged { step: step.spec.id.clone(), verdict: Judgement::Retry { feedback: why } }];
        }
        self.fail(step, Failure::new(FailureKind::ModelBehavior, why))
    }
}

/// Why a review sends the work back, if this step is one and does.
fn sent_back(step: &Step, answer: &Answer) -> Option<String> {
    if !matches!(step.spec.agent.as_str(), "qa" | "reviewer") {
        return None;
    }
    let object = object_in(&answer.text)?;
    let nested = step.spec.writes.iter().find_map(|name| object.get(name)?.as_object());
    let review = if object.contains_key("verdict") { &object } else { nested? };
    let verdict = review.get("verdict")?.as_str()?.to_ascii_lowercase();
    if !matches!(verdict.as_str(), "reject" | "rejected" | "retry" | "revise" | "replan" | "fail" | "failed") {
        return None;
    }
    let feedback = review.get("feedback").map(crate::extract::plain).unwrap_or_default();
    Some(format!("the review of step `{}` says {verdict}: {feedback}", step.spec.id))
}

/// Names in backticks, with commas.
pub(super) fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
