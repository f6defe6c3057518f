//! A run as a task of the protocol.

use rmcp::model::{DetailedTask, JsonObject, Task, TaskPayload, TaskStatus};
use serde_json::Value;

use super::{asking, shapes};
use crate::server::face::{Stand, View};

/// How long a client should let pass between two looks, in milliseconds: a turn of a model takes longer.
const POLL: u64 = 1_000;

/// A run as a task, for the moment it is handed out. It is kept for as long as the journal keeps the run.
pub(super) fn task(view: &View) -> Task {
    let status = match view.stand {
        Stand::Working | Stand::Paused => TaskStatus::Working,
        Stand::Waiting => TaskStatus::InputRequired,
        Stand::Done | Stand::Failed => TaskStatus::Completed,
        Stand::Cancelled => TaskStatus::Cancelled,
    };
    Task::new(view.run.clone(), status, view.created.clone(), view.updated.clone())
        .with_status_message(view.message.clone())
        .with_poll_interval_ms(POLL)
}

/// A run as a task with what it waits for or came to. A run that failed is a task that is complete with an error: only
/// errors of the protocol are failures there.
pub(super) fn detailed(view: &View) -> DetailedTask {
    let payload = match view.stand {
        Stand::Working | Stand::Paused => TaskPayload::Working,
        Stand::Waiting => TaskPayload::InputRequired { input_requests: asking::requests(view) },
        Stand::Done | Stand::Failed => TaskPayload::Completed { result: result(view) },
        Stand::Cancelled => TaskPayload::Cancelled,
    };
    DetailedTask::new(task(view), payload)
}

fn result(view: &View) -> JsonObject {
    match serde_json::to_value(shapes::result(view)) {
        Ok(Value::Object(result)) => result,
        _ => JsonObject::new(),
    }
}
