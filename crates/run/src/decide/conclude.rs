//! Decides the end of a visit: the answer becomes variables and is judged, and the step is done, tried again, or fails.

use serde_json::Value;
use updraft_lenient::whole_object;

use crate::effect::Effect;
use crate::event::{Event, Judgement, Note};
use crate::extract::{AnswerVariables, extract, failure_mark};
use crate::goal::ReflectionMode;
use crate::id::EffectKind;
use crate::message::ModelAnswer;
use crate::reply::{Failure, FailureKind};
use crate::schema;
use crate::state::Run;
use crate::step::{Step, StepRole, StepState};

use super::failed_step::fail;
use super::plan::conclude_profile;

impl Run {
    /// An answer without calls ends the visit.
    pub(super) fn conclude(&self, step: &Step, turn: u32, answer: &ModelAnswer) -> Vec<Event> {
        if let Some(again) = crate::answer_calls::again(&answer.text)
            && self.may_re_enter(step)
        {
            return run_again(step, again.instruction);
        }
        match step.role {
            StepRole::Plan => return self.conclude_plan(step, turn, answer),
            StepRole::Distill => return conclude_profile(step, answer),
            StepRole::Work | StepRole::Prove => {}
        }
        if let Some(why) = failure_mark(&step.spec.writes, answer) {
            return self.retry_or_fail(step, why);
        }
        if self.is_review(step) {
            return self.conclude_review(step, turn, answer);
        }
        if step.spec.writes.is_empty() && answer.text.trim().is_empty() {
            let what = "the answer is empty".to_owned();
            let otherwise = Failure::new(FailureKind::ModelBehavior, what.clone());
            return self.correct_once(step, turn, Note::Unfit { what }, otherwise);
        }
        if let Some(what) = self.missing_choice(step) {
            let otherwise = Failure::new(FailureKind::ModelBehavior, what.clone());
            return self.correct_once(step, turn, Note::Unfit { what }, otherwise);
        }
        let extracted = self.extracted(step, answer);
        let is_last = turn + 1 >= self.turns_of(step);
        if !extracted.missing.is_empty() && is_last && !answer.text.trim().is_empty() {
            let lacks = format!(": the result lacks {}", quoted(&extracted.missing));
            return self.out_of_turns(step, &lacks);
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
        if let Some(events) = self.after_false_citations(step, turn, &extracted.found) {
            return events;
        }
        if let Some(events) = self.after_guard(step, turn) {
            return events;
        }
        if self.card(&step.spec.agent).is_some_and(|card| card.reflect == ReflectionMode::Model) {
            return self.want_judge(step, turn);
        }
        self.accept(step, extracted.found)
    }

    /// A result is sent back once; a second unsuitable result fails the step.
    pub(super) fn correct_once(&self, step: &Step, turn: u32, note: Note, otherwise: Failure) -> Vec<Event> {
        if step.corrections() > 0 {
            return fail(step, otherwise);
        }
        self.correct(step, turn, note, &otherwise)
    }

    /// The step is done: its variables are written, and its citations recorded.
    pub(super) fn accept(&self, step: &Step, mut found: Vec<(String, Value)>) -> Vec<Event> {
        let mut output = step.spec.writes.is_empty().then(|| self.final_words(step));
        let citations = self.mark_citations(&mut found, &mut output);
        let mut events = self.end_well(step, found, output);
        if !citations.is_empty() && matches!(events.last(), Some(Event::StepDone { .. })) {
            events.insert(0, Event::Cited { step: step.spec.id.clone(), citations });
        }
        events
    }

    /// Ends a step as done, unless an input it has read is being made again: then the step is entered again afterwards.
    pub(super) fn end_well(&self, step: &Step, found: Vec<(String, Value)>, output: Option<String>) -> Vec<Event> {
        let id = &step.spec.id;
        if let Some(events) = self.after_renewal(step) {
            return events;
        }
        let wrote = found.into_iter().map(|(name, value)| Event::Wrote {
            step: id.clone(),
            name,
            value,
            untrusted: step.is_untrusted(),
            origins: step.origins.clone(),
        });
        wrote.chain([Event::StepDone { step: id.clone(), best_effort: false, output, kept_from: None }]).collect()
    }

    /// What follows for a step that has used a result which was sent back in the meantime: it is entered again with the
    /// new result, or fails if there is none.
    pub(super) fn after_renewal(&self, step: &Step) -> Option<Vec<Event>> {
        let by = step.outdated_by.clone()?;
        let place = self.step_index.get(&step.spec.id)?;
        let is_lost = |other: &&Step| other.has_ended() && other.state != StepState::Done && other.next.contains(place);
        if let Some(lost) = self.steps().find(is_lost) {
            let why = format!("the result of `{}` that it had read was sent back and not made again", lost.spec.id);
            return Some(fail(step, Failure::new(FailureKind::ModelBehavior, why)));
        }
        Some(vec![Event::Judged { step: step.spec.id.clone(), verdict: Judgement::Renewed { by } }])
    }

    fn want_judge(&self, step: &Step, turn: u32) -> Vec<Event> {
        if let Some(stopped) = self.stop_at_turn_limit(step) {
            return stopped;
        }
        vec![Event::Wanted { id: step.address(turn, EffectKind::Judge), effect: Effect::Ask }]
    }

    fn misfit(&self, step: &Step, answer: &ModelAnswer) -> Option<String> {
        let schema = self.card(&step.spec.agent)?.schema.as_ref()?;
        let object = whole_object(&answer.text).unwrap_or_default();
        let inner = step.spec.writes.first().and_then(|name| object.get(name)).filter(|_| step.spec.writes.len() == 1);
        if inner.is_some_and(|inner| schema::misfit(schema, inner).is_none()) {
            return None;
        }
        schema::misfit(schema, &Value::Object(object))
    }

    /// A step's variables. If the agent's file has a schema, the result is data of that schema.
    pub(super) fn extracted(&self, step: &Step, answer: &ModelAnswer) -> AnswerVariables {
        let mut extracted = extract(step, answer);
        let has_form = self.card(&step.spec.agent).is_some_and(|card| card.schema.is_some());
        if let ([(_, value @ Value::String(_))], true) = (extracted.found.as_mut_slice(), has_form)
            && let Some(object) = whole_object(&answer.text).filter(|_| self.misfit(step, answer).is_none())
        {
            *value = Value::Object(object);
        }
        extracted
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

/// Names in backticks, with commas.
pub(super) fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
