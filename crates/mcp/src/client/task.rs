//! Calls that a server answers with a task: polls the task until it is done, answers its questions, and cancels it when
//! nobody waits for it any longer.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rmcp::model::{
    CallToolResult, ClientRequest, CustomResult, GetTaskParams, GetTaskRequest, InputRequests, ServerResult, Task,
    TaskPayload, UpdateTaskParams, UpdateTaskRequest,
};
use serde_json::Value;
use tokio::time::Instant;

use super::connection::{CallOptions, CancelOnDrop, Connection};
use super::repair;
use super::rounds::CallHandle;
use crate::error::{Error, cut};

/// The shortest interval between polls, even if the server suggests a shorter one.
const OFTEN: Duration = Duration::from_millis(50);
const SELDOM: Duration = Duration::from_secs(10);
/// The interval if the server suggests none.
const USUAL: Duration = Duration::from_secs(1);
/// The longest interval after several polls were refused or lost: the task continues without us.
const LONGEST: Duration = Duration::from_mins(1);

impl Connection {
    /// Polls a task until it is done. If the future is dropped, the task is cancelled.
    pub(super) async fn see_through(&self, task: Task, waiting: &CallOptions<'_>) -> Result<CallToolResult, Error> {
        let limit = waiting.patience.longest;
        let mut until = Instant::now() + limit;
        let id = task.task_id;
        // A task that the next process can resume is cancelled only on request, not because this process ends.
        let is_kept = waiting.keep(CallHandle::Task(id.clone())).await;
        let mut wait = interval(task.poll_interval_ms);
        let mut answered = BTreeSet::new();
        let mut abandoned = self.abandoned_task(&id);
        if is_kept {
            disarm(&mut abandoned);
        }
        loop {
            self.pause(&id, wait, until, waiting).await?;
            let request = ClientRequest::GetTaskRequest(GetTaskRequest::new(GetTaskParams::new(id.clone())));
            let state = match self.ask_on(&id, &request, until, waiting).await {
                Ok(ServerResult::GetTaskResult(state)) => state.task,
                Ok(_) => return Err(Error::Nonsense("it is not the state of a task".to_owned())),
                // It may have been done before the server forgot it.
                Err(Error::Refused { message, .. }) => {
                    return Err(Error::Abandoned(format!("it no longer knows the task: {message}")));
                }
                Err(error) => return Err(error),
            };
            wait = interval(state.task.poll_interval_ms);
            if let Some(words) = &state.task.status_message {
                waiting.log.line(&cut(words, 500));
            }
            match state.payload {
                TaskPayload::Working => {}
                TaskPayload::InputRequired { input_requests } => {
                    let asked = Instant::now();
                    if let Some(answers) = self.task_answers(input_requests, &mut answered, waiting, &id).await? {
                        // The time that a person needs for an answer does not count.
                        until += asked.elapsed();
                        self.answer_task(&id, answers, until, waiting).await?;
                    }
                }
                payload => {
                    disarm(&mut abandoned);
                    return over(payload);
                }
            }
        }
    }

    /// Cancels the task with its call, even if another process could resume it.
    fn cancelled_with(&self, task: &str) -> Error {
        drop(self.abandoned_task(task));
        Error::Cancelled
    }

    /// Waits until the next poll, unless the time limit is reached or the call is cancelled.
    async fn pause(&self, id: &str, wait: Duration, until: Instant, waiting: &CallOptions<'_>) -> Result<(), Error> {
        let wait = wait.max(self.left_alone_for());
        if Instant::now() >= until {
            drop(self.abandoned_task(id));
            return Err(Error::Silent(waiting.patience.longest));
        }
        tokio::select! {
            () = tokio::time::sleep_until(until.min(Instant::now() + wait)) => Ok(()),
            () = waiting.cancel.cancelled() => Err(self.cancelled_with(id)),
        }
    }

    /// Repeats a request about a task until there is a definite answer; a temporary failure is not one.
    async fn ask_on(
        &self,
        id: &str,
        request: &ClientRequest,
        until: Instant,
        waiting: &CallOptions<'_>,
    ) -> Result<ServerResult, Error> {
        let mut wait = USUAL;
        loop {
            match self.ask(request.clone(), waiting).await {
                Err(Error::Cancelled) => return Err(self.cancelled_with(id)),
                Err(error) if passes(&error) && !self.is_closed() => {
                    waiting.log.line(&cut(&format!("the task is polled again: {error}"), 500));
                    self.pause(id, wait, until, waiting).await?;
                    wait = (wait * 2).min(LONGEST);
                }
                other => return other,
            }
        }
    }

    /// Answers the questions of a task, each of them once.
    async fn task_answers(
        &self,
        mut questions: InputRequests,
        answered: &mut BTreeSet<String>,
        waiting: &CallOptions<'_>,
        id: &str,
    ) -> Result<Option<BTreeMap<String, Value>>, Error> {
        questions.retain(|key, _| answered.insert(key.clone()));
        if questions.is_empty() {
            return Ok(None);
        }
        tokio::select! {
            answers = self.answers_to(questions, waiting) => answers.map(Some),
            () = waiting.cancel.cancelled() => Err(self.cancelled_with(id)),
        }
    }

    /// Sends a task its answers. If it no longer wants them, its state will show that.
    async fn answer_task(
        &self,
        id: &str,
        answers: BTreeMap<String, Value>,
        until: Instant,
        waiting: &CallOptions<'_>,
    ) -> Result<(), Error> {
        let params = UpdateTaskParams::new(id.to_owned(), answers);
        let request = ClientRequest::UpdateTaskRequest(UpdateTaskRequest::new(params));
        self.ask_on(id, &request, until, waiting).await.map(drop)
    }
}

/// Whether a failed request about a task may succeed later. It may, unless the server said that it does not know the
/// task, or does not support tasks.
fn passes(error: &Error) -> bool {
    match error {
        Error::Refused { code, message } => {
            let message = message.to_lowercase();
            let is_unknown = message.contains("task") && (message.contains("not found") || message.contains("unknown"));
            // Protocol errors: invalid parameters, unknown method, not found. HTTP errors: every refusal that is not
            // temporary.
            let is_final = matches!(code, -32602 | -32601 | -32002)
                || ((400..500).contains(code) && !matches!(code, 408 | 425 | 429));
            !is_final && !is_unknown
        }
        Error::Lost(_) | Error::Unreachable(_) | Error::Silent(_) => true,
        _ => false,
    }
}

fn interval(suggested: Option<u64>) -> Duration {
    suggested.map_or(USUAL, Duration::from_millis).clamp(OFTEN, SELDOM)
}

fn disarm(abandoned: &mut CancelOnDrop) {
    abandoned.what = None;
}

/// The result of a finished task.
fn over(payload: TaskPayload) -> Result<CallToolResult, Error> {
    match payload {
        TaskPayload::Completed { result } => match serde_json::from_value(Value::Object(result.clone())) {
            Ok(result) => Ok(result),
            Err(error) => repair::result(&ServerResult::CustomResult(CustomResult::new(Value::Object(result))))
                .ok_or_else(|| Error::Nonsense(format!("the result of its task is malformed: {error}"))),
        },
        TaskPayload::Failed { error } => {
            let code = error.get("code").and_then(Value::as_i64).unwrap_or_default() as i32;
            let words = error.get("message").and_then(Value::as_str).unwrap_or("its task failed");
            Err(Error::Refused { code, message: cut(words, 2_000) })
        }
        TaskPayload::Cancelled => Err(Error::Abandoned("its task was cancelled".to_owned())),
        _ => Err(Error::Nonsense("its task is in an unknown state".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_said_about_the_task_ends_it() {
        let refused = |code, message: &str| Error::Refused { code, message: message.to_owned() };
        let later = [refused(429, "slow down"), refused(408, ""), refused(-32603, "the database is busy")];
        for error in later.into_iter().chain([Error::Lost("HTTP 503".into()), Error::Silent(USUAL)]) {
            assert!(passes(&error), "{error}");
        }
        let over = [refused(-32602, "no"), refused(404, ""), refused(-32603, "Task not found"), refused(-32601, "")];
        for error in over.into_iter().chain([Error::Login("s".into()), Error::Cancelled]) {
            assert!(!passes(&error), "{error}");
        }
    }
}
