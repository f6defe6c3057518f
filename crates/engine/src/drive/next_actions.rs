//! What records lead to: which effects may begin, and which must stop.

use updraft_run::{EffectAddress, Event, Input, Judgement, Record, StepId};

/// What to begin or stop after a batch of records.
#[derive(Debug, Default)]
pub(crate) struct NextActions {
    /// Effects that became possible.
    pub(crate) effects: Vec<EffectAddress>,
    /// Check everything that is open.
    pub(crate) everything: bool,
    /// Some effects may no longer be wanted.
    pub(crate) stop: bool,
    /// Steps whose visit is over.
    pub(crate) left: Vec<StepId>,
    /// Agents, prompts or tools were loaded again.
    pub(crate) reload: bool,
}

impl NextActions {
    pub(crate) fn after(records: &[Record]) -> Self {
        let mut next = Self::default();
        for (record, event) in records.iter().flat_map(|record| record.events.iter().map(move |event| (record, event)))
        {
            next.left.extend(left_by(event).cloned());
            match event {
                Event::Wanted { id, .. } | Event::Reserved { id, .. } | Event::Interrupted { id, .. } => {
                    next.effects.push(id.clone());
                }
                Event::Resumed { .. } | Event::Forked { .. } => next.everything = true,
                Event::Reloaded { .. } => next.reload = true,
                // It was closed together with the code that called it.
                Event::Replied { id, .. } if id.inner.is_some() && !is_reply_to(&record.input, id) => next.stop = true,
                Event::Cancelled { .. }
                | Event::StepCancelled { .. }
                | Event::StepFailed { .. }
                | Event::Judged { .. }
                | Event::Finished { .. } => next.stop = true,
                Event::Started(_)
                | Event::Told { .. }
                | Event::Profiled { .. }
                | Event::Planned { .. }
                | Event::Required { .. }
                | Event::Held { .. }
                | Event::Begun { .. }
                | Event::Noted { .. }
                | Event::Replied { .. }
                | Event::Wished { .. }
                | Event::Awaited { .. }
                | Event::Rejected { .. }
                | Event::Advised { .. }
                | Event::Wrote { .. }
                | Event::Cited { .. }
                | Event::Proved { .. }
                | Event::StepDone { .. }
                | Event::Halted { .. }
                | Event::StepSkipped { .. }
                | Event::Compacted { .. }
                | Event::Shortened { .. }
                | Event::WindowLearnt { .. }
                | Event::Paused
                | Event::Marked { .. }
                | Event::Confined { .. }
                | Event::Tightened { .. }
                | Event::Imported
                | Event::Adopted { .. }
                | Event::Named { .. }
                | Event::Exhausted { .. } => {}
            }
        }
        // After a crash, effects that were wanted and never begun must be found among all open ones.
        next.everything |= records.iter().any(|record| matches!(record.input, Input::Recovered { .. }));
        next
    }
}

/// The step whose visit an event ends.
fn left_by(event: &Event) -> Option<&StepId> {
    match event {
        Event::StepDone { step, .. } | Event::StepFailed { step, .. } | Event::StepCancelled { step } => Some(step),
        Event::Judged { step, verdict } if *verdict != Judgement::Accept => Some(step),
        _ => None,
    }
}

fn is_reply_to(input: &Input, id: &EffectAddress) -> bool {
    matches!(input, Input::Replied { id: own, .. } if own == id)
}
