//! A small backend: a list of tools that are plain functions from arguments to text and data.

use std::pin::Pin;
use std::sync::Arc;

use rmcp::model::{
    CallToolResult, ContentBlock, Implementation, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use serde_json::Value;

use super::backend::{BackendFuture, BackendOutcome, ServerBackend, ToolRequest};
use super::caller::ClientCaller;

type ToolFunction = dyn Fn(Value) -> Pin<Box<dyn Future<Output = Result<Value, String>> + Send>> + Send + Sync;

/// A tool that is a function. It returns a text, or an object with a field `text`; or an error message.
#[derive(Clone)]
pub struct PlainTool {
    tool: Tool,
    function: Arc<ToolFunction>,
}

impl PlainTool {
    /// A tool with this name, description and schema of its arguments.
    pub fn new<W>(
        name: &'static str,
        text: &'static str,
        input: Value,
        function: impl Fn(Value) -> W + Send + Sync + 'static,
    ) -> Self
    where
        W: Future<Output = Result<Value, String>> + Send + 'static,
    {
        let input = if let Value::Object(input) = input { input } else { serde_json::Map::new() };
        let tool = Tool::new(name, text, Arc::new(input));
        Self { tool, function: Arc::new(move |arguments| Box::pin(function(arguments))) }
    }

    /// Marks it as read-only.
    #[must_use]
    pub fn reading(mut self) -> Self {
        self.tool = self.tool.with_annotations(ToolAnnotations::new().read_only(true));
        self
    }
}

/// A list of plain tools.
pub struct PlainBackend {
    name: &'static str,
    version: String,
    instructions: &'static str,
    tools: Vec<PlainTool>,
}

impl PlainBackend {
    /// Creates a backend with these tools and this name.
    pub fn new(name: &'static str, version: &str, instructions: &'static str, mut tools: Vec<PlainTool>) -> Self {
        tools.sort_by(|one, other| one.tool.name.cmp(&other.tool.name));
        Self { name, version: version.to_owned(), instructions, tools }
    }
}

impl ServerBackend for PlainBackend {
    fn about(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new(self.name, self.version.clone()))
            .with_instructions(self.instructions)
    }

    fn tools(&self) -> Vec<Tool> {
        self.tools.iter().map(|tool| tool.tool.clone()).collect()
    }

    fn call<'a>(&'a self, call: ToolRequest, _: &'a ClientCaller) -> BackendFuture<'a, BackendOutcome<CallToolResult>> {
        Box::pin(async move {
            let tool = self.tools.iter().find(|tool| tool.tool.name == call.name);
            let made = match tool {
                Some(tool) => (tool.function)(Value::Object(call.arguments)).await,
                None => Err(format!("no tool named `{}`", call.name)),
            };
            Ok(BackendOutcome::Done(match made {
                Ok(Value::String(text)) => CallToolResult::success(vec![ContentBlock::text(text)]),
                Ok(data) => both(data),
                Err(why) => CallToolResult::error(vec![ContentBlock::text(why)]),
            }))
        })
    }
}

fn both(data: Value) -> CallToolResult {
    let text = data["text"].as_str().map_or_else(|| data.to_string(), str::to_owned);
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = data.is_object().then_some(data);
    result
}
