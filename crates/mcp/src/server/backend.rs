//! The backend trait: what a server offers, in the protocol's own terms. The handler translates it for clients of both
//! eras.

use std::pin::Pin;

use rmcp::ErrorData;
use rmcp::model::{
    CallToolResult, DetailedTask, GetPromptResult, InputRequests, InputResponses, JsonObject, Prompt, Resource,
    ResourceContents, ResourceTemplate, ServerConfig, Task, Tool,
};
use serde_json::Value;

use super::caller::ClientCaller;

/// A boxed future. Its error is a protocol error; a message for the model is a result, not an error.
pub type BackendFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, ErrorData>> + Send + 'a>>;

/// A call of a tool. The arguments fit the tool's schema.
#[derive(Clone, Debug)]
pub struct ToolRequest {
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub arguments: JsonObject,
    /// The client's answers so far, by the keys of the questions.
    pub replies: InputResponses,
    /// The state that the backend returned with its questions. It has not been tampered with.
    pub state: Option<Value>,
}

/// A request for a prompt.
#[derive(Clone, Debug)]
pub struct PromptRequest {
    /// The prompt.
    pub name: String,
    /// Its arguments.
    pub arguments: JsonObject,
    /// The client's answers so far.
    pub replies: InputResponses,
}

/// The outcome of a call.
#[derive(Debug)]
pub enum BackendOutcome<T> {
    /// It is done.
    Done(T),
    /// The client must answer questions first; then the call is repeated.
    Asks(ClientQuestions),
    /// It continues as a task. Only for clients that [take tasks](ClientCaller::takes_tasks).
    Task(Box<Task>),
}

/// Questions for the client.
#[derive(Debug, Default)]
pub struct ClientQuestions {
    /// The questions, by key.
    pub requests: InputRequests,
    /// State that is returned to the backend with the answers. The client can read it, but not change it.
    pub state: Option<Value>,
}

/// What a server offers. Only what [`about`](ServerBackend::about) declares is requested from it.
pub trait ServerBackend: Send + Sync + 'static {
    /// Its name, its capabilities and its instructions for a client's model.
    fn about(&self) -> ServerConfig;

    /// Its tools, always in the same order.
    fn tools(&self) -> Vec<Tool>;

    /// Calls a tool. The future is dropped when the client cancels the call.
    fn call<'a>(
        &'a self,
        call: ToolRequest,
        caller: &'a ClientCaller,
    ) -> BackendFuture<'a, BackendOutcome<CallToolResult>>;

    /// The result of a call whose questions could not be put to the client; the `state` of the call is that of the
    /// questions.
    fn unasked<'a>(&'a self, call: &'a ToolRequest, error: ErrorData) -> BackendFuture<'a, CallToolResult> {
        let _ = call;
        Box::pin(std::future::ready(Err(error)))
    }

    /// Its resources.
    fn resources(&self) -> BackendFuture<'_, Vec<Resource>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Its resource templates.
    fn templates(&self) -> Vec<ResourceTemplate> {
        Vec::new()
    }

    /// Reads a resource.
    fn read<'a>(&'a self, uri: &'a str) -> BackendFuture<'a, Vec<ResourceContents>> {
        Box::pin(async move { Err(ErrorData::resource_not_found(format!("no resource `{uri}`"), None)) })
    }

    /// Its prompts.
    fn prompts(&self) -> Vec<Prompt> {
        Vec::new()
    }

    /// Fills in a prompt.
    fn prompt<'a>(
        &'a self,
        wanted: PromptRequest,
        caller: &'a ClientCaller,
    ) -> BackendFuture<'a, BackendOutcome<GetPromptResult>> {
        let _ = caller;
        Box::pin(async move { Err(ErrorData::invalid_params(format!("no prompt named `{}`", wanted.name), None)) })
    }

    /// Possible completions of an argument, given its name.
    fn completions(&self, argument: &str) -> Vec<String> {
        let _ = argument;
        Vec::new()
    }

    /// The state of a task.
    fn task<'a>(&'a self, id: &'a str) -> BackendFuture<'a, DetailedTask> {
        Box::pin(async move { Err(unknown_task(id)) })
    }

    /// Passes a task the answers it waits for. Keys that are unknown or already answered are ignored.
    fn answer_task<'a>(&'a self, id: &'a str, replies: InputResponses) -> BackendFuture<'a, ()> {
        let _ = replies;
        Box::pin(async move { Err(unknown_task(id)) })
    }

    /// Asks a task to stop. It may finish anyway.
    fn cancel_task<'a>(&'a self, id: &'a str) -> BackendFuture<'a, ()> {
        Box::pin(async move { Err(unknown_task(id)) })
    }
}

/// The error for an unknown task.
pub fn unknown_task(id: &str) -> ErrorData {
    ErrorData::invalid_params(format!("no task `{id}`"), None)
}
