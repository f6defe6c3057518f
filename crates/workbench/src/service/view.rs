//! Builds the view of a run that clients see.

use serde_json::Value;
use updraft_engine::{RunReport, command_to_go_on, failure_of, waiting_for, why_stopped};
use updraft_journal::Journal;
use updraft_run::{ProofFinding, ProofState, Run, RunId, RunPhase, Status, StepState};

use super::service_types::{PendingQuestion, RunView};
use crate::fault::Fault;
use crate::time_format;

/// The view of a run, from its journal.
pub(super) fn view(journal: &Journal, id: &RunId) -> Result<RunView, Fault> {
    Ok(of(&report(journal, id)?))
}

pub(super) fn report(journal: &Journal, id: &RunId) -> Result<RunReport, Fault> {
    Ok(RunReport::of(journal, id)?)
}

pub(super) fn of(report: &RunReport) -> RunView {
    let run = &report.run;
    let waits: Vec<PendingQuestion> = waiting_for(run).iter().map(wait).collect();
    let status = seen(run, report.head.is_owned());
    RunView {
        run: report.head.id.to_string(),
        status,
        message: message(&report.head.id, run, status, &waits),
        goal: run.goal().text.clone(),
        answer: report.answer(),
        waits: if status == Status::Waiting { waits } else { Vec::new() },
        done: run.steps().filter(|step| step.has_ended()).count(),
        steps: run.steps().count(),
        statistics: serde_json::to_value(report.statistics()).unwrap_or_default(),
        created: time_format::iso(report.head.created),
        updated: time_format::iso(report.ended),
    }
}

/// The answer of a run that has ended, or why there is none.
pub(super) fn final_answer(run: &Run) -> String {
    match run.phase() {
        RunPhase::Over { answer, .. } if !answer.trim().is_empty() => answer.to_string(),
        _ => failure_of(run).map_or_else(|| run.answer(), |why| why.message.clone()),
    }
}

/// The status of a run for clients: a run that rests until it is resumed is paused, for whatever reason.
fn seen(run: &Run, is_owned: bool) -> Status {
    match run.status() {
        // If it was answered and its owner has not read the answer yet, it is about to continue.
        Status::Running | Status::Waiting if run.is_at_rest() && (!is_owned || !waiting_for(run).is_empty()) => {
            Status::Waiting
        }
        Status::Exhausted => Status::Paused,
        // The process that drove it is gone, and no other has taken it over.
        Status::Running | Status::Waiting | Status::Cancelling if !is_owned => Status::Paused,
        Status::New | Status::Running | Status::Waiting | Status::Cancelling => Status::Running,
        other => other,
    }
}

fn message(id: &RunId, run: &Run, status: Status, waits: &[PendingQuestion]) -> String {
    match status {
        Status::Done => "it is done".to_owned(),
        Status::Unproved => format!("it is done, unproved: {}", unproved(run).join("; ")),
        Status::Failed | Status::NotDone | Status::Cancelled => {
            failure_of(run).map(|why| why.message.clone()).unwrap_or_default()
        }
        Status::Waiting => waits.first().map_or_else(|| "it waits".to_owned(), |wait| wait.text.clone()),
        Status::Paused => match run.phase() {
            RunPhase::Exhausted(_) => {
                let why = why_stopped(run).unwrap_or_default();
                format!("{why}; `{}` continues it", command_to_go_on(id, run))
            }
            RunPhase::Paused => "a person paused it".to_owned(),
            _ => "it was interrupted: the process that ran it is gone; resume it to continue".to_owned(),
        },
        _ => at_work(run),
    }
}

/// The requirements that nothing shows to be met.
fn unproved(run: &Run) -> Vec<String> {
    let is_open = |found: Option<&ProofFinding>| found.is_none_or(|found| found.state != ProofState::Proved);
    run.proof().findings().filter(|(_, found)| is_open(*found)).map(|(one, _)| one.text.clone()).collect()
}

fn at_work(run: &Run) -> String {
    let is_busy = |state: &StepState| !matches!(state, StepState::Waiting | StepState::Ready);
    let busy = run.steps().filter(|step| !step.has_ended() && is_busy(&step.state));
    let busy: Vec<String> = busy.take(3).map(|step| format!("{} ({})", step.spec.id, step.spec.agent)).collect();
    if busy.is_empty() { "it is about to continue".to_owned() } else { format!("working: {}", busy.join(", ")) }
}

pub(super) fn wait(value: &Value) -> PendingQuestion {
    let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let options = value["options"].as_array().into_iter().flatten();
    PendingQuestion {
        id: text("id"),
        is_approval: value["kind"] == "approval",
        text: text("text"),
        options: options.filter_map(Value::as_str).map(str::to_owned).collect(),
        call: value["call"].clone(),
        form: Some(value["form"].clone()).filter(Value::is_object),
        is_inquiry: value["from"].is_string(),
    }
}
