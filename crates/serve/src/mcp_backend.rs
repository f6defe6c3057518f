//! Updraft as an MCP server: a backend that offers an [`UpdraftService`] as tools, tasks, resources and prompts.

mod forms;
mod prompts;
mod resources;
mod results;
mod tasks;
mod tools;

use std::pin::pin;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use updraft_mcp::server::model::{
    CallToolResult, ContentBlock, DetailedTask, GetPromptResult, Implementation, InputResponses, Prompt, Resource,
    ResourceContents, ResourceTemplate, ServerCapabilities, ServerConfig, Tool,
};
use updraft_mcp::server::{
    BackendFuture, BackendOutcome, ClientCaller, ClientQuestions, ErrorData, PromptRequest, ServerBackend, ToolRequest,
    unknown_task,
};
use updraft_workbench::service::{CLIENT, Query, QueryAnswer, RunListener, RunProgress, RunRequest, RunView};
use updraft_workbench::{Fault, UpdraftService};

/// The instructions of the server for a client's model.
const INSTRUCTIONS: &str = include_str!("mcp_backend/instructions.md");

/// The MCP backend of an Updraft service.
pub struct UpdraftBackend {
    service: UpdraftService,
    version: String,
}

impl UpdraftBackend {
    /// Creates a backend for this service, with the version of Updraft.
    pub fn new(service: UpdraftService, version: &str) -> Self {
        Self { service, version: version.to_owned() }
    }

    async fn make(&self, call: ToolRequest, caller: &ClientCaller) -> Result<BackendOutcome<CallToolResult>, Fault> {
        let given = ArgumentMap(&call.arguments);
        let UpdraftService { runs, files, .. } = &self.service;
        let done = match call.name.as_str() {
            "query" => return self.query(&call, caller).await,
            "dispatch_agent_task" => return self.dispatch(&given.work("prompt")?, caller).await,
            "task_status" => results::standing(&runs.view(&given.run()?).await?),
            "task_result" => results::result(&runs.view(&given.run()?).await?),
            "pause_task" => results::standing(&runs.pause(&given.run()?).await?),
            "resume_task" => results::standing(&runs.resume(&given.run()?).await?),
            "cancel_task" => results::standing(&runs.cancel(&given.run()?, CLIENT).await?),
            "approve" => {
                let (id, because) = (given.optional("id"), given.optional("because").unwrap_or_default());
                let allow = given.is("allow", true);
                results::standing(&runs.approve(&given.run()?, id.as_deref(), allow, because).await?)
            }
            "answer_question" => {
                let (id, text) = (given.optional("id"), given.text("answer")?);
                results::standing(&runs.answer(&given.run()?, id.as_deref(), text).await?)
            }
            "search" => results::hits(&files.search(&given.text("query")?).await?),
            "fetch" => results::document(&files.fetch(&given.text("id")?).await?),
            name => {
                let tool = tools::FILES.into_iter().find(|tool| *tool == name);
                let tool = tool.ok_or_else(|| Fault::usage(format!("no tool named `{name}`")))?;
                results::output(tool, &call.arguments, files.call(tool, Value::Object(call.arguments.clone())).await?)
            }
        };
        Ok(BackendOutcome::Done(done))
    }

    async fn query(&self, call: &ToolRequest, caller: &ClientCaller) -> Result<BackendOutcome<CallToolResult>, Fault> {
        let given = ArgumentMap(&call.arguments);
        let mut query = Query {
            work: given.work("query")?,
            session: given.optional("session"),
            history: given.is("history", false),
        };
        let answered = if let Some(state) = &call.state {
            // The client returns with answers to the run's questions.
            let run = state["run"].as_str().unwrap_or_default().to_owned();
            query.session = state["session"].as_str().map(str::to_owned);
            let view = self.service.runs.view(&run).await?;
            let given = forms::give(&self.service.runs, &view, &call.replies).await;
            let is_put_off = view.waits.iter().any(|wait| call.replies.contains_key(&wait.id));
            match given {
                // The run keeps waiting, and the result must say how to find it.
                Err(fault) => {
                    let view = self.service.runs.view(&run).await.unwrap_or(view);
                    return Ok(BackendOutcome::Done(results::unanswered(
                        &fault.in_one_line(),
                        &view,
                        query.session.as_deref(),
                    )));
                }
                Ok(forms::DeliveryStatus::Nothing) if is_put_off => {
                    let session = query.session.unwrap_or_default();
                    return Ok(BackendOutcome::Done(results::answered(&view, &session, None)));
                }
                // The answers may have been delivered before, and the client comes again for the result.
                Ok(_) => {}
            }
            listening(caller, |listener| self.service.conversations.follow(&run, query, listener)).await?
        } else {
            listening(caller, |listener| self.service.conversations.query(query, listener)).await?
        };
        let QueryAnswer { view, session, messages } = answered;
        if !view.waits.is_empty() && caller.can_ask() {
            let state = json!({ "run": view.run, "session": session });
            return Ok(BackendOutcome::Asks(ClientQuestions { requests: forms::requests(&view), state: Some(state) }));
        }
        Ok(BackendOutcome::Done(results::answered(&view, &session, messages)))
    }

    async fn dispatch(
        &self,
        work: &RunRequest,
        caller: &ClientCaller,
    ) -> Result<BackendOutcome<CallToolResult>, Fault> {
        let view = self.service.runs.dispatch(work).await?;
        if caller.takes_tasks() {
            return Ok(BackendOutcome::Task(Box::new(tasks::task(&view))));
        }
        Ok(BackendOutcome::Done(results::standing(&view)))
    }

    async fn known_task(&self, id: &str) -> Result<RunView, ErrorData> {
        self.service.runs.view(id).await.map_err(|_| unknown_task(id))
    }
}

/// Waits for a run and reports its progress.
async fn listening<W: Future<Output = Result<QueryAnswer, Fault>>>(
    caller: &ClientCaller,
    begin: impl FnOnce(RunListener) -> W,
) -> Result<QueryAnswer, Fault> {
    let (progress, mut heard) = mpsc::unbounded_channel::<RunProgress>();
    let mut waiting = pin!(begin(RunListener { progress, unwanted: caller.unwanted().clone() }));
    let mut told = 0.0_f64;
    loop {
        tokio::select! {
            biased;
            Some(RunProgress { done, steps, message }) = heard.recv() => {
                // Progress must grow with every report, and one step may report several times.
                told = (told + 0.01).max(done as f64);
                caller.progress(told, (steps > 0).then_some(steps as f64 + 1.0), &message).await;
            }
            answered = &mut waiting => return answered,
        }
    }
}

/// The arguments of a call. They fit the schema.
struct ArgumentMap<'a>(&'a serde_json::Map<String, Value>);

impl ArgumentMap<'_> {
    fn optional(&self, name: &str) -> Option<String> {
        self.0.get(name).and_then(Value::as_str).map(str::to_owned)
    }

    fn text(&self, name: &str) -> Result<String, Fault> {
        self.optional(name).ok_or_else(|| Fault::usage(format!("`{name}` is missing")))
    }

    fn run(&self) -> Result<String, Fault> {
        self.text("run")
    }

    fn is(&self, name: &str, otherwise: bool) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or(otherwise)
    }

    fn work(&self, name: &str) -> Result<RunRequest, Fault> {
        Ok(RunRequest { goal: self.text(name)?, agent: self.optional("agent") })
    }
}

impl ServerBackend for UpdraftBackend {
    fn about(&self) -> ServerConfig {
        let capabilities =
            ServerCapabilities::builder().enable_tools().enable_resources().enable_prompts().enable_tasks().build();
        let own = Implementation::new("updraft", self.version.clone()).with_title("Updraft");
        ServerConfig::new(capabilities).with_server_info(own).with_instructions(INSTRUCTIONS.trim())
    }

    fn tools(&self) -> Vec<Tool> {
        tools::all()
    }

    fn call<'a>(
        &'a self,
        call: ToolRequest,
        caller: &'a ClientCaller,
    ) -> BackendFuture<'a, BackendOutcome<CallToolResult>> {
        Box::pin(async move {
            let made = self.make(call, caller).await;
            let refused = |fault: Fault| CallToolResult::error(vec![ContentBlock::text(fault.in_one_line())]);
            Ok(made.unwrap_or_else(|fault| BackendOutcome::Done(refused(fault))))
        })
    }

    fn unasked<'a>(&'a self, call: &'a ToolRequest, error: ErrorData) -> BackendFuture<'a, CallToolResult> {
        Box::pin(async move {
            // The run keeps waiting: it can be answered in another way.
            let state = call.state.as_ref().ok_or_else(|| error.clone())?;
            let view = self.service.runs.view(state["run"].as_str().unwrap_or_default()).await;
            let view = view.map_err(|_| error.clone())?;
            let why = format!("the client could not be asked: {}", error.message);
            Ok(results::unanswered(&why, &view, state["session"].as_str()))
        })
    }

    fn resources(&self) -> BackendFuture<'_, Vec<Resource>> {
        Box::pin(async { resources::list(&self.service.runs) })
    }

    fn templates(&self) -> Vec<ResourceTemplate> {
        resources::templates()
    }

    fn read<'a>(&'a self, uri: &'a str) -> BackendFuture<'a, Vec<ResourceContents>> {
        Box::pin(async move { resources::read(&self.service.runs, uri).await })
    }

    fn prompts(&self) -> Vec<Prompt> {
        prompts::all()
    }

    fn prompt<'a>(
        &'a self,
        wanted: PromptRequest,
        _: &'a ClientCaller,
    ) -> BackendFuture<'a, BackendOutcome<GetPromptResult>> {
        Box::pin(async move { prompts::fill_in(&wanted).map(BackendOutcome::Done) })
    }

    fn task<'a>(&'a self, id: &'a str) -> BackendFuture<'a, DetailedTask> {
        Box::pin(async move { Ok(tasks::detailed(&self.known_task(id).await?)) })
    }

    fn answer_task<'a>(&'a self, id: &'a str, replies: InputResponses) -> BackendFuture<'a, ()> {
        Box::pin(async move {
            let view = self.known_task(id).await?;
            let given = forms::give(&self.service.runs, &view, &replies).await;
            given.map(drop).map_err(|fault| ErrorData::invalid_params(fault.in_one_line(), None))
        })
    }

    fn cancel_task<'a>(&'a self, id: &'a str) -> BackendFuture<'a, ()> {
        Box::pin(async move {
            let view = self.known_task(id).await?;
            if !view.status.is_final() {
                // Acknowledged in either case: the run may have ended in the meantime.
                let _ = self.service.runs.cancel(&view.run, CLIENT).await;
            }
            Ok(())
        })
    }
}
