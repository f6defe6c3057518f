//! A run as someone outside sees it.

use serde_json::Value;
use updraft_engine::{Report, command_to_go_on, failure_of, waiting_for, why_stopped};
use updraft_journal::Journal;
use updraft_mcp::server::{Refusal, Stand, View, Wait};
use updraft_run::{Phase, Run, RunId, State, Timestamp};

/// How a run stands, from its journal.
pub(crate) fn view(journal: &Journal, id: &RunId) -> Result<View, Refusal> {
    Ok(of(&report(journal, id)?))
}

pub(crate) fn report(journal: &Journal, id: &RunId) -> Result<Report, Refusal> {
    Report::of(journal, id).map_err(|error| Refusal(error.to_string()))
}

pub(crate) fn of(report: &Report) -> View {
    let run = &report.run;
    let waits: Vec<Wait> = waiting_for(run).iter().map(wait).collect();
    let stand = stand(run, report.head.is_owned());
    View {
        run: report.head.id.to_string(),
        stand,
        message: message(&report.head.id, run, stand, &waits),
        goal: run.goal().text.clone(),
        answer: report.answer(),
        waits: if stand == Stand::Waiting { waits } else { Vec::new() },
        done: run.steps().filter(|step| step.has_ended()).count(),
        steps: run.steps().count(),
        statistics: serde_json::to_value(report.statistics()).unwrap_or_default(),
        created: moment(report.head.created),
        updated: moment(report.ended),
    }
}

fn stand(run: &Run, is_owned: bool) -> Stand {
    match run.phase() {
        Phase::Over { failed: Some(why), .. } if why.kind == updraft_run::FailureKind::Cancelled => Stand::Cancelled,
        Phase::Over { failed: Some(_), .. } => Stand::Failed,
        Phase::Over { failed: None, .. } => Stand::Done,
        Phase::Paused | Phase::Exhausted(_) => Stand::Paused,
        // It may have been answered by now, and its owner has not taken it yet: then it is about to go on.
        Phase::Running if run.is_at_rest() && (!is_owned || !waiting_for(run).is_empty()) => Stand::Waiting,
        // Whoever was at work on it is gone, and nobody else has taken it.
        Phase::Running | Phase::Cancelling { .. } if !is_owned => Stand::Paused,
        Phase::New | Phase::Running | Phase::Cancelling { .. } => Stand::Working,
    }
}

fn message(id: &RunId, run: &Run, stand: Stand, waits: &[Wait]) -> String {
    match stand {
        Stand::Done => "it ended well".to_owned(),
        Stand::Failed | Stand::Cancelled => failure_of(run).map(|why| why.message.clone()).unwrap_or_default(),
        Stand::Waiting => waits.first().map_or_else(|| "it waits".to_owned(), |wait| wait.text.clone()),
        Stand::Paused => match run.phase() {
            Phase::Exhausted(_) => {
                let why = why_stopped(run).unwrap_or_default();
                format!("{why}; `{}` goes on", command_to_go_on(id, run))
            }
            Phase::Paused => "a person paused it".to_owned(),
            _ => "it was interrupted: the process that was at work on it is gone; resume it to go on".to_owned(),
        },
        Stand::Working => at_work(run),
    }
}

fn at_work(run: &Run) -> String {
    let is_busy = |state: &State| !matches!(state, State::Waiting | State::Ready);
    let busy = run.steps().filter(|step| !step.has_ended() && is_busy(&step.state));
    let busy: Vec<String> = busy.take(3).map(|step| format!("{} ({})", step.spec.id, step.spec.agent)).collect();
    if busy.is_empty() { "it is about to go on".to_owned() } else { format!("at work: {}", busy.join(", ")) }
}

fn wait(value: &Value) -> Wait {
    let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let options = value["options"].as_array().into_iter().flatten();
    Wait {
        id: text("id"),
        is_approval: value["kind"] == "approval",
        text: text("text"),
        options: options.filter_map(Value::as_str).map(str::to_owned).collect(),
        call: value["call"].clone(),
        form: Some(value["form"].clone()).filter(Value::is_object),
        is_inquiry: value["from"].is_string(),
    }
}

/// A moment as in RFC 3339.
fn moment(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.0).map_or_else(|_| at.0.to_string(), |at| at.to_string())
}
