//! The whole output of an earlier call of a step, so that tools can read again what its model is not shown.

use std::ops::ControlFlow;

use updraft_journal::Journal;
use updraft_run::{EffectAddress, Event, Record, Reply, Run, RunId, StepId, ToolCallOutcome, outcome_words};

/// The output of the call with this number, if it is a call of this step. Other steps have read from other places, so
/// their outputs are not handed on.
pub(crate) fn kept_output(journal: &Journal, id: &RunId, step: &StepId, n: u32) -> Option<String> {
    let mut run = Run::default();
    let folded = journal.read(id, 0, &mut |_, record: Record| {
        run.record(&record);
        ControlFlow::Continue(())
    });
    folded.ok()?;
    let call = run.numbered_call(n).filter(|call| call.step == *step)?;
    match reply_to(journal, id, call)? {
        Reply::Output(output) => match output.whole {
            Some(whole) => Some(String::from_utf8_lossy(&journal.blob(&whole.hash).ok()??).into_owned()),
            None => Some(output.text.clone()),
        },
        other => Some(outcome_words(&ToolCallOutcome::Replied(other)).into_owned()),
    }
}

fn reply_to(journal: &Journal, id: &RunId, call: &EffectAddress) -> Option<Reply> {
    let mut found = None;
    let read = journal.read(id, 0, &mut |_, record: Record| {
        for event in record.events {
            if let Event::Replied { id, reply, .. } = event
                && id == *call
            {
                found = Some(reply);
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    });
    read.ok()?;
    found
}
