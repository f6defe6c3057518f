//! Logs what a run does: each step and each call with its outcome. Only ids, names and numbers; texts and results stay
//! in the journal.

use tracing::{Level, enabled, info, warn};
use updraft_run::{Effect, EffectAddress, EffectKind, Event, PlanReason, Record, Reply, Run, RunId, StepId};

/// Whether the log is enabled.
pub(super) fn is_on() -> bool {
    enabled!(Level::INFO)
}

/// Logs a record that is on disk; `run` is the run after it.
pub(crate) fn log(id: &RunId, record: &Record, run: &Run) {
    if is_on() {
        record.events.iter().for_each(|event| line(id, event, run));
    }
}

fn line(run_id: &RunId, event: &Event, run: &Run) {
    let agent = |step: &StepId| run.step(step).map(|step| step.spec.agent.clone()).unwrap_or_default();
    match event {
        Event::Started(start) => {
            let settings = &start.settings;
            info!(run = %run_id, model = settings.model, workspace = settings.workspace, "run started");
        }
        Event::Planned { graph, because, .. } if *because != PlanReason::Goal => {
            info!(run = %run_id, steps = graph.steps.len(), "planned");
        }
        Event::Wanted { id, effect: Effect::Ask } if id.kind == EffectKind::Ask && id.turn == 0 => {
            info!(run = %run_id, step = %id.step, agent = agent(&id.step), visit = id.visit, "step started");
        }
        Event::Wanted { id, effect: Effect::Call } => {
            info!(run = %run_id, call = %id, tool = tool(run, id), "call started");
        }
        Event::Wanted { id, effect: Effect::Question { .. } } => info!(run = %run_id, %id, "waits for an answer"),
        Event::Wanted { id, effect: Effect::Approval { .. } } => info!(run = %run_id, %id, "waits for an approval"),
        Event::Replied { id, reply, .. } => reply_line(run_id, id, reply, run),
        Event::Interrupted { id, attempt } => warn!(run = %run_id, %id, attempt, "attempt interrupted"),
        Event::Rejected { id, why } => {
            warn!(run = %run_id, call = %id, tool = tool(run, id), kind = why.kind.name(), "call refused");
        }
        Event::StepDone { step, best_effort, .. } => {
            let turns = run.step(step).map_or(0, |step| step.ledger.turns);
            info!(run = %run_id, %step, turns, unfinished = best_effort, "step done");
        }
        Event::StepFailed { step, why } => warn!(run = %run_id, %step, kind = why.kind.name(), "step failed"),
        Event::StepSkipped { step, because } => info!(run = %run_id, %step, %because, "step skipped"),
        Event::StepCancelled { step } => info!(run = %run_id, %step, "step cancelled"),
        Event::Paused => info!(run = %run_id, "run paused"),
        Event::Resumed { .. } => info!(run = %run_id, "run resumed"),
        Event::Cancelled { by } => info!(run = %run_id, by, "run cancelled"),
        Event::Exhausted { which } => warn!(run = %run_id, limit = which.flag().0, "limit reached"),
        Event::Finished { failed: None, .. } => info!(run = %run_id, "run done"),
        Event::Finished { failed: Some(why), .. } => warn!(run = %run_id, kind = why.kind.name(), "run failed"),
        Event::Forked { .. }
        | Event::Told { .. }
        | Event::Profiled { .. }
        | Event::Planned { .. }
        | Event::Required { .. }
        | Event::Wanted { .. }
        | Event::Reserved { .. }
        | Event::Held { .. }
        | Event::Begun { .. }
        | Event::Noted { .. }
        | Event::Wished { .. }
        | Event::Awaited { .. }
        | Event::Advised { .. }
        | Event::Wrote { .. }
        | Event::Cited { .. }
        | Event::Judged { .. }
        | Event::Proved { .. }
        | Event::Halted { .. }
        | Event::Compacted { .. }
        | Event::Shortened { .. }
        | Event::WindowLearnt { .. }
        | Event::Marked { .. }
        | Event::Confined { .. }
        | Event::Tightened { .. }
        | Event::Named { .. }
        | Event::Reloaded { .. }
        | Event::Imported
        | Event::Adopted { .. } => {}
    }
}

fn reply_line(run_id: &RunId, id: &EffectAddress, reply: &Reply, run: &Run) {
    if id.kind != EffectKind::Call {
        // A model's answer is a turn of its step; the number of turns is logged when the step ends.
        if let Reply::Failed(why) = reply {
            warn!(run = %run_id, %id, kind = why.kind.name(), "a model did not answer");
        }
        return;
    }
    let tool = tool(run, id);
    match reply {
        Reply::Output(output) => {
            let exit_code = output.value.as_ref().and_then(|value| value["exit_code"].as_i64());
            let outcome = if output.is_error { "failed" } else { "done" };
            info!(run = %run_id, call = %id, tool, outcome, exit_code, "call ended");
        }
        Reply::Failed(why) => {
            info!(run = %run_id, call = %id, tool, outcome = "failed", kind = why.kind.name(), "call ended");
        }
        Reply::TimedOut { .. } => info!(run = %run_id, call = %id, tool, outcome = "timed out", "call ended"),
        Reply::Cancelled => info!(run = %run_id, call = %id, tool, outcome = "cancelled", "call ended"),
        Reply::InDoubt { .. } => warn!(run = %run_id, call = %id, tool, outcome = "unknown", "call ended"),
        _ => info!(run = %run_id, call = %id, tool, outcome = "done", "call ended"),
    }
}

fn tool(run: &Run, id: &EffectAddress) -> String {
    run.call_at(id).map(|call| call.name).unwrap_or_default()
}
