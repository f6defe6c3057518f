//! What follows from a model's judgement of a result.

use serde_json::Value;

use crate::event::{Event, Judgement};
use crate::extract::{extract, object_in, plain};
use crate::reply::{Failure, FailureKind};
use crate::state::Run;
use crate::step::Step;

use super::fall::fail;

impl Run {
    pub(super) fn after_judgement(&self, step: &Step) -> Vec<Event> {
        let (Some(words), Some(answer)) = (step.aside.as_ref(), step.last_answer()) else {
            return fail(step, Failure::new(FailureKind::ModelBehavior, "the result could not be judged"));
        };
        let object = object_in(&words.text).unwrap_or_default();
        let feedback = object.get("feedback").map(plain).unwrap_or_default();
        let id = step.spec.id.clone();
        let verdict = object.get("verdict").and_then(Value::as_str).map(str::to_ascii_lowercase);
        let verdict = match verdict.as_deref() {
            Some("retry") => Judgement::Retry { feedback },
            Some("pivot") => Judgement::Pivot { feedback },
            Some("replan") if self.may_replan() => Judgement::Replan { why: feedback },
            Some("replan") => Judgement::Pivot { feedback },
            // A judge that says nothing we understand does not stop the work.
            Some(_) | None => Judgement::Accept,
        };
        match &verdict {
            Judgement::Accept => {
                let mut events = vec![Event::Judged { step: id, verdict }];
                events.extend(self.accept(step, answer, extract(step, answer).found, false));
                events
            }
            Judgement::Replan { .. } | Judgement::GiveUp => vec![Event::Judged { step: id, verdict }],
            Judgement::Retry { feedback }
            | Judgement::Pivot { feedback }
            | Judgement::Again { instruction: feedback } => {
                if self.may_re_enter(step) {
                    return vec![Event::Judged { step: id, verdict }];
                }
                let why = format!("its result was rejected {} times, lastly: {feedback}", step.visit + 1);
                fail(step, Failure::new(FailureKind::ModelBehavior, why))
            }
        }
    }
}
