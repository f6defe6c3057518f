//! Reviews. A step whose agent is a judge says accept, retry, pivot or replan about the results it read. Retry and
//! pivot go back to the steps that made the results, replan to the planner. If these cannot be asked again, the results
//! are rejected and are not part of the answer.

use serde_json::{Map, Value};
use updraft_lenient::whole_object;

use crate::event::{Event, Judgement, Note};
use crate::extract::plain;
use crate::goal::RunMode;
use crate::message::ModelAnswer;
use crate::reply::{Failure, FailureKind};
use crate::role::AgentRole;
use crate::state::Run;
use crate::step::{Step, StepRole, StepState};

use super::conclude::quoted;
use super::conclusion::Conclusion;
use super::failed_step::fail;

/// A verdict, and what has to be corrected.
pub(super) struct Review {
    pub(super) conclusion: Conclusion,
    pub(super) feedback: String,
    /// The review as the model wrote it: an object, or a text.
    own: Value,
}

impl Review {
    /// Reads a review: an object with `verdict`, or words.
    pub(super) fn read(text: &str, writes: &[String]) -> Option<Review> {
        whole_object(text).map_or_else(|| Self::in_words(text), |object| Self::in_object(&object, writes))
    }

    /// The object has a `verdict`, or contains an object that does, under a variable that the step writes.
    fn in_object(object: &Map<String, Value>, writes: &[String]) -> Option<Review> {
        let nested = writes.iter().find_map(|name| object.get(name)?.as_object());
        let own = nested.filter(|nested| nested.contains_key("verdict")).unwrap_or(object).clone();
        let conclusion = Conclusion::parse(own.get("verdict")?.as_str()?)?;
        let feedback = own.get("feedback").or_else(|| object.get("feedback")).map(plain).unwrap_or_default();
        Some(Review { conclusion, feedback, own: Value::Object(own) })
    }

    /// The author of a rejected result is told all of it.
    fn in_words(text: &str) -> Option<Review> {
        let conclusion = Conclusion::in_words(text)?;
        let feedback = if conclusion == Conclusion::Accept { String::new() } else { text.trim().to_owned() };
        Some(Review { conclusion, feedback, own: text.into() })
    }
}

impl Run {
    /// Whether a step's result is a verdict on the results it reads. Not in a run with a single agent, which has
    /// nothing to send back.
    pub fn is_review(&self, step: &Step) -> bool {
        let is_judge = self.card(&step.spec.agent).is_some_and(|card| card.role() == AgentRole::Judge);
        is_judge && step.role == StepRole::Work && !matches!(self.goal.mode, RunMode::Agent(_))
    }

    /// Decides what follows from a review's answer.
    pub(super) fn conclude_review(&self, step: &Step, turn: u32, answer: &ModelAnswer) -> Vec<Event> {
        if let Some(events) = self.after_renewal(step) {
            return events;
        }
        if let Some(review) = Review::read(&answer.text, &step.spec.writes) {
            // A review of something that no step made, such as the user's own change, is itself the result.
            let makers = self.makers(step);
            return match review.conclusion {
                Conclusion::Retry | Conclusion::Pivot | Conclusion::Replan if !makers.is_empty() => {
                    self.send_back(step, &makers, review.conclusion, &review.feedback)
                }
                Conclusion::Accept | Conclusion::Retry | Conclusion::Pivot | Conclusion::Replan => {
                    self.accept_review(step, &review.own, review.feedback)
                }
            };
        }
        if step.corrections() == 0 && turn + 1 < self.turns_of(step) {
            let what = "it contains no verdict".to_owned();
            let otherwise = Failure::new(FailureKind::ModelBehavior, what.clone());
            return self.correct(step, turn, Note::Unfit { what }, &otherwise);
        }
        // A review without a verdict stops nothing.
        self.accept_review(step, &Value::String(answer.text.clone()), answer.text.clone())
    }

    fn accept_review(&self, step: &Step, review: &Value, words: String) -> Vec<Event> {
        let value = |name: &String| match review.get(name) {
            Some(own) if step.spec.writes.len() > 1 => own.clone(),
            Some(_) | None => review.clone(),
        };
        let found = step.spec.writes.iter().map(|name| (name.clone(), value(name))).collect();
        self.end_well(step, found, Some(words))
    }

    /// Sends results back: they are made again, planned again, or rejected.
    fn send_back(&self, review: &Step, makers: &[&Step], conclusion: Conclusion, feedback: &str) -> Vec<Event> {
        let may_be_made_again = makers.iter().all(|maker| self.may_re_enter(maker));
        let feedback = || feedback.to_owned();
        let again = match conclusion {
            Conclusion::Replan if self.may_replan() => return self.reject_results(review, makers, &feedback()),
            Conclusion::Retry => Judgement::Retry { feedback: feedback() },
            Conclusion::Pivot | Conclusion::Replan | Conclusion::Accept => Judgement::Pivot { feedback: feedback() },
        };
        let (Some(first), true) = (makers.first(), may_be_made_again) else {
            return self.reject_results(review, makers, &feedback());
        };
        let back = makers.iter().map(|maker| judged(maker, again.clone()));
        let waits = judged(review, Judgement::Renewed { by: first.spec.id.clone() });
        back.chain([waits]).collect()
    }

    /// Rejects results that will not be made again.
    fn reject_results(&self, review: &Step, makers: &[&Step], feedback: &str) -> Vec<Event> {
        let by = review.spec.id.clone();
        let verdict = Judgement::Reject { by: by.clone(), why: feedback.to_owned() };
        let mut events: Vec<Event> = makers.iter().map(|maker| judged(maker, verdict.clone())).collect();
        let names: Vec<String> = makers.iter().map(|maker| maker.spec.id.to_string()).collect();
        let why = format!("the review `{by}` rejected the result of {}: {feedback}", quoted(&names));
        if self.may_replan() {
            events.push(judged(review, Judgement::Replan { why }));
            return events;
        }
        let below = makers.iter().filter_map(|maker| self.step_index.get(&maker.spec.id)).flat_map(|at| {
            let below = self.waiting_below(*at).into_iter();
            below.map(|later| (later, self.steps[*at].spec.id.clone()))
        });
        let below: std::collections::BTreeMap<usize, crate::StepId> = below.collect();
        let skipped = below.into_iter().map(|(later, because)| {
            let step = self.steps[later].spec.id.clone();
            Event::StepSkipped { step, because }
        });
        events.extend(skipped);
        events.extend(fail(review, Failure::new(FailureKind::ModelBehavior, why)));
        events
    }

    /// The steps whose results a review judges: those that wrote the variables it reads, or otherwise those it comes
    /// after. If one of them builds on another, only the later one counts.
    fn makers(&self, review: &Step) -> Vec<&Step> {
        let Some(place) = self.step_index.get(&review.spec.id) else { return Vec::new() };
        let before = self.steps().filter(|step| {
            step.role == StepRole::Work
                && step.state == StepState::Done
                && step.next.contains(place)
                && !self.is_review(step)
        });
        let before: Vec<&Step> = before.collect();
        let writes = |step: &&&Step| step.spec.writes.iter().any(|name| review.spec.reads.contains(name));
        let writers: Vec<&Step> = before.iter().filter(writes).copied().collect();
        let makers = if writers.is_empty() { before } else { writers };
        let feeds_another = |maker: &&Step| {
            makers.iter().any(|other| other.spec.id != maker.spec.id && self.leads_to(maker, &other.spec.id))
        };
        makers.iter().filter(|maker| !feeds_another(maker)).copied().collect()
    }

    /// Whether one step's result is used by another, directly or through others.
    pub(super) fn leads_to(&self, from: &Step, to: &crate::StepId) -> bool {
        let mut seen = std::collections::BTreeSet::new();
        let mut todo: Vec<usize> = from.next.clone();
        while let Some(at) = todo.pop() {
            if self.steps[at].spec.id == *to {
                return true;
            }
            if seen.insert(at) {
                todo.extend(self.steps[at].next.iter().copied());
            }
        }
        false
    }
}

fn judged(step: &Step, verdict: Judgement) -> Event {
    Event::Judged { step: step.spec.id.clone(), verdict }
}
