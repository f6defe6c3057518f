//! Which step an event belongs to.

use super::Event;
use crate::id::StepId;

impl Event {
    /// The step that the event belongs to; `None` if it concerns the whole run.
    pub fn step(&self) -> Option<&StepId> {
        match self {
            Event::Wanted { id, .. }
            | Event::Reserved { id, .. }
            | Event::Held { id, .. }
            | Event::Begun { id, .. }
            | Event::Noted { id, .. }
            | Event::Replied { id, .. }
            | Event::Interrupted { id, .. }
            | Event::Wished { id, .. }
            | Event::Awaited { id }
            | Event::Rejected { id, .. } => Some(&id.step),
            Event::Advised { step, .. }
            | Event::Wrote { step, .. }
            | Event::Cited { step, .. }
            | Event::Judged { step, .. }
            | Event::Proved { step, .. }
            | Event::StepDone { step, .. }
            | Event::Halted { step, .. }
            | Event::StepFailed { step, .. }
            | Event::StepSkipped { step, .. }
            | Event::StepCancelled { step }
            | Event::Compacted { step, .. }
            | Event::Shortened { step, .. } => Some(step),
            Event::Started(_)
            | Event::Forked { .. }
            | Event::Told { .. }
            | Event::Profiled { .. }
            | Event::Planned { .. }
            | Event::Required { .. }
            | Event::Paused
            | Event::Resumed { .. }
            | Event::Marked { .. }
            | Event::Confined { .. }
            | Event::Tightened { .. }
            | Event::Reloaded { .. }
            | Event::Imported
            | Event::WindowLearnt { .. }
            | Event::Adopted { .. }
            | Event::Cancelled { .. }
            | Event::Exhausted { .. }
            | Event::Named { .. }
            | Event::Finished { .. } => None,
        }
    }
}
