//! The protocol handler for a backend, in every revision. Requests that the backend does not declare are refused.

#![expect(deprecated, reason = "what leaves the protocol is still spoken by clients of earlier revisions")]

use std::collections::BTreeMap;
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelTaskParams, CompleteRequestMethod,
    CompleteRequestParams, CompleteResult, CompletionInfo, ContentBlock, CreateTaskResult, CustomRequest, CustomResult,
    GetPromptRequestMethod, GetPromptRequestParams, GetPromptResponse, GetTaskParams, GetTaskResult,
    ListPromptsRequestMethod, ListPromptsResult, ListResourceTemplatesRequestMethod, ListResourceTemplatesResult,
    ListResourcesRequestMethod, ListResourcesResult, ListToolsResult, LoggingLevel, PaginatedRequestParams,
    ReadResourceRequestMethod, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ServerCapabilities,
    ServerConfig, SetLevelRequestMethod, SetLevelRequestParams, SubscribeRequestMethod, SubscribeRequestParams,
    SubscriptionFilter, Tool, UnsubscribeRequestMethod, UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use updraft_tools::Schema;

use super::backend::{BackendOutcome, ClientQuestions, PromptRequest, ServerBackend, ToolRequest};
use super::caller::ClientCaller;
use super::invalid_params;
use super::rounds::{self, MOST_ROUNDS, StateSeal};
use super::subscribers::{ChangeNotice, ClientSession, Subscribers, lock};

/// Serves a backend to one client. Cheap to clone.
#[derive(Clone)]
pub struct McpHandler {
    shared: Arc<HandlerInner>,
    session: Arc<ClientSession>,
}

struct HandlerInner {
    offer: Arc<dyn ServerBackend>,
    about: ServerConfig,
    tools: Vec<Tool>,
    known: BTreeMap<String, (usize, Schema)>,
    seal: StateSeal,
    subscribers: Subscribers,
}

impl McpHandler {
    /// Creates a handler for this backend. State that clients carry for us is sealed with `key`: anyone who knows the
    /// key could forge it. Fails if the schema of a tool is invalid.
    pub fn new(offer: Arc<dyn ServerBackend>, key: &[u8]) -> Result<Self, String> {
        let tools = offer.tools();
        let mut known = BTreeMap::new();
        for (place, tool) in tools.iter().enumerate() {
            let wrong = |why: String| format!("the schema of `{}` cannot be used: {why}", tool.name);
            let schema = Schema::new(&tool.schema_as_json_value()).map_err(wrong)?;
            known.insert(tool.name.to_string(), (place, schema));
        }
        let about = offer.about();
        let shared =
            HandlerInner { offer, about, tools, known, seal: StateSeal::new(key), subscribers: Subscribers::default() };
        Ok(Self { shared: Arc::new(shared), session: Arc::default() })
    }

    /// A handler of the same backend for another client.
    #[must_use]
    pub fn another(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), session: Arc::default() }
    }

    /// Notifies every subscribed client of a change.
    pub async fn announce(&self, change: &ChangeNotice) {
        self.shared.subscribers.announce(change).await;
    }

    pub(super) fn session(&self) -> &ClientSession {
        &self.session
    }

    pub(super) fn log_level(&self) -> LoggingLevel {
        *lock(&self.session.level)
    }

    fn capabilities(&self) -> &ServerCapabilities {
        &self.shared.about.capabilities
    }

    fn offer(&self) -> &dyn ServerBackend {
        self.shared.offer.as_ref()
    }

    /// Runs the rounds of a call until it is done or the client must send answers.
    async fn call(
        &self,
        tool: &str,
        mut call: ToolRequest,
        caller: &ClientCaller,
    ) -> Result<CallToolResponse, ErrorData> {
        for _ in 0..MOST_ROUNDS {
            let asks = match self.offer().call(call.clone(), caller).await? {
                BackendOutcome::Done(result) => return Ok(result.into()),
                BackendOutcome::Task(task) => return Ok(CreateTaskResult::new(*task).into()),
                BackendOutcome::Asks(asks) if caller.is_modern() => {
                    return Ok(rounds::as_result(&self.shared.seal, tool, asks, caller)?.into());
                }
                BackendOutcome::Asks(asks) => asks,
            };
            let ClientQuestions { requests, state } = asks;
            call.state = state;
            match rounds::ask_now(ClientQuestions { requests, state: None }, caller).await {
                Ok(replies) => call.replies = replies,
                Err(error) => return self.offer().unasked(&call, error).await.map(Into::into),
            }
        }
        let error = ErrorData::internal_error(format!("`{tool}` asked more than {MOST_ROUNDS} times"), None);
        self.offer().unasked(&call, error).await.map(Into::into)
    }
}

/// The arguments for the tool, or an error result for the model that says why they do not fit.
fn fitting(request: &mut CallToolRequestParams, schema: &Schema) -> Result<Value, CallToolResult> {
    let arguments = Value::Object(request.arguments.take().unwrap_or_default());
    let accepted = schema.accept(&arguments).map(std::borrow::Cow::into_owned);
    accepted.map_err(|mismatch| {
        let text = format!("the arguments of `{}` do not fit its schema: {mismatch}", request.name);
        CallToolResult::error(vec![ContentBlock::text(text)])
    })
}

/// Waits for a future until the client cancels the request.
async fn unless_cancelled<T>(
    context: &RequestContext<RoleServer>,
    work: impl Future<Output = Result<T, ErrorData>>,
) -> Result<T, ErrorData> {
    tokio::select! {
        done = work => done,
        () = context.ct.cancelled() => Err(cancelled()),
    }
}

fn cancelled() -> ErrorData {
    ErrorData::internal_error("the request was cancelled", None)
}

impl ServerHandler for McpHandler {
    fn get_info(&self) -> ServerConfig {
        self.shared.about.clone()
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.shared.known.get(name).map(|(place, _)| self.shared.tools[*place].clone())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.shared.subscribers.meet(&self.session, context.peer);
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.shared.tools.clone()))
    }

    async fn call_tool(
        &self,
        mut request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = request.name.to_string();
        let Some((_, schema)) = self.shared.known.get(&name) else {
            return Err(ErrorData::invalid_params(format!("no tool named `{name}`; `tools/list` lists them"), None));
        };
        let state = self.shared.seal.open(&name, request.request_state.as_deref())?;
        let arguments = match fitting(&mut request, schema) {
            Ok(Value::Object(arguments)) => arguments,
            Ok(_) => serde_json::Map::new(),
            Err(result) => return Ok(result.into()),
        };
        let replies = request.input_responses.unwrap_or_default();
        let caller = ClientCaller::new(self, context);
        let call = ToolRequest { name: name.clone(), arguments, replies, state };
        let mut calling = std::pin::pin!(self.call(&name, call, &caller));
        tokio::select! {
            done = &mut calling => done,
            () = caller.context.ct.cancelled() => {
                // Set before the call is dropped, so that the call can tell this from a client that has merely
                // disconnected.
                caller.forsake();
                Err(cancelled())
            }
        }
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        if self.capabilities().resources.is_none() {
            return Err(ErrorData::method_not_found::<ListResourcesRequestMethod>());
        }
        Ok(ListResourcesResult::with_all_items(self.offer().resources().await?))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        if self.capabilities().resources.is_none() {
            return Err(ErrorData::method_not_found::<ListResourceTemplatesRequestMethod>());
        }
        Ok(ListResourceTemplatesResult::with_all_items(self.offer().templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if self.capabilities().resources.is_none() {
            return Err(ErrorData::method_not_found::<ReadResourceRequestMethod>());
        }
        let read = unless_cancelled(&context, self.offer().read(&request.uri)).await?;
        Ok(ReadResourceResult::new(read).into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        if self.capabilities().prompts.is_none() {
            return Err(ErrorData::method_not_found::<ListPromptsRequestMethod>());
        }
        Ok(ListPromptsResult::with_all_items(self.offer().prompts()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if self.capabilities().prompts.is_none() {
            return Err(ErrorData::method_not_found::<GetPromptRequestMethod>());
        }
        let mut wanted = PromptRequest {
            name: request.name.clone(),
            arguments: request.arguments.unwrap_or_default(),
            replies: request.input_responses.unwrap_or_default(),
        };
        let caller = ClientCaller::new(self, context);
        for _ in 0..MOST_ROUNDS {
            match self.offer().prompt(wanted.clone(), &caller).await? {
                BackendOutcome::Done(prompt) => return Ok(prompt.into()),
                BackendOutcome::Asks(asks) if caller.is_modern() => {
                    return Ok(rounds::as_result(&self.shared.seal, &request.name, asks, &caller)?.into());
                }
                BackendOutcome::Asks(asks) => wanted.replies = rounds::ask_now(asks, &caller).await?,
                BackendOutcome::Task(_) => break,
            }
        }
        Err(ErrorData::internal_error(format!("the prompt `{}` did not finish", request.name), None))
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        if self.capabilities().completions.is_none() {
            return Err(ErrorData::method_not_found::<CompleteRequestMethod>());
        }
        let mut values = self.offer().completions(&request.argument.name);
        values.retain(|value| value.starts_with(&request.argument.value));
        values.truncate(CompletionInfo::MAX_VALUES);
        let info = CompletionInfo::new(values).map_err(|why| ErrorData::internal_error(why, None))?;
        Ok(CompleteResult::new(info))
    }

    async fn set_level(&self, request: SetLevelRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        if self.capabilities().logging.is_none() {
            return Err(ErrorData::method_not_found::<SetLevelRequestMethod>());
        }
        *lock(&self.session.level) = request.level;
        Ok(())
    }

    async fn subscribe(&self, request: SubscribeRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        if !follows_resources(self.capabilities()) {
            return Err(ErrorData::method_not_found::<SubscribeRequestMethod>());
        }
        lock(&self.session.followed).insert(request.uri);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if !follows_resources(self.capabilities()) {
            return Err(ErrorData::method_not_found::<UnsubscribeRequestMethod>());
        }
        lock(&self.session.followed).remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let own = self.capabilities();
        let changes = [
            own.tools.as_ref().and_then(|tools| tools.list_changed),
            own.prompts.as_ref().and_then(|prompts| prompts.list_changed),
            own.resources.as_ref().and_then(|resources| resources.list_changed.or(resources.subscribe)),
        ];
        changes.contains(&Some(true)).then(|| requested.supported_by(own))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let number = self.shared.subscribers.listen(context.sink().clone());
        context.cancelled().await;
        self.shared.subscribers.leave(number);
        Ok(())
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        Ok(GetTaskResult::new(self.offer().task(&request.task_id).await?))
    }

    async fn update_task(&self, request: UpdateTaskParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        self.offer().answer_task(&request.task_id, request.input_responses).await
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(invalid_params::why(request, self.capabilities(), ClientCaller::new(self, context).is_modern()))
    }

    async fn cancel_task(&self, request: CancelTaskParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        self.offer().cancel_task(&request.task_id).await
    }
}

fn follows_resources(own: &ServerCapabilities) -> bool {
    own.resources.as_ref().is_some_and(|resources| resources.subscribe == Some(true))
}
