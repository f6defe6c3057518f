//! Calls that take several rounds: the server asks for something first. A handle to resume the call is kept meanwhile.

use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, ElicitRequest, ElicitRequestParams,
    GetMeta as _, GetPromptRequest, GetPromptRequestParams, GetPromptResult, InputRequest, InputRequests,
    InputRequiredResult, JsonObject, ReadResourceRequest, ReadResourceRequestParams, ReadResourceResult, ServerResult,
    Task,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::calling_run::LARGEST;
use super::connect::ProtocolStyle;
use super::connection::{CallOptions, Connection, OPEN_URL_FIRST, strange};
use super::repair;
use crate::error::{Error, UrlRequest};

/// Maximum number of rounds of questions during one call.
const ROUNDS: u32 = 10;

/// A handle by which a call can be resumed, as stored in the journal.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CallHandle {
    /// The server works on the call as a task with this id.
    Task(String),
    /// Nothing has been done yet: the server waits for answers.
    Asked(Box<InputRequiredResult>),
}

impl CallHandle {
    /// Reads a handle that `CallOptions::keep` wrote.
    pub(super) fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

impl CallOptions<'_> {
    /// Stores the handle of the call. Returns true once it is on disk.
    pub(super) async fn keep(&self, handle: CallHandle) -> bool {
        let text = serde_json::to_string(&handle).ok().filter(|text| text.len() <= LARGEST);
        let is_kept = match (&self.asker, text) {
            (Some(asker), Some(text)) => asker.caller.note(text).await,
            _ => false,
        };
        // As long as this process lives, the call can be resumed without that.
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) = Some(handle);
        is_kept
    }

    /// Removes the handle: the call is being executed now and cannot be resumed.
    async fn forget(&self) {
        let had = self.found.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let (Some(asker), true) = (&self.asker, had.is_some()) {
            asker.caller.note(String::new()).await;
        }
    }

    /// Whether the call can be resumed.
    pub(super) fn is_found(&self) -> bool {
        self.found().is_some()
    }

    fn found(&self) -> Option<CallHandle> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The field that identifies a call, so that a server can tell a repeated call from a second one.
const IDEMPOTENCY_KEY: &str = "updraft/idempotency-key";

/// Where a call names its place in a trace: a key that MCP reserves for it.
const TRACEPARENT: &str = "traceparent";

impl Connection {
    /// Calls a tool, and answers what the server asks meanwhile. If there is a handle, the call is resumed.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: JsonObject,
        waiting: &CallOptions<'_>,
    ) -> Result<CallToolResult, Error> {
        let mut params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let mut asked = match waiting.found() {
            None => None,
            Some(CallHandle::Asked(asked)) => Some(*asked),
            Some(CallHandle::Task(id)) => {
                let mut task = Task::default();
                task.task_id = id;
                return self.through(task, waiting).await;
            }
        };
        for round in 0..ROUNDS {
            if let Some(asked) = asked.take() {
                let state = asked.request_state.clone();
                let answers = self.answers(asked, round, waiting).await?;
                if self.manner == ProtocolStyle::Stateless {
                    (params.request_state, params.input_responses) = (state, answers);
                } else {
                    // In earlier revisions the call is repeated without the answers.
                    all_opened(answers.unwrap_or_default())?;
                }
                waiting.forget().await;
            }
            let mut request = ClientRequest::CallToolRequest(CallToolRequest::new(params.clone()));
            if let Some(key) = waiting.key {
                request.get_meta_mut().insert(IDEMPOTENCY_KEY.into(), key.into());
            }
            if let Some(trace) = waiting.trace {
                request.get_meta_mut().insert(TRACEPARENT.into(), trace.to_string().into());
            }
            let answer = match self.ask(request, waiting).await {
                Err(Error::OpenUrls { urls, .. }) if !urls.is_empty() => {
                    Ok(ServerResult::InputRequiredResult(InputRequiredResult::new(Some(as_questions(urls)), None)))
                }
                other => other,
            };
            match answer? {
                ServerResult::CallToolResult(result) => {
                    self.answered.fetch_add(1, Ordering::Relaxed);
                    return Ok(result);
                }
                ServerResult::InputRequiredResult(questions) => {
                    if questions.input_requests.as_ref().is_some_and(|all| !all.is_empty()) {
                        waiting.keep(CallHandle::Asked(questions.clone().into())).await;
                    }
                    asked = Some(questions);
                }
                ServerResult::CreateTaskResult(created) => return self.through(created.task, waiting).await,
                other => {
                    self.answered.fetch_add(1, Ordering::Relaxed);
                    return repair::result(&other).ok_or_else(|| strange(&other));
                }
            }
        }
        Err(Error::Nonsense(format!("it asked more than {ROUNDS} times during one call")))
    }

    async fn through(&self, task: Task, waiting: &CallOptions<'_>) -> Result<CallToolResult, Error> {
        let result = Box::pin(self.see_through(task, waiting)).await?;
        self.answered.fetch_add(1, Ordering::Relaxed);
        Ok(result)
    }

    pub(super) async fn read(&self, uri: &str, waiting: &CallOptions<'_>) -> Result<ReadResourceResult, Error> {
        let mut params = ReadResourceRequestParams::new(uri);
        for round in 0..ROUNDS {
            let request = ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params.clone()));
            match self.ask(request, waiting).await? {
                ServerResult::ReadResourceResult(result) => return Ok(result),
                ServerResult::InputRequiredResult(asked) => {
                    params.request_state = asked.request_state.clone();
                    params.input_responses = self.answers(asked, round, waiting).await?;
                }
                other => return Err(strange(&other)),
            }
        }
        Err(Error::Nonsense(format!("it asked more than {ROUNDS} times")))
    }

    pub(super) async fn prompt(
        &self,
        name: &str,
        arguments: JsonObject,
        waiting: &CallOptions<'_>,
    ) -> Result<GetPromptResult, Error> {
        let mut params = GetPromptRequestParams::new(name).with_arguments(arguments);
        for round in 0..ROUNDS {
            let request = ClientRequest::GetPromptRequest(GetPromptRequest::new(params.clone()));
            match self.ask(request, waiting).await? {
                ServerResult::GetPromptResult(result) => return Ok(result),
                ServerResult::InputRequiredResult(asked) => {
                    params.request_state = asked.request_state.clone();
                    params.input_responses = self.answers(asked, round, waiting).await?;
                }
                other => return Err(strange(&other)),
            }
        }
        Err(Error::Nonsense(format!("it asked more than {ROUNDS} times")))
    }

    /// Answers the questions that a server needs answered before it can continue.
    async fn answers(
        &self,
        asked: InputRequiredResult,
        round: u32,
        waiting: &CallOptions<'_>,
    ) -> Result<Option<BTreeMap<String, Value>>, Error> {
        let questions = asked.input_requests.unwrap_or_default();
        if questions.is_empty() {
            // The server only wants to be asked again, and gets a little more time each round.
            tokio::time::sleep(Duration::from_millis(100 << round.min(5))).await;
            return Ok(None);
        }
        tokio::select! {
            answers = self.answers_to(questions, waiting) => answers.map(Some),
            () = waiting.cancel.cancelled() => Err(Error::Cancelled),
        }
    }

    /// Answers a server's questions, by the names it gave them.
    pub(super) async fn answers_to(
        &self,
        questions: InputRequests,
        waiting: &CallOptions<'_>,
    ) -> Result<BTreeMap<String, Value>, Error> {
        let (mut answers, asker) = (BTreeMap::new(), waiting.asker.as_ref());
        for (key, question) in questions {
            let answer = match question {
                InputRequest::Elicitation(request) => {
                    serde_json::to_value(self.handler.elicit(request.params, &key, asker).await)
                }
                InputRequest::CreateMessage(request) => {
                    let sampled = self.handler.sample(request.params, asker).await;
                    serde_json::to_value(sampled.map_err(|error| Error::Nonsense(error.message.into()))?)
                }
                InputRequest::ListRoots(_) => serde_json::to_value(self.handler.roots()),
                _ => return Err(Error::Nonsense("it asks for something of an unknown kind".to_owned())),
            };
            answers.insert(key, answer.map_err(|error| Error::Nonsense(error.to_string()))?);
        }
        Ok(answers)
    }
}

/// Turns URLs to open into questions.
fn as_questions(urls: Vec<UrlRequest>) -> InputRequests {
    let question = |(k, request): (usize, UrlRequest)| {
        let key = if request.id.is_empty() { k.to_string() } else { request.id.clone() };
        let params = ElicitRequestParams::UrlElicitationParams {
            meta: None,
            message: request.message,
            url: request.url,
            elicitation_id: request.id,
        };
        (key, InputRequest::Elicitation(ElicitRequest::new(params)))
    };
    urls.into_iter().enumerate().map(question).collect()
}

/// Whether a person has opened all URLs; the error becomes the result of the call.
fn all_opened(answers: BTreeMap<String, Value>) -> Result<(), Error> {
    if answers.into_values().all(|answer| answer["action"] == "accept") {
        return Ok(());
    }
    let message = "a person must open a URL first, and declined to".to_owned();
    Err(Error::Refused { code: OPEN_URL_FIRST, message })
}
