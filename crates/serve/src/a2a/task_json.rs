//! Runs as tasks: their states, messages and artifacts in A2A's words.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use updraft_run::{RunId, Status, Timestamp};
use updraft_workbench::service::{NumberedMoment, PendingQuestion, RunMoment};
use updraft_workbench::time_format;

use super::A2aState;
use super::failure::A2aResult;
use super::task_note::TaskNote;
use crate::wait_words::question;

/// Most files of a run that are sent, and most bytes of one.
const MOST_FILES: usize = 20;
const MOST_BYTES: u64 = 1 << 20;

/// Which parts of a task are written.
#[derive(Clone, Copy, Debug)]
pub(super) struct TaskParts {
    /// At most this many messages, the newest; all if absent.
    pub(super) history: Option<usize>,
    pub(super) artifacts: bool,
}

impl TaskParts {
    /// Everything.
    pub(super) const ALL: Self = Self { history: None, artifacts: true };
}

/// The state of a run as a task. One that rests until a person does something needs input.
pub(super) fn state_of(status: Status) -> &'static str {
    match status {
        Status::New => "TASK_STATE_SUBMITTED",
        Status::Running | Status::Cancelling => "TASK_STATE_WORKING",
        Status::Waiting | Status::Paused | Status::Exhausted => "TASK_STATE_INPUT_REQUIRED",
        Status::Done | Status::Unproved => "TASK_STATE_COMPLETED",
        Status::Cancelled => "TASK_STATE_CANCELED",
        Status::Failed | Status::NotDone => "TASK_STATE_FAILED",
        _ => "TASK_STATE_UNSPECIFIED",
    }
}

/// Whether a task has ended.
pub(super) fn is_terminal(task: &Value) -> bool {
    let state = task["status"]["state"].as_str().unwrap_or_default();
    matches!(state, "TASK_STATE_COMPLETED" | "TASK_STATE_CANCELED" | "TASK_STATE_FAILED" | "TASK_STATE_REJECTED")
}

/// Whether a task is at work, so that there is nothing to do for its client but wait.
pub(super) fn is_working(task: &Value) -> bool {
    matches!(task["status"]["state"].as_str(), Some("TASK_STATE_SUBMITTED" | "TASK_STATE_WORKING"))
}

/// A run as a task.
pub(super) async fn task(state: &A2aState, run: &RunId, parts: TaskParts) -> A2aResult<Value> {
    let runs = &state.service.runs;
    let (head, view) = (runs.head(run)?, runs.view(run.as_str()).await?);
    let note = TaskNote::of(runs, run, &view.goal)?;
    let place = TaskPlace { run, context: &note.context };
    let words = match view.status {
        Status::Waiting if !view.waits.is_empty() => StatusWords::Question(&view.waits),
        Status::Done => StatusWords::Remark(""),
        _ => StatusWords::Remark(&view.message),
    };
    let status = place.status(state_of(view.status), words, head.updated);
    let mut task = json!({ "id": run.as_str(), "contextId": note.context, "status": status });
    let first = parts.history.map_or(0, |most| note.messages.len().saturating_sub(most));
    if first < note.messages.len() {
        task["history"] = note.messages[first..].into();
    }
    if parts.artifacts {
        let made = if view.status.is_final() { artifacts(state, run, &view.answer).await? } else { Vec::new() };
        task["artifacts"] = made.into();
    }
    Ok(task)
}

/// What a run asks a person, as one text.
pub(super) fn asked(waits: &[PendingQuestion]) -> String {
    waits.iter().map(question).collect::<Vec<_>>().join("\n\n")
}

/// The answer of a run, and the files that it has made or changed.
async fn artifacts(state: &A2aState, run: &RunId, answer: &str) -> A2aResult<Vec<Value>> {
    let mut made = Vec::new();
    if !answer.trim().is_empty() {
        let part = json!({ "text": answer, "mediaType": "text/markdown" });
        made.push(json!({ "artifactId": "answer", "name": "answer", "parts": [part] }));
    }
    let (runs, id) = (state.service.runs.clone(), run.clone());
    let files = tokio::task::spawn_blocking(move || runs.files_of(&id)).await??;
    for path in files.into_iter().take(MOST_FILES) {
        let part = match state.service.files.bytes(&path, MOST_BYTES).await {
            Ok(Some(bytes)) => match String::from_utf8(bytes) {
                Ok(text) => json!({ "text": text, "filename": path, "mediaType": "text/plain" }),
                Err(binary) => json!({ "raw": STANDARD.encode(binary.as_bytes()), "filename": path,
                                       "mediaType": "application/octet-stream" }),
            },
            Ok(None) => json!({ "data": { "path": path, "why": "it is too large to be sent" } }),
            // It is gone again, or nobody may read it.
            Err(_) => continue,
        };
        made.push(json!({ "artifactId": format!("file {path}"), "name": path, "parts": [part] }));
    }
    Ok(made)
}

/// What is said with the state of a task.
#[derive(Clone, Copy)]
enum StatusWords<'a> {
    Question(&'a [PendingQuestion]),
    Remark(&'a str),
}

/// Where messages and updates belong.
#[derive(Clone, Copy)]
pub(super) struct TaskPlace<'a> {
    pub(super) run: &'a RunId,
    pub(super) context: &'a str,
}

impl TaskPlace<'_> {
    /// The id of the message of this agent about what has an id in the run.
    pub(super) fn message_id(self, id: &str) -> String {
        format!("{}-{id}", self.run)
    }

    /// A message of this agent.
    pub(super) fn message(self, id: &str, words: &str) -> Value {
        json!({ "messageId": self.message_id(id), "contextId": self.context, "taskId": self.run.as_str(),
                "role": "ROLE_AGENT", "parts": [{ "text": words }] })
    }

    /// A question is the same message as long as it is open, although its run goes on: clients recognise it by its id.
    fn status(self, state: &str, words: StatusWords<'_>, at: Timestamp) -> Value {
        let mut status = json!({ "state": state, "timestamp": time_format::iso_millis(at) });
        let message = match words {
            StatusWords::Question(waits) => waits.first().map(|first| self.message(&first.id, &asked(waits))),
            StatusWords::Remark("") => None,
            StatusWords::Remark(words) => Some(self.message(&at.0.to_string(), words)),
        };
        if let Some(message) = message {
            status["message"] = message;
        }
        status
    }

    /// What those who follow a task are told when something happened.
    pub(super) async fn updates(self, state: &A2aState, happened: &NumberedMoment) -> A2aResult<Vec<Value>> {
        let mut updates = Vec::new();
        let (is, words) = match &happened.moment {
            RunMoment::Progress(words) => (Status::Running, StatusWords::Remark(words)),
            RunMoment::Continues => (Status::Running, StatusWords::Remark("")),
            // The answer is told as a whole, when the run has ended.
            RunMoment::Writes(_) | RunMoment::Written { .. } | RunMoment::BreaksOff => return Ok(updates),
            RunMoment::Asks(waits) => (Status::Waiting, StatusWords::Question(waits)),
            RunMoment::Rests(why) => (Status::Paused, StatusWords::Remark(why)),
            RunMoment::Ends { status, answer, why } => {
                for artifact in artifacts(state, self.run, answer).await? {
                    updates.push(json!({ "artifactUpdate": { "taskId": self.run.as_str(), "contextId": self.context,
                                                             "artifact": artifact, "lastChunk": true } }));
                }
                (*status, StatusWords::Remark(why))
            }
        };
        let status = self.status(state_of(is), words, happened.at);
        updates.push(json!({ "statusUpdate": { "taskId": self.run.as_str(), "contextId": self.context,
                                               "status": status } }));
        Ok(updates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_the_same_message_whenever_it_is_looked_at() {
        let run = RunId::from_bits([7; 10]);
        let place = TaskPlace { run: &run, context: "c" };
        let waits = [PendingQuestion {
            id: "ask/0/0/call.0".to_owned(),
            is_approval: false,
            text: "Which colour?".to_owned(),
            options: Vec::new(),
            call: Value::Null,
            form: None,
            is_inquiry: false,
        }];
        let at = |time| place.status("TASK_STATE_INPUT_REQUIRED", StatusWords::Question(&waits), Timestamp(time));
        assert_eq!(at(1)["message"], at(2)["message"]);
        let said = |time| place.status("TASK_STATE_WORKING", StatusWords::Remark("Halfway"), Timestamp(time));
        assert_ne!(said(1)["message"]["messageId"], said(2)["message"]["messageId"]);
    }
}
