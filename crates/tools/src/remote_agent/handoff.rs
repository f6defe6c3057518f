//! One task that is handed over to a remote agent: sent once, found again after a crash, followed to its end.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use updraft_run::{Failure, FailureKind, Inquiry, Reply, ToolOutput};
use url::Url;

use super::RemoteAgentConfig;
use super::a2a_client::{A2aClient, RemoteFault};
use crate::builtin::outside_text::{enclosed, visible};
use crate::tool::CallContext;
use crate::truncate;

/// How often the task is looked at: first, and at most.
const OFTEN: Duration = Duration::from_millis(200);
const SELDOM: Duration = Duration::from_secs(5);
/// How long a server that works on a task may be out of reach.
const OUTAGE: Duration = Duration::from_mins(5);
/// Most characters of a result.
const LONGEST: usize = 200_000;

/// What is recorded with the call before the message is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct HandoffRecord {
    /// The id of the message.
    message: String,
    /// The context it is sent in, which no other message has.
    context: String,
    /// The task, once the other server has named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task: Option<String>,
}

/// A task that is handed over.
pub(super) struct Handoff<'a> {
    config: &'a RemoteAgentConfig,
    cx: &'a CallContext,
    withdrawals: &'a TaskTracker,
    record: HandoffRecord,
    /// Whether an earlier process may have sent the message.
    was_sent: bool,
}

/// Why a task has no result.
enum HandoffEnd {
    /// Nothing was handed over.
    NotBegun(String),
    /// It is not known what became of it.
    Unknown(String),
    Cancelled,
}

impl<'a> Handoff<'a> {
    /// The task of a call, which an earlier process may have handed over.
    pub(super) fn new(config: &'a RemoteAgentConfig, cx: &'a CallContext, withdrawals: &'a TaskTracker) -> Self {
        let known = cx.around.handle.as_deref().and_then(|handle| serde_json::from_str(handle).ok());
        let was_sent = known.is_some();
        let record = known.unwrap_or_else(|| {
            let id = id_of(&cx.key);
            HandoffRecord { context: format!("updraft-{id}"), message: id, task: None }
        });
        Self { config, cx, withdrawals, record, was_sent }
    }

    /// Hands the task over, unless that has happened, and waits for its result.
    pub(super) async fn make(mut self, message: &str) -> Reply {
        let (name, cancel) = (&self.config.name, &self.cx.cancel);
        let made = tokio::select! {
            made = self.follow(message) => made,
            () = cancel.cancelled() => Err(HandoffEnd::Cancelled),
        };
        match made {
            Ok(task) => self.output(&task),
            Err(HandoffEnd::Cancelled) => {
                self.withdraw();
                Reply::Cancelled
            }
            Err(HandoffEnd::NotBegun(why)) => {
                Reply::Failed(Failure::new(FailureKind::Tool, format!("agent `{name}`: {why}")))
            }
            Err(HandoffEnd::Unknown(why)) => {
                let task = self.record.task.as_ref().map(|task| format!(" as task {task}")).unwrap_or_default();
                Reply::InDoubt {
                    evidence: format!(
                        "the task was handed over to agent `{name}`{task}; what became of it is not \
                                       known: {why}"
                    ),
                }
            }
        }
    }

    /// The task when it has ended.
    async fn follow(&mut self, message: &str) -> Result<Value, HandoffEnd> {
        let client = self.reach().await?;
        let mut now = match self.record.task.clone() {
            Some(_) => self.state(&client).await?,
            None => self.hand_over(&client, message).await?,
        };
        let mut wait = OFTEN;
        loop {
            let state = now["status"]["state"].as_str().unwrap_or_default();
            match state {
                "TASK_STATE_SUBMITTED" | "TASK_STATE_WORKING" => {
                    self.cx.log.line(&truncate::line(&words_of(&now["status"]["message"]), 300));
                    tokio::time::sleep(wait).await;
                    wait = (wait * 2).min(SELDOM);
                    now = self.state(&client).await?;
                }
                "TASK_STATE_INPUT_REQUIRED" => match self.answer_to(&now).await {
                    Some(answer) => {
                        now = self.reply(&client, &now, &answer).await?;
                        wait = OFTEN;
                    }
                    None => return Ok(now),
                },
                // A message instead of a task has no state: it is the result.
                _ => return Ok(now),
            }
        }
    }

    /// The server. One that may have the task already is waited for.
    async fn reach(&self) -> Result<A2aClient<'a>, HandoffEnd> {
        let until = Instant::now() + OUTAGE;
        loop {
            match A2aClient::find(self.config).await {
                Ok(client) => return Ok(client),
                Err(RemoteFault::Lost(_)) if self.was_sent && Instant::now() < until => {
                    tokio::time::sleep(SELDOM.min(Duration::from_secs(1))).await;
                }
                Err(fault) if self.was_sent => return Err(HandoffEnd::Unknown(words(fault))),
                Err(fault) => return Err(HandoffEnd::NotBegun(words(fault))),
            }
        }
    }

    /// Sends the message, unless the server has a task for it.
    async fn hand_over(&mut self, client: &A2aClient<'_>, message: &str) -> Result<Value, HandoffEnd> {
        if !self.was_sent {
            self.note().await;
        }
        let until = Instant::now() + OUTAGE;
        loop {
            if self.was_sent
                && let Some(task) = self.found(client, until).await?
            {
                return Ok(task);
            }
            self.was_sent = true;
            let sent = json!({ "messageId": self.record.message, "contextId": self.record.context,
                               "role": "ROLE_USER", "parts": [{ "text": message }] });
            let params = json!({ "message": sent, "configuration": { "returnImmediately": true } });
            match client.ask("SendMessage", params).await {
                Ok(mut answer) => match answer["task"].take() {
                    Value::Null => return Ok(json!({ "artifacts": [answer["message"].take()] })),
                    task => {
                        self.take(&task).await;
                        return Ok(task);
                    }
                },
                // It may have arrived.
                Err(RemoteFault::Lost(_)) if Instant::now() < until => tokio::time::sleep(SELDOM / 5).await,
                Err(fault @ RemoteFault::Lost(_)) => return Err(HandoffEnd::Unknown(words(fault))),
                Err(fault) => return Err(HandoffEnd::NotBegun(words(fault))),
            }
        }
    }

    /// The task that the message has begun, if the server has it.
    async fn found(&mut self, client: &A2aClient<'_>, until: Instant) -> Result<Option<Value>, HandoffEnd> {
        loop {
            let params = json!({ "contextId": self.record.context, "includeArtifacts": true });
            match client.ask("ListTasks", params).await {
                Ok(mut answer) => {
                    let Some(task) = answer["tasks"].get_mut(0).map(Value::take) else { return Ok(None) };
                    self.take(&task).await;
                    return Ok(Some(task));
                }
                Err(RemoteFault::Lost(_)) if Instant::now() < until => tokio::time::sleep(SELDOM / 5).await,
                Err(fault) => return Err(HandoffEnd::Unknown(words(fault))),
            }
        }
    }

    /// The task as it is now. A server that is out of reach for a while goes on with it.
    async fn state(&self, client: &A2aClient<'_>) -> Result<Value, HandoffEnd> {
        let until = Instant::now() + OUTAGE;
        loop {
            match client.ask("GetTask", json!({ "id": self.record.task, "historyLength": 0 })).await {
                Ok(task) => return Ok(task),
                Err(RemoteFault::Lost(_)) if Instant::now() < until => tokio::time::sleep(SELDOM / 5).await,
                Err(fault) => return Err(HandoffEnd::Unknown(words(fault))),
            }
        }
    }

    /// What a person answers to the question of a task; nothing if there is nobody, or the answer is declined.
    async fn answer_to(&self, task: &Value) -> Option<String> {
        let asked = &task["status"]["message"];
        let form =
            json!({ "type": "object", "properties": { "answer": { "type": "string" } }, "required": ["answer"] });
        let inquiry = Inquiry {
            from: format!("agent {} on another server", self.config.name),
            text: visible(&words_of(asked)),
            form: Some(form),
            key: Some(asked["messageId"].as_str().unwrap_or_default().to_owned()),
            ..Inquiry::default()
        };
        let Reply::Said(said) = self.cx.around.caller.as_ref()?.inquire(inquiry).await else { return None };
        let given: Value = serde_json::from_str(&said).ok()?;
        given["answer"].as_str().map(str::to_owned)
    }

    /// Sends an answer. Its id follows from the question, so that one sent twice counts once.
    async fn reply(&self, client: &A2aClient<'_>, task: &Value, answer: &str) -> Result<Value, HandoffEnd> {
        let asked = task["status"]["message"]["messageId"].as_str().unwrap_or_default();
        let message = json!({ "messageId": id_of(&format!("{} {asked}", self.cx.key)), "taskId": task["id"],
                              "contextId": task["contextId"], "role": "ROLE_USER", "parts": [{ "text": answer }] });
        let params = json!({ "message": message, "configuration": { "returnImmediately": true } });
        match client.ask("SendMessage", params).await {
            // Whether it arrived is seen by the state of the task.
            Ok(_) | Err(RemoteFault::Lost(_)) => self.state(client).await,
            Err(fault) => Err(HandoffEnd::Unknown(words(fault))),
        }
    }

    /// Keeps the id of the task.
    async fn take(&mut self, task: &Value) {
        self.record.task = task["id"].as_str().map(str::to_owned);
        self.note().await;
    }

    /// Records with the call by what its task is found again.
    async fn note(&self) {
        if let (Some(caller), Ok(handle)) = (&self.cx.around.caller, serde_json::to_string(&self.record)) {
            caller.note(handle).await;
        }
    }

    /// Cancels the task of a call that is not wanted any more. The call itself is dropped meanwhile.
    fn withdraw(&self) {
        let Some(task) = self.record.task.clone() else { return };
        let config = self.config.clone();
        self.withdrawals.spawn(async move {
            let cancelling = async {
                if let Ok(client) = A2aClient::find(&config).await {
                    let _ = client.ask("CancelTask", json!({ "id": task })).await;
                }
            };
            let _ = tokio::time::timeout(SELDOM, cancelling).await;
        });
    }

    /// The result as it is given to a model.
    fn output(&self, task: &Value) -> Reply {
        let name = &self.config.name;
        let state = task["status"]["state"].as_str();
        let said = words_of(&task["status"]["message"]);
        let (head, text, is_error) = match state {
            None | Some("TASK_STATE_COMPLETED") => (format!("agent `{name}` says"), result_of(task), false),
            Some("TASK_STATE_INPUT_REQUIRED") => (format!("agent `{name}` asks, and nobody has answered"), said, true),
            Some(state) => {
                let how = state.trim_start_matches("TASK_STATE_").to_lowercase();
                (format!("the task of agent `{name}` ended: {how}"), said, true)
            }
        };
        let mut text = visible(&text);
        text.truncate(text.floor_char_boundary(LONGEST));
        let host = Url::parse(&self.config.url).ok().and_then(|url| url.host_str().map(str::to_owned));
        match enclosed(&head, text.trim_end()) {
            Ok(text) => Reply::Output(Arc::new(ToolOutput {
                text,
                is_error,
                untrusted: true,
                origins: vec![format!("agent {name} at {}", truncate::line(&self.config.url, 200))],
                hosts: host.into_iter().collect(),
                ..ToolOutput::default()
            })),
            Err(failure) => Reply::Failed(failure),
        }
    }
}

/// The texts in the artifacts of a task, and the names of other files.
fn result_of(task: &Value) -> String {
    let artifacts = task["artifacts"].as_array().into_iter().flatten();
    let parts = artifacts.flat_map(|artifact| artifact["parts"].as_array().into_iter().flatten());
    let part_words = |part: &Value| match (part["text"].as_str(), part["filename"].as_str()) {
        (Some(text), Some(file)) => format!("File `{file}`:\n{text}"),
        (Some(text), None) => text.to_owned(),
        (None, Some(file)) => format!("File `{file}`, which is not text"),
        (None, None) => part.get("data").map(ToString::to_string).unwrap_or_default(),
    };
    parts.map(part_words).collect::<Vec<_>>().join("\n\n")
}

/// The texts of a message.
fn words_of(message: &Value) -> String {
    let parts = message["parts"].as_array().into_iter().flatten();
    parts.filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
}

/// An id that follows from a key.
fn id_of(key: &str) -> String {
    use std::fmt::Write as _;
    Sha256::digest(key).iter().take(16).fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

fn words(fault: RemoteFault) -> String {
    match fault {
        RemoteFault::Lost(why) => format!("its server cannot be reached: {why}"),
        RemoteFault::Refused(code, why) => format!("its server refuses ({code}): {why}"),
        RemoteFault::Misconfigured(why) => why,
    }
}
