//! What the turns of a step said that a summary has replaced since, so that `recall` can find it again.

use std::ops::ControlFlow;

use updraft_journal::Journal;
use updraft_run::{
    EffectKind, Event, ModelAnswer, Record, Reply, RunId, StepId, ToolCall, ToolCallOutcome, outcome_words,
};

use crate::turn_messages::answer_in_words;

/// The answers and results of a step up to its last summary, oldest first: the address of each, and its text. What
/// `recall` was asked and gave is left out, and so are the summaries: they repeat what others said. If the journal cannot
/// be read now, there are none.
pub(crate) fn replaced_turns(journal: &Journal, run: &RunId, step: &StepId) -> Vec<(String, String)> {
    let (mut replaced, mut newest) = (Vec::new(), Vec::new());
    // Which calls of the last answer are for `recall`.
    let mut recalls: Vec<bool> = Vec::new();
    let read = journal.read(run, 0, &mut |_, record: Record| {
        for event in &record.events {
            match event {
                Event::Replied { id, .. } if id.step != *step || id.kind == EffectKind::Compact => {}
                Event::Replied { id, reply: Reply::Answer(answer), .. } => {
                    if id.kind == EffectKind::Ask {
                        recalls = answer.calls.iter().map(is_recall).collect();
                    }
                    let mut answer = ModelAnswer::clone(answer);
                    answer.calls.retain(|call| !is_recall(call));
                    let text = answer_in_words(&answer);
                    if !text.is_empty() {
                        newest.push((id.to_string(), text));
                    }
                }
                Event::Replied { id, reply, .. } => {
                    let is_found = id.kind == EffectKind::Call && recalls.get(id.n as usize) == Some(&true);
                    if !is_found {
                        let text = outcome_words(&ToolCallOutcome::Replied(reply.clone())).into_owned();
                        newest.push((id.to_string(), text));
                    }
                }
                Event::Compacted { step: compacted, .. } if compacted == step => replaced.append(&mut newest),
                _ => {}
            }
        }
        ControlFlow::Continue(())
    });
    if read.is_ok() { replaced } else { Vec::new() }
}

/// Whether a call looks for what was kept, by either of its names.
fn is_recall(call: &ToolCall) -> bool {
    call.name == "recall" || call.name == "memory" && call.args.get("find").is_some()
}
