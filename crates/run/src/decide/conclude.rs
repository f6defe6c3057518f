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
use crate::state::Run;
use crate::step::{Role, Step};

use super::fall::fail;
use super::plan::conclude_profile;

impl Run {
    /// An answer without calls ends the visit.
    pub(super) fn conclude(&self, step: &Step, turn: u32, answer: &Answer) -> Vec<Event> {
        if let Some(again) = crate::talk::again(&answer.text)
            && self.may_re_enter(step)
        {
            return run_again(step, again.instruction);
        }
        match step.role {
            Role::Plan => return self.conclude_plan(step, turn, answer),
            Role::Distill => return conclude_profile(step, answer),
            Role::Work => {}
        }
        if let Some(why) = failure_mark(&step.spec.writes, answer) {
            return self.retry_or_fail(step, why);
        }
        if step.spec.writes.is_empty() && answer.text.trim().is_empty() {
            let what = "the answer is empty".to_owned();
            let otherwise = Failure::new(FailureKind::ModelBehavior, what.clone());
            return self.correct_once(step, turn, Note::Unfit { what }, otherwise);
        }
        let extracted = extract(step, answer);
        let is_last = turn + 1 >= self.turns_of(step);
        if !extracted.missing.is_empty() && is_last && !answer.text.trim().is_empty() {
            return self.best_effort(step);
        }
        if !extracted.missing.is_empty() {
            let names = extracted.missing;
            let why = format!("the result lacks {}", quoted(&names));
            let otherwise = Failure::new(FailureKind::ModelBehavior, why);
            return self.correct_once(step, turn, Note::MissingOutput { names }, otherwise);
        }
        if let Some(what) = self.misfit(step, answer) {
            let otherwise = Failure::new(FailureKind::Validation, what.clone());
            return self.correct_once(step, turn, Note::Unfit { what }, otherwise);
        }
        if self.card(&step.spec.agent).is_some_and(|card| card.reflect == Reflect::Model) {
            return self.want_judge(step, turn);
        }
        self.accept(step, answer, extracted.found, false)
    }

    /// A result is sent back once; a second one that will not do fails the step.
    fn correct_once(&self, step: &Step, turn: u32, note: Note, otherwise: Failure) -> Vec<Event> {
        if step.corrections() > 0 {
            return fail(step, otherwise);
        }
        self.correct(step, turn, note, otherwise)
    }

    /// The step is done: its variables are written.
    pub(super) fn accept(
        &self,
        step: &Step,
        answer: &Answer,
        mut found: Vec<(String, Value)>,
        best_effort: bool,
    ) -> Vec<Event> {
        if let Some(why) = sent_back(step, answer).filter(|_| self.may_replan()) {
            return vec![Event::Judged { step: step.spec.id.clone(), verdict: Judgement::Replan { why } }];
        }
        let id = &step.spec.id;
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
            untrusted: step.is_untrusted(),
            origins: step.origins.clone(),
        });
        let output = step.spec.writes.is_empty().then(|| self.final_words(step));
        wrote.chain([Event::StepDone { step: id.clone(), best_effort, output }]).collect()
    }

    /// The turns ran out: the best there is, rather than nothing.
    pub(super) fn best_effort(&self, step: &Step) -> Vec<Event> {
        if step.role != Role::Work {
            let why = Failure::new(FailureKind::ModelBehavior, "used all its turns without a result");
            return fail(step, why);
        }
        let Some(text) = self.best_words(step) else {
            let why = Failure::new(FailureKind::ModelBehavior, "used all its turns and said nothing");
            return fail(step, why);
        };
        let best = Answer { text, ..Answer::default() };
        let found = extract(step, &best).found;
        self.accept(step, &best, found, true)
    }

    fn want_judge(&self, step: &Step, turn: u32) -> Vec<Event> {
        if let Some(stopped) = self.turns_break(step) {
            return stopped;
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

    fn retry_or_fail(&self, step: &Step, why: String) -> Vec<Event> {
        if step.visit == 0 && self.may_re_enter(step) {
            return vec![Event::Judged { step: step.spec.id.clone(), verdict: Judgement::Retry { feedback: why } }];
        }
        fail(step, Failure::new(FailureKind::ModelBehavior, why))
    }
}

/// The step asked for another visit.
pub(super) fn run_again(step: &Step, instruction: String) -> Vec<Event> {
    vec![Event::Judged { step: step.spec.id.clone(), verdict: Judgement::Again { instruction } }]
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
