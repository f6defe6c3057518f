//! What the turns of a step said that a summary has replaced since, so that `recall` can find it again.

use std::ops::ControlFlow;

use updraft_journal::Journal;
use updraft_run::{Event, Record, Reply, RunId, StepId, ToolCallOutcome, outcome_words};

use crate::conversation::answer_in_words;

/// The answers and results of a step up to its last summary, oldest first: the address of each, and its text. If the
/// journal cannot be read now, there are none.
pub(crate) fn replaced_turns(journal: &Journal, run: &RunId, step: &StepId) -> Vec<(String, String)> {
    let (mut replaced, mut newest) = (Vec::new(), Vec::new());
    let read = journal.read(run, 0, &mut |_, record: Record| {
        for event in &record.events {
            match event {
                Event::Replied { id, reply, .. } if id.step == *step => {
                    let text = match reply {
                        Reply::Answer(answer) => answer_in_words(answer),
                        other => outcome_words(&ToolCallOutcome::Replied(other.clone())).into_owned(),
                    };
                    newest.push((id.to_string(), text));
                }
                Event::Compacted { step: compacted, .. } if compacted == step => replaced.append(&mut newest),
                _ => {}
            }
        }
        ControlFlow::Continue(())
    });
    if read.is_ok() { replaced } else { Vec::new() }
}
