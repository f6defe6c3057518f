//! What a server offers, in the protocol's own terms. The handler speaks for it, whichever era the client is of.

use std::pin::Pin;

use rmcp::ErrorData;
use rmcp::model::{
    CallToolResult, DetailedTask, GetPromptResult, InputRequests, InputResponses, JsonObject, Prompt, Resource,
    ResourceContents, ResourceTemplate, ServerConfig, Task, Tool,
};
use serde_json::Value;

use super::caller::ClientCaller;

/// Something on its way, or an error of the protocol. What a model should read is a result, not an error.
pub type BackendFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, ErrorData>> + Send + 'a>>;

/// A tool to call. The arguments fit the tool's schema.
#[derive(Clone, Debug)]
pub struct ToolRequest {
    /// The tool.
    pub name: String,
    /// What it is given.
    pub arguments: JsonObject,
    /// What the client has answered so far, by the keys it was asked with.
    pub replies: InputResponses,
    /// What the offer wanted to be told again. It has not been tampered with.
    pub state: Option<Value>,
}

/// A prompt to fill in.
#[derive(Clone, Debug)]
pub struct PromptRequest {
    /// The prompt.
    pub name: String,
    /// What it is given.
    pub arguments: JsonObject,
    /// What the client has answered so far.
    pub replies: InputResponses,
}

/// What came of a call.
#[derive(Debug)]
pub enum BackendOutcome<T> {
    /// It is done.
    Done(T),
    /// The client must answer something first; then it is called again.
    Asks(ClientQuestions),
    /// It goes on as a task. Only for clients that [take tasks](ClientCaller::takes_tasks).
    Task(Box<Task>),
}

/// What a client must answer.
#[derive(Debug, Default)]
pub struct ClientQuestions {
    /// The questions, by key.
    pub requests: InputRequests,
    /// What the offer wants to be told again with the answers. The client can read it and not change it.
    pub state: Option<Value>,
}

/// What a server offers. Only what [`about`](ServerBackend::about) declares is asked of it.
pub trait ServerBackend: Send + Sync + 'static {
    /// Its name, its capabilities and what it tells a client's model.
    fn about(&self) -> ServerConfig;

    /// Its tools, always in the same order.
    fn tools(&self) -> Vec<Tool>;

    /// Calls a tool. Dropped when the client no longer wants it.
    fn call<'a>(
        &'a self,
        call: ToolRequest,
        caller: &'a ClientCaller,
    ) -> BackendFuture<'a, BackendOutcome<CallToolResult>>;

    /// What a call comes to whose client could not be asked what it has to ask; `state` is that of the questions.
    fn unasked<'a>(&'a self, call: &'a ToolRequest, error: ErrorData) -> BackendFuture<'a, CallToolResult> {
        let _ = call;
        Box::pin(std::future::ready(Err(error)))
    }

    /// Its resources.
    fn resources(&self) -> BackendFuture<'_, Vec<Resource>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Its resources that have a name with a gap in it.
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

    /// How an argument might go on, given its name.
    fn completions(&self, argument: &str) -> Vec<String> {
        let _ = argument;
        Vec::new()
    }

    /// How a task stands.
    fn task<'a>(&'a self, id: &'a str) -> BackendFuture<'a, DetailedTask> {
        Box::pin(async move { Err(unknown_task(id)) })
    }

    /// Hands a task the answers it waits for. Keys that nobody asked with, or that are answered, do not count.
    fn answer_task<'a>(&'a self, id: &'a str, replies: InputResponses) -> BackendFuture<'a, ()> {
        let _ = replies;
        Box::pin(async move { Err(unknown_task(id)) })
    }

    /// Asks a task to stop. It may come to its end all the same.
    fn cancel_task<'a>(&'a self, id: &'a str) -> BackendFuture<'a, ()> {
        Box::pin(async move { Err(unknown_task(id)) })
    }
}

/// The error for a task that is not there.
pub fn unknown_task(id: &str) -> ErrorData {
    ErrorData::invalid_params(format!("no task `{id}`"), None)
}
