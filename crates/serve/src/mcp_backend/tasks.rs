//! Presents a run as a task of the protocol.

use serde_json::Value;
use updraft_mcp::server::model::{DetailedTask, JsonObject, Task, TaskPayload, TaskStatus};
use updraft_run::Status;
use updraft_workbench::service::RunView;

use super::{forms, results};

/// The suggested interval between polls, in milliseconds: a turn of a model takes longer.
const POLL: u64 = 1_000;

/// A run as a task, in its current state. It exists for as long as the run is in the journal.
pub(super) fn task(view: &RunView) -> Task {
    let status = match view.status {
        Status::Waiting => TaskStatus::InputRequired,
        Status::Done | Status::Unproved | Status::NotDone | Status::Failed => TaskStatus::Completed,
        Status::Cancelled => TaskStatus::Cancelled,
        _ => TaskStatus::Working,
    };
    Task::new(view.run.clone(), status, view.created.clone(), view.updated.clone())
        .with_status_message(view.message.clone())
        .with_poll_interval_ms(POLL)
}

/// A run as a task, with what it waits for or its result. A run that failed is a completed task with an error result:
/// in the protocol, only protocol errors are failures.
pub(super) fn detailed(view: &RunView) -> DetailedTask {
    let payload = match view.status {
        Status::Waiting => TaskPayload::InputRequired { input_requests: forms::requests(view) },
        Status::Done | Status::Unproved | Status::NotDone | Status::Failed => {
            TaskPayload::Completed { result: result(view) }
        }
        Status::Cancelled => TaskPayload::Cancelled,
        _ => TaskPayload::Working,
    };
    DetailedTask::new(task(view), payload)
}

fn result(view: &RunView) -> JsonObject {
    match serde_json::to_value(results::result(view)) {
        Ok(Value::Object(result)) => result,
        _ => JsonObject::new(),
    }
}
