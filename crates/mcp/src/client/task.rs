//! A call that a server answers with a task: asked after until it is done, answered when it asks, cancelled when nobody
//! waits for it any longer.

use std::collections::BTreeSet;
use std::time::Duration;

use rmcp::model::{
    CallToolResult, ClientRequest, CustomResult, GetTaskParams, GetTaskRequest, InputRequests, ServerResult, Task,
    TaskPayload, UpdateTaskParams, UpdateTaskRequest,
};
use serde_json::Value;
use tokio::time::Instant;

use super::connection::{Abandoned, Connection, Waiting};
use super::mend;
use super::rounds::Handle;
use crate::error::{Error, cut};

/// How often a server is asked after a task, whatever it suggests.
const OFTEN: Duration = Duration::from_millis(50);
const SELDOM: Duration = Duration::from_secs(10);
/// Where it suggests nothing.
const USUAL: Duration = Duration::from_secs(1);
/// Questions in a row that may go unanswered: the task goes on without us.
const MISSED: u32 = 5;

impl Connection {
    /// Asks after a task until it is done. If this is dropped, the task is cancelled.
    pub(super) async fn see_through(&self, task: Task, waiting: &Waiting<'_>) -> Result<CallToolResult, Error> {
        let limit = waiting.patience.longest;
        let mut until = Instant::now() + limit;
        let id = task.task_id;
        // One that the next process finds again is cancelled only if that is wanted, not because ours ends.
        let is_kept = waiting.keep(Handle::Task(id.clone())).await;
        let mut wait = interval(task.poll_interval_ms);
        let (mut answered, mut missed) = (BTreeSet::new(), 0);
        let mut abandoned = self.abandoned_task(&id);
        if is_kept {
            disarm(&mut abandoned);
        }
        loop {
            if Instant::now() + wait > until {
                drop(self.abandoned_task(&id));
                return Err(Error::Silent(limit));
            }
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = waiting.cancel.cancelled() => return Err(self.cancelled_with(&id)),
            }
            let request = ClientRequest::GetTaskRequest(GetTaskRequest::new(GetTaskParams::new(id.clone())));
            let state = match self.ask(request, waiting).await {
                Ok(ServerResult::GetTaskResult(state)) => state.task,
                Ok(_) => return Err(Error::Nonsense("this is no state of a task".to_owned())),
                Err(Error::Lost(_) | Error::Unreachable(_)) if missed < MISSED && !self.is_closed() => {
                    missed += 1;
                    continue;
                }
                // It may have been done before it was forgotten.
                Err(Error::Refused { message, .. }) => {
                    return Err(Error::Abandoned(format!("it does not know the task any longer: {message}")));
                }
                Err(Error::Cancelled) => return Err(self.cancelled_with(&id)),
                Err(error) => return Err(error),
            };
            missed = 0;
            wait = interval(state.task.poll_interval_ms);
            if let Some(words) = &state.task.status_message {
                waiting.log.line(&cut(words, 500));
            }
            match state.payload {
                TaskPayload::Working => {}
                TaskPayload::InputRequired { input_requests } => {
                    let asked = Instant::now();
                    match self.answer_task(&id, input_requests, &mut answered, waiting).await {
                        Err(Error::Cancelled) => return Err(self.cancelled_with(&id)),
                        done => done?,
                    }
                    // A person's thinking is not the task's time.
                    until += asked.elapsed();
                }
                payload => {
                    disarm(&mut abandoned);
                    return over(payload);
                }
            }
        }
    }

    /// The call is cancelled, and its task with it, whether another process would find it again or not.
    fn cancelled_with(&self, task: &str) -> Error {
        drop(self.abandoned_task(task));
        Error::Cancelled
    }

    /// Answers what a task asks, each question once.
    async fn answer_task(
        &self,
        id: &str,
        mut questions: InputRequests,
        answered: &mut BTreeSet<String>,
        waiting: &Waiting<'_>,
    ) -> Result<(), Error> {
        questions.retain(|key, _| answered.insert(key.clone()));
        if questions.is_empty() {
            return Ok(());
        }
        let answers = self.answers_to(questions, waiting).await?;
        let params = UpdateTaskParams::new(id.to_owned(), answers);
        self.ask(ClientRequest::UpdateTaskRequest(UpdateTaskRequest::new(params)), waiting).await.map(drop)
    }
}

fn interval(suggested: Option<u64>) -> Duration {
    suggested.map_or(USUAL, Duration::from_millis).clamp(OFTEN, SELDOM)
}

fn disarm(abandoned: &mut Abandoned) {
    abandoned.what = None;
}

/// What a task came to.
fn over(payload: TaskPayload) -> Result<CallToolResult, Error> {
    match payload {
        TaskPayload::Completed { result } => match serde_json::from_value(Value::Object(result.clone())) {
            Ok(result) => Ok(result),
            Err(error) => mend::result(&ServerResult::CustomResult(CustomResult::new(Value::Object(result))))
                .ok_or_else(|| Error::Nonsense(format!("the result of its task is malformed: {error}"))),
        },
        TaskPayload::Failed { error } => {
            let code = error.get("code").and_then(Value::as_i64).unwrap_or_default() as i32;
            let words = error.get("message").and_then(Value::as_str).unwrap_or("its task failed");
            Err(Error::Refused { code, message: cut(words, 2_000) })
        }
        TaskPayload::Cancelled => Err(Error::Abandoned("its task was cancelled".to_owned())),
        _ => Err(Error::Nonsense("a task that is neither at work nor done".to_owned())),
    }
}
