//! Lists of tasks: filtered, the one that changed last first, in pages.

use serde::Deserialize;
use serde_json::{Value, json};
use updraft_run::{RunId, Timestamp};
use updraft_workbench::service::RunHead;
use updraft_workbench::time_format;

use super::A2aState;
use super::failure::{A2aFailure, A2aResult};
use super::operations::{history, whole_number};
use super::task_json::{TaskParts, state_of, task};
use super::task_note::tasks_in;

/// The states that a list can be filtered by.
const STATES: [&str; 9] = [
    "TASK_STATE_UNSPECIFIED",
    "TASK_STATE_SUBMITTED",
    "TASK_STATE_WORKING",
    "TASK_STATE_COMPLETED",
    "TASK_STATE_FAILED",
    "TASK_STATE_CANCELED",
    "TASK_STATE_INPUT_REQUIRED",
    "TASK_STATE_REJECTED",
    "TASK_STATE_AUTH_REQUIRED",
];

/// Which tasks are listed.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct TaskListRequest {
    context_id: String,
    status: String,
    #[serde(deserialize_with = "whole_number")]
    page_size: Option<i64>,
    page_token: String,
    #[serde(deserialize_with = "whole_number")]
    history_length: Option<i64>,
    status_timestamp_after: String,
    include_artifacts: bool,
}

/// One page of tasks.
pub(super) async fn list(state: &A2aState, request: TaskListRequest) -> A2aResult<Value> {
    let size = usize::try_from(request.page_size.unwrap_or(50)).ok().filter(|size| (1..=100).contains(size));
    let size = size.ok_or_else(|| A2aFailure::params("`pageSize` is a number from 1 to 100"))?;
    let parts = TaskParts { history: history(request.history_length)?, artifacts: request.include_artifacts };
    if !request.status.is_empty() && !STATES.contains(&request.status.as_str()) {
        return Err(A2aFailure::params(format!("`{}` is no state of a task", request.status)));
    }
    let since = match request.status_timestamp_after.as_str() {
        "" => Timestamp(i64::MIN),
        // A plus sign in an address is a space.
        text => time_format::read(&text.replace(' ', "+"))
            .ok_or_else(|| A2aFailure::params("`statusTimestampAfter` is a time as in ISO 8601"))?,
    };
    let after = (!request.page_token.is_empty()).then(|| cursor(&request.page_token)).transpose()?;
    let runs = state.service.runs.clone();
    let mut heads = tokio::task::spawn_blocking(move || runs.heads()).await??;
    if !request.context_id.is_empty() {
        let wanted = tasks_in(&state.service.runs, &request.context_id)?;
        heads.retain(|head| wanted.contains(&head.id));
    }
    heads.retain(|head| {
        let is_wanted = matches!(request.status.as_str(), "" | "TASK_STATE_UNSPECIFIED");
        (is_wanted || state_of(head.status) == request.status) && head.updated >= since
    });
    let total = heads.len();
    let is_left = |head: &&RunHead| after.as_ref().is_none_or(|(at, id)| (head.updated, &head.id) < (*at, id));
    let left: Vec<&RunHead> = heads.iter().filter(is_left).take(size + 1).collect();
    let next = left.get(size).and(left.get(size - 1)).map(|last| format!("{}.{}", last.updated.0, last.id));
    let mut tasks = Vec::new();
    for head in left.into_iter().take(size) {
        let mut listed = task(state, &head.id, parts).await?;
        if !parts.artifacts
            && let Some(fields) = listed.as_object_mut()
        {
            fields.remove("artifacts");
        }
        tasks.push(listed);
    }
    Ok(
        json!({ "pageSize": tasks.len(), "tasks": tasks, "nextPageToken": next.unwrap_or_default(), "totalSize": total }),
    )
}

/// The task after which a page begins.
fn cursor(token: &str) -> A2aResult<(Timestamp, RunId)> {
    let read = || {
        let (at, id) = token.split_once('.')?;
        Some((Timestamp(at.parse().ok()?), RunId::parse(id).ok()?))
    };
    read().ok_or_else(|| A2aFailure::params("`pageToken` is not one that this server gave"))
}
