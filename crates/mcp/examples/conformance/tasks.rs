//! Fixtures of the tasks extension, with a table of tasks in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use updraft_mcp::server::model::{
    CallToolResult, ClientCapabilities, ContentBlock, DetailedTask, InputRequest, InputRequests, InputResponses,
    JsonObject, Task, TaskPayload, TaskStatus,
};
use updraft_mcp::server::{BackendOutcome, ClientCaller, ClientQuestions, ErrorData, ToolRequest};

use crate::fixed::text;
use crate::rounds::form;

/// The tasks there are. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Table {
    entries: Arc<Mutex<BTreeMap<String, Entry>>>,
    tasks: TaskTracker,
}

struct Entry {
    created: String,
    updated: String,
    payload: TaskPayload,
    replies: InputResponses,
    answered: Arc<Notify>,
    stop: CancellationToken,
}

/// Fixtures that have no answer but a task.
const ONLY_TASKS: [&str; 4] = ["failing_job", "test_tool_with_task", "confirm_delete", "multi_input"];

impl Table {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What came of a fixture of this kind; nothing if it is another.
    pub(crate) async fn call(
        &self,
        call: &ToolRequest,
        caller: &ClientCaller,
    ) -> Result<Option<BackendOutcome<CallToolResult>>, ErrorData> {
        let name = call.name.as_str();
        if !ONLY_TASKS.contains(&name) && !["slow_compute", "protocol_error_job"].contains(&name) {
            return Ok(None);
        }
        if ONLY_TASKS.contains(&name) && !caller.takes_tasks() {
            let needed = ClientCapabilities::builder().enable_tasks().build();
            return Err(ErrorData::missing_required_client_capability(needed));
        }
        if name == "test_tool_with_task" && call.replies.get("user_name").and_then(Value::as_object).is_none() {
            let name = form("What is your name?", &json!({ "name": { "type": "string" } }), &["name"]);
            return Ok(Some(BackendOutcome::Asks(ClientQuestions {
                requests: [("user_name".to_owned(), name)].into(),
                state: None,
            })));
        }
        let job = Job { table: self.clone(), id: format!("task-{}", uuid(self.lock().len())) };
        if !caller.takes_tasks() {
            return job.work(call.clone(), CancellationToken::new()).await.map(|done| Some(BackendOutcome::Done(done)));
        }
        let now = jiff::Timestamp::now().to_string();
        let stop = CancellationToken::new();
        let entry = Entry {
            created: now.clone(),
            updated: now,
            payload: TaskPayload::Working,
            replies: InputResponses::new(),
            answered: Arc::default(),
            stop: stop.clone(),
        };
        self.lock().insert(job.id.clone(), entry);
        let id = job.id.clone();
        let call = call.clone();
        self.tasks.spawn(async move {
            let done = job.work(call, stop).await;
            job.end(done);
        });
        Ok(Some(BackendOutcome::Task(Box::new(self.get(&id)?.task))))
    }

    pub(crate) fn get(&self, id: &str) -> Result<DetailedTask, ErrorData> {
        let entries = self.lock();
        let entry = entries.get(id).ok_or_else(|| unknown(id))?;
        let task = Task::new(id, TaskStatus::Working, entry.created.clone(), entry.updated.clone());
        Ok(DetailedTask::new(task.with_ttl_ms(300_000).with_poll_interval_ms(200), entry.payload.clone()))
    }

    pub(crate) fn answer(&self, id: &str, replies: InputResponses) -> Result<(), ErrorData> {
        let mut entries = self.lock();
        let entry = entries.get_mut(id).ok_or_else(|| unknown(id))?;
        let TaskPayload::InputRequired { input_requests } = &mut entry.payload else { return Ok(()) };
        for (key, reply) in replies {
            if input_requests.remove(&key).is_some() {
                entry.replies.insert(key, reply);
            }
        }
        if input_requests.is_empty() {
            entry.payload = TaskPayload::Working;
            entry.answered.notify_one();
        }
        entry.updated = jiff::Timestamp::now().to_string();
        Ok(())
    }

    pub(crate) fn cancel(&self, id: &str) -> Result<(), ErrorData> {
        let mut entries = self.lock();
        let entry = entries.get_mut(id).ok_or_else(|| unknown(id))?;
        if !entry.payload.status().is_terminal() {
            entry.payload = TaskPayload::Cancelled;
            entry.updated = jiff::Timestamp::now().to_string();
            entry.stop.cancel();
        }
        Ok(())
    }
}

/// Ids that differ are enough for the suite.
fn uuid(count: usize) -> String {
    format!("{count}-{}", jiff::Timestamp::now().as_nanosecond())
}

fn unknown(id: &str) -> ErrorData {
    ErrorData::invalid_params(format!("no task `{id}`"), None)
}

struct Job {
    table: Table,
    id: String,
}

impl Job {
    async fn work(&self, call: ToolRequest, stop: CancellationToken) -> Result<CallToolResult, ErrorData> {
        let given = |name: &str| call.arguments.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        match call.name.as_str() {
            "slow_compute" => {
                let seconds = call.arguments.get("seconds").and_then(Value::as_f64).unwrap_or(1.0);
                tokio::select! {
                    () = stop.cancelled() => {}
                    () = tokio::time::sleep(Duration::from_secs_f64(seconds)) => {}
                }
                Ok(text(format!("slow_compute({}) done after {seconds}s", given("label"))))
            }
            "failing_job" => {
                tokio::time::sleep(Duration::from_secs(1)).await;
                Ok(CallToolResult::error(vec![ContentBlock::text("failing_job: intentional tool execution error")]))
            }
            "protocol_error_job" => {
                tokio::time::sleep(Duration::from_millis(200)).await;
                Err(ErrorData::internal_error("protocol_error_job: intentional protocol-level failure", None))
            }
            "confirm_delete" => {
                let confirm = form(
                    &format!("Delete {}?", given("filename")),
                    &json!({ "confirm": { "type": "boolean" } }),
                    &["confirm"],
                );
                let replies = self.ask([("confirm", confirm)]).await;
                Ok(text(format!("confirm_delete: {}", replies["confirm"]["content"])))
            }
            "multi_input" => {
                let value = |what: &str| form(what, &json!({ "value": { "type": "string" } }), &["value"]);
                let replies =
                    self.ask([("input-a", value("Provide value A")), ("input-b", value("Provide value B"))]).await;
                Ok(text(format!("multi_input: {}, {}", replies["input-a"]["content"], replies["input-b"]["content"])))
            }
            _ => {
                tokio::time::sleep(Duration::from_millis(200)).await;
                let name = call.replies["user_name"]["content"]["name"].as_str().unwrap_or("friend").to_owned();
                Ok(text(format!("Hello, {name}! (async)")))
            }
        }
    }

    /// Waits until everything is answered.
    async fn ask<const N: usize>(&self, requests: [(&str, InputRequest); N]) -> InputResponses {
        let requests: InputRequests = requests.into_iter().map(|(key, request)| (key.to_owned(), request)).collect();
        let answered = {
            let mut entries = self.table.lock();
            let Some(entry) = entries.get_mut(&self.id) else { return InputResponses::new() };
            entry.payload = TaskPayload::InputRequired { input_requests: requests };
            Arc::clone(&entry.answered)
        };
        answered.notified().await;
        self.table.lock().get(&self.id).map(|entry| entry.replies.clone()).unwrap_or_default()
    }

    fn end(&self, done: Result<CallToolResult, ErrorData>) {
        let object = |value: Option<Value>| match value {
            Some(Value::Object(object)) => object,
            _ => JsonObject::new(),
        };
        if let Some(entry) = self.table.lock().get_mut(&self.id).filter(|entry| !entry.payload.status().is_terminal()) {
            entry.payload = match done {
                Ok(result) => TaskPayload::Completed { result: object(serde_json::to_value(result).ok()) },
                Err(error) => TaskPayload::Failed { error: object(serde_json::to_value(error).ok()) },
            };
            entry.updated = jiff::Timestamp::now().to_string();
        }
    }
}
