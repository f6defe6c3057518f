//! `search_tools` and `call_tool`: tools of servers and drop-in tools, where there are too many to show each to the model. The
//! dispatcher searches, and makes a call that is passed on as if the tool had been called directly.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use updraft_run::{CALL_TOOL, EffectClass, Failure, FailureKind, PreparedCall, Reply, ToolSpec};
use updraft_workspace::Place;

use super::spec;
use crate::offer::SEARCH_TOOLS;
use crate::tool::{CallContext, Tool, ToolFuture, ToolTraits};

const TIME: Duration = Duration::from_secs(30);

pub(super) fn tools() -> [Arc<dyn Tool>; 2] {
    let search = json!({
        "type": "object",
        "properties": { "query": { "type": "string", "minLength": 1, "description": "What the tool should do." } },
        "required": ["query"],
        "additionalProperties": false
    });
    let call = json!({
        "type": "object",
        "properties": {
            "tool_name": { "type": "string" },
            "arguments": { "type": "object", "description": "They fit the tool's own schema." }
        },
        "additionalProperties": true
    });
    let found = "Find more tools by what they do. Gives their names, descriptions and schemas; call_tool calls them.";
    let called = "Call a tool that search_tools found.";
    [Arc::new(SearchTools(spec(SEARCH_TOOLS, found, search))), Arc::new(CallTool(spec(CALL_TOOL, called, call)))]
}

fn traits() -> ToolTraits {
    ToolTraits { class: EffectClass::Pure, group: "tools", time: TIME, ..ToolTraits::default() }
}

struct SearchTools(ToolSpec);

impl Tool for SearchTools {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn traits(&self) -> ToolTraits {
        traits()
    }

    fn call<'a>(&'a self, _: Value, _: &'a CallContext) -> ToolFuture<'a> {
        let failure = Failure::new(FailureKind::Tool, "tools are searched by the dispatcher");
        Box::pin(async move { Reply::Failed(failure) })
    }
}

struct CallTool(ToolSpec);

impl Tool for CallTool {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn traits(&self) -> ToolTraits {
        traits()
    }

    fn passes_on(&self, args: &Value) -> Option<(String, Value)> {
        let name = args["tool_name"].as_str().or_else(|| args["tool"].as_str())?;
        let arguments = args.get("arguments").filter(|value| !value.is_null()).cloned();
        Some((name.to_owned(), arguments.unwrap_or_else(|| json!({}))))
    }

    fn prepare(&self, _: &Value, _: &Place) -> PreparedCall {
        PreparedCall { fault: Some(unnamed()), ..PreparedCall::default() }
    }

    fn call<'a>(&'a self, _: Value, _: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move { Reply::Failed(unnamed()) })
    }
}

fn unnamed() -> Failure {
    Failure::new(FailureKind::Validation, "`tool_name` is missing; search_tools finds tools")
}
