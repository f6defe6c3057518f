//! The offer made of a face: Updraft's tools, tasks, resources and prompts.

mod asking;
mod prompts;
mod resources;
mod shapes;
mod tasks;
mod tools;

use rmcp::ErrorData;
use rmcp::model::{
    CallToolResult, ContentBlock, DetailedTask, GetPromptResult, Implementation, InputResponses, Prompt, Resource,
    ResourceContents, ResourceTemplate, ServerCapabilities, ServerConfig, Tool,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::caller::Caller;
use super::face::{Answered, Doing, Face, Listener, Progress, Query, Refusal, View, Work};
use super::offer::{Asks, Call, Giving, Offer, Outcome, Wanted};

/// What a client's model is told about the server as a whole.
const INSTRUCTIONS: &str = include_str!("desk/instructions.md");

/// Offers what a face can do.
pub struct Desk<F> {
    face: F,
    version: String,
}

impl<F: Face> Desk<F> {
    /// Offers what this face can do, as this version of Updraft.
    pub fn new(face: F, version: &str) -> Self {
        Self { face, version: version.to_owned() }
    }

    async fn make(&self, call: Call, caller: &Caller) -> Result<Outcome<CallToolResult>, Refusal> {
        let given = Given(&call.arguments);
        let face = &self.face;
        let done = match call.name.as_str() {
            "query" => return self.query(&call, caller).await,
            "dispatch_agent_task" => return self.dispatch(given.work("prompt")?, caller).await,
            "task_status" => shapes::standing(&face.view(given.run()?).await?),
            "task_result" => shapes::result(&face.view(given.run()?).await?),
            "pause_task" => shapes::standing(&face.pause(given.run()?).await?),
            "resume_task" => shapes::standing(&face.resume(given.run()?).await?),
            "cancel_task" => shapes::standing(&face.cancel(given.run()?).await?),
            "approve" => {
                let (id, because) = (given.optional("id"), given.optional("because").unwrap_or_default());
                let allow = given.is("allow", true);
                shapes::standing(&face.approve(given.run()?, id, allow, because).await?)
            }
            "answer_question" => {
                let (id, text) = (given.optional("id"), given.text("answer")?);
                shapes::standing(&face.answer(given.run()?, id, text).await?)
            }
            "search" => shapes::hits(&face.search(given.text("query")?).await?),
            "fetch" => shapes::document(&face.fetch(given.text("id")?).await?),
            name => {
                let tool = tools::FILES.into_iter().find(|tool| *tool == name);
                let tool = tool.ok_or_else(|| Refusal(format!("no tool named `{name}`")))?;
                shapes::output(tool, &call.arguments, face.files(tool, Value::Object(call.arguments.clone())).await?)
            }
        };
        Ok(Outcome::Done(done))
    }

    async fn query(&self, call: &Call, caller: &Caller) -> Result<Outcome<CallToolResult>, Refusal> {
        let given = Given(&call.arguments);
        let mut query = Query {
            work: given.work("query")?,
            session: given.optional("session"),
            history: given.is("history", false),
        };
        let answered = if let Some(state) = &call.state {
            // The client comes back with answers to what the run has asked.
            let run = state["run"].as_str().unwrap_or_default().to_owned();
            query.session = state["session"].as_str().map(str::to_owned);
            let view = self.face.view(run.clone()).await?;
            let given = asking::give(&self.face, &view, &call.replies).await;
            let is_put_off = view.waits.iter().any(|wait| call.replies.contains_key(&wait.id));
            match given {
                // It goes on waiting, and whoever reads this must be able to find it.
                Err(Refusal(why)) => {
                    let view = self.face.view(run).await.unwrap_or(view);
                    return Ok(Outcome::Done(shapes::unanswered(&why, &view, query.session.as_deref())));
                }
                Ok(asking::Gave::Nothing) if is_put_off => {
                    let session = query.session.unwrap_or_default();
                    return Ok(Outcome::Done(shapes::answered(&view, &session, None)));
                }
                // What was said may have been heard before, and the client comes again for what it came to.
                Ok(_) => {}
            }
            self.listening(caller, |listener| self.face.follow(run, query, listener)).await?
        } else {
            self.listening(caller, |listener| self.face.query(query, listener)).await?
        };
        let Answered { view, session, messages } = answered;
        if !view.waits.is_empty() && caller.can_ask() {
            let state = json!({ "run": view.run, "session": session });
            return Ok(Outcome::Asks(Asks { requests: asking::requests(&view), state: Some(state) }));
        }
        Ok(Outcome::Done(shapes::answered(&view, &session, messages)))
    }

    /// Waits for a run and passes on how far it has come.
    async fn listening<'a>(
        &'a self,
        caller: &Caller,
        begin: impl FnOnce(Listener) -> Doing<'a, Answered>,
    ) -> Result<Answered, Refusal> {
        let (progress, mut heard) = mpsc::unbounded_channel::<Progress>();
        let mut waiting = begin(Listener { progress, unwanted: caller.unwanted().clone() });
        let mut told = 0.0_f64;
        loop {
            tokio::select! {
                biased;
                Some(Progress { done, steps, message }) = heard.recv() => {
                    // It must grow with every word, and a step may say several.
                    told = (told + 0.01).max(done as f64);
                    caller.progress(told, (steps > 0).then_some(steps as f64 + 1.0), &message).await;
                }
                answered = &mut waiting => return answered,
            }
        }
    }

    async fn dispatch(&self, work: Work, caller: &Caller) -> Result<Outcome<CallToolResult>, Refusal> {
        let view = self.face.dispatch(work).await?;
        if caller.takes_tasks() {
            return Ok(Outcome::Task(Box::new(tasks::task(&view))));
        }
        Ok(Outcome::Done(shapes::standing(&view)))
    }

    async fn known_task(&self, id: &str) -> Result<View, ErrorData> {
        self.face.view(id.to_owned()).await.map_err(|_| super::offer::unknown_task(id))
    }
}

/// The arguments of a call. They fit the schema.
struct Given<'a>(&'a serde_json::Map<String, Value>);

impl Given<'_> {
    fn optional(&self, name: &str) -> Option<String> {
        self.0.get(name).and_then(Value::as_str).map(str::to_owned)
    }

    fn text(&self, name: &str) -> Result<String, Refusal> {
        self.optional(name).ok_or_else(|| Refusal(format!("`{name}` is missing")))
    }

    fn run(&self) -> Result<String, Refusal> {
        self.text("run")
    }

    fn is(&self, name: &str, otherwise: bool) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or(otherwise)
    }

    fn work(&self, name: &str) -> Result<Work, Refusal> {
        Ok(Work { goal: self.text(name)?, agent: self.optional("agent") })
    }
}

impl<F: Face> Offer for Desk<F> {
    fn about(&self) -> ServerConfig {
        let capabilities =
            ServerCapabilities::builder().enable_tools().enable_resources().enable_prompts().enable_tasks().build();
        let own = Implementation::new("updraft", self.version.clone()).with_title("Updraft");
        ServerConfig::new(capabilities).with_server_info(own).with_instructions(INSTRUCTIONS.trim())
    }

    fn tools(&self) -> Vec<Tool> {
        tools::all()
    }

    fn call<'a>(&'a self, call: Call, caller: &'a Caller) -> Giving<'a, Outcome<CallToolResult>> {
        Box::pin(async move {
            let made = self.make(call, caller).await;
            Ok(made.unwrap_or_else(|Refusal(why)| Outcome::Done(CallToolResult::error(vec![ContentBlock::text(why)]))))
        })
    }

    fn unasked<'a>(&'a self, call: &'a Call, error: ErrorData) -> Giving<'a, CallToolResult> {
        Box::pin(async move {
            // The run goes on waiting: whoever reads this can answer it otherwise.
            let state = call.state.as_ref().ok_or_else(|| error.clone())?;
            let view = self.face.view(state["run"].as_str().unwrap_or_default().to_owned()).await;
            let view = view.map_err(|_| error.clone())?;
            let why = format!("the client could not be asked: {}", error.message);
            Ok(shapes::unanswered(&why, &view, state["session"].as_str()))
        })
    }

    fn resources(&self) -> Giving<'_, Vec<Resource>> {
        Box::pin(resources::list(&self.face))
    }

    fn templates(&self) -> Vec<ResourceTemplate> {
        resources::templates()
    }

    fn read<'a>(&'a self, uri: &'a str) -> Giving<'a, Vec<ResourceContents>> {
        Box::pin(resources::read(&self.face, uri))
    }

    fn prompts(&self) -> Vec<Prompt> {
        prompts::all()
    }

    fn prompt<'a>(&'a self, wanted: Wanted, _: &'a Caller) -> Giving<'a, Outcome<GetPromptResult>> {
        Box::pin(async move { prompts::fill_in(&wanted).map(Outcome::Done) })
    }

    fn task<'a>(&'a self, id: &'a str) -> Giving<'a, DetailedTask> {
        Box::pin(async move { Ok(tasks::detailed(&self.known_task(id).await?)) })
    }

    fn answer_task<'a>(&'a self, id: &'a str, replies: InputResponses) -> Giving<'a, ()> {
        Box::pin(async move {
            let view = self.known_task(id).await?;
            let given = asking::give(&self.face, &view, &replies).await;
            given.map(drop).map_err(|Refusal(why)| ErrorData::invalid_params(why, None))
        })
    }

    fn cancel_task<'a>(&'a self, id: &'a str) -> Giving<'a, ()> {
        Box::pin(async move {
            let view = self.known_task(id).await?;
            if !view.stand.is_final() {
                // Acknowledged either way: it may have come to its end in the meantime.
                let _ = self.face.cancel(view.run).await;
            }
            Ok(())
        })
    }
}
