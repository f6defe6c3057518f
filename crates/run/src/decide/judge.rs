//! Decides what follows from a model's judgement of a result.

use crate::event::{Event, Judgement};
use crate::reply::{Failure, FailureKind};
use crate::state::Run;
use crate::step::Step;

use super::conclusion::Conclusion;
use super::failed_step::fail;
use super::review::Review;

impl Run {
    pub(super) fn after_judgement(&self, step: &Step) -> Vec<Event> {
        let (Some(words), Some(answer)) = (step.side_answer.as_ref(), step.last_answer()) else {
            return fail(step, Failure::new(FailureKind::ModelBehavior, "the result could not be judged"));
        };
        let id = step.spec.id.clone();
        let verdict = match Review::read(&words.text, &[]) {
            Some(Review { conclusion: Conclusion::Retry, feedback, .. }) => Judgement::Retry { feedback },
            Some(Review { conclusion: Conclusion::Replan, feedback, .. }) if self.may_replan() => {
                Judgement::Replan { why: feedback }
            }
            Some(Review { conclusion: Conclusion::Pivot | Conclusion::Replan, feedback, .. }) => {
                Judgement::Pivot { feedback }
            }
            // A judge that gives no verdict does not stop the work.
            Some(Review { conclusion: Conclusion::Accept, .. }) | None => Judgement::Accept,
        };
        match &verdict {
            Judgement::Accept => {
                let mut events = vec![Event::Judged { step: id, verdict }];
                events.extend(self.accept(step, self.extracted(step, answer).found));
                events
            }
            Judgement::Replan { .. } | Judgement::GiveUp | Judgement::Reject { .. } | Judgement::Renewed { .. } => {
                vec![Event::Judged { step: id, verdict }]
            }
            Judgement::Retry { feedback }
            | Judgement::Pivot { feedback }
            | Judgement::Again { instruction: feedback } => {
                if self.may_re_enter(step) {
                    return vec![Event::Judged { step: id, verdict }];
                }
                let why = format!("its result was rejected {} times, most recently: {feedback}", step.visit + 1);
                fail(step, Failure::new(FailureKind::ModelBehavior, why))
            }
        }
    }
}
