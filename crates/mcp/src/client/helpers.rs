//! The tools that describe servers to a model.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use updraft_run::{EffectClass, Failure, FailureKind, PreparedCall, Reply, ToolOutput, ToolSpec};
use updraft_tools::{CallContext, Place, Tool, ToolFuture, ToolSource, ToolTraits};

use super::servers::Servers;
use super::tool::GROUP;
use crate::error::cut;

/// Maximum bytes of one server's instructions, in the list of all servers.
const INSTRUCTIONS: usize = 2 << 10;
/// Longer than it takes to start a server: that has limits of its own.
const LONGEST: Duration = Duration::from_hours(24 * 365);

/// The helper tools that describe the servers.
pub(super) fn about_servers(servers: &Servers) -> Vec<Arc<dyn Tool>> {
    let on_server = json!({"type": "object", "properties": {"server_name": {"type": "string", "description": "A server's name; default: all servers."}}});
    [
        (HelperKind::Servers, "List the MCP servers: their state, how many tools each has, and how it should be used.", json!({"type": "object", "properties": {}})),
        (HelperKind::Tools, "List the tools of MCP servers, by the names to call them with.", on_server.clone()),
        (
            HelperKind::Help,
            "Show the description and the JSON Schemas of one tool of an MCP server.",
            json!({"type": "object", "properties": {"tool_name": {"type": "string", "description": "The tool's name; required."}}}),
        ),
        (HelperKind::Health, "Check whether MCP servers work, starting those that are not running.", on_server),
    ]
    .into_iter()
    .map(|(kind, description, parameters)| helper(servers, kind, description, parameters))
    .collect()
}

fn helper(servers: &Servers, kind: HelperKind, description: &str, parameters: Value) -> Arc<dyn Tool> {
    let spec = ToolSpec { name: kind.name().into(), description: description.into(), parameters };
    Arc::new(HelperTool { servers: servers.clone(), kind, spec })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HelperKind {
    Servers,
    Tools,
    Help,
    Health,
}

impl HelperKind {
    fn name(self) -> &'static str {
        match self {
            HelperKind::Servers => "list_mcp_servers",
            HelperKind::Tools => "list_mcp_tools",
            HelperKind::Help => "get_mcp_tool_help",
            HelperKind::Health => "mcp_health_check",
        }
    }
}

struct HelperTool {
    servers: Servers,
    kind: HelperKind,
    spec: ToolSpec,
}

impl HelperTool {
    async fn make(&self, args: Value) -> Reply {
        let told = match self.kind {
            HelperKind::Servers => Ok(self.list()),
            HelperKind::Tools => self.tools(server_in(&args)),
            HelperKind::Help => self.help(tool_in(&args).unwrap_or_default()),
            HelperKind::Health => self.health(server_in(&args)).await,
        };
        match told {
            Ok(text) => {
                let origins = self.origins();
                Reply::Output(Arc::new(ToolOutput {
                    text,
                    untrusted: !origins.is_empty(),
                    origins,
                    ..ToolOutput::default()
                }))
            }
            Err(failure) => Reply::Failed(failure),
        }
    }

    /// The origins of the output. Definitions that the user vouches for are trusted; error messages of servers never
    /// are.
    fn origins(&self) -> Vec<String> {
        if matches!(self.kind, HelperKind::Servers | HelperKind::Health) {
            return vec!["descriptions by MCP servers".to_owned()];
        }
        let known = self.servers.known();
        let places: BTreeSet<String> = known.tools.values().filter_map(|tool| tool.words_from()).collect();
        places.into_iter().collect()
    }

    fn list(&self) -> String {
        let mut text = String::new();
        for server in self.servers.iter() {
            let health = server.health();
            let state = match (health.is_up, &health.last) {
                (true, _) => "running".to_owned(),
                (false, Some(error)) => format!("failed: {error}"),
                (false, None) => "not started yet".to_owned(),
            };
            let count = server.manifest().map_or(0, |manifest| manifest.tools.len());
            let _ = writeln!(text, "{}: {state}, {count} tools", server.config().name);
            if let Some(manifest) = server.manifest().filter(|manifest| !manifest.instructions.is_empty()) {
                let _ =
                    writeln!(text, "  how it says it should be used: {}", cut(&manifest.instructions, INSTRUCTIONS));
            }
        }
        text
    }

    fn tools(&self, server: Option<&str>) -> Result<String, Failure> {
        if let Some(name) = server {
            self.servers.get(name).map_err(|error| Failure::new(FailureKind::Validation, error.to_string()))?;
        }
        let mut text = String::new();
        for (name, tool) in &self.servers.known().tools {
            if server.is_none_or(|server| tool.server().config().name == server) {
                let _ = writeln!(text, "{name}: {}", cut(&tool.spec().description, 160));
            }
        }
        Ok(if text.is_empty() { "there are none".to_owned() } else { text })
    }

    fn help(&self, called: &str) -> Result<String, Failure> {
        let tool = self.servers.tool(called).ok_or_else(|| self.unknown(called))?;
        let spec = tool.spec();
        let mut text = format!("{} (MCP server {})\n{}\n", spec.name, tool.server().config().name, spec.description);
        let _ = writeln!(text, "arguments: {}", spec.parameters);
        if let Some(output) = tool.output() {
            let _ = writeln!(text, "gives: {output}");
        }
        Ok(text)
    }

    fn unknown(&self, called: &str) -> Failure {
        if called.is_empty() {
            return Failure::new(FailureKind::Validation, "`tool_name` is missing; list_mcp_tools names the tools");
        }
        let known = self.servers.known();
        let close: Vec<&str> =
            known.names.iter().filter(|(_, _, tool)| *tool == called).map(|(name, _, _)| name).take(3).collect();
        let hint = if close.is_empty() {
            "list_mcp_tools names them".to_owned()
        } else {
            format!("several servers have it: {}", close.join(", "))
        };
        Failure::new(FailureKind::Validation, format!("there is no single tool named `{}`; {hint}", cut(called, 64)))
    }

    async fn health(&self, server: Option<&str>) -> Result<String, Failure> {
        let mut text = String::new();
        for (one, checked) in self.servers.check(server).await {
            let name = &one.config().name;
            match checked {
                Ok(manifest) => {
                    let _ =
                        writeln!(text, "{name}: working, {} tools, MCP {}", manifest.tools.len(), manifest.revision);
                    for fault in manifest.faults() {
                        let _ = writeln!(text, "  left out: {fault}");
                    }
                }
                Err(error) => {
                    let _ = writeln!(text, "{name}: not working: {error}");
                }
            }
            for misdeed in one.health().misdeeds.words() {
                let _ = writeln!(text, "  {misdeed}");
            }
        }
        if text.is_empty() {
            return Err(Failure::new(FailureKind::Validation, "there is no such server; list_mcp_servers names them"));
        }
        Ok(text)
    }
}

/// The name of the tool to call. The schema does not require it, because the older argument `tool` is accepted as well.
fn tool_in(args: &Value) -> Option<&str> {
    args["tool_name"].as_str().or_else(|| args["tool"].as_str())
}

fn server_in(args: &Value) -> Option<&str> {
    args["server_name"].as_str().or_else(|| args["server"].as_str())
}

impl Tool for HelperTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn traits(&self) -> ToolTraits {
        ToolTraits { class: EffectClass::Pure, group: GROUP, time: LONGEST, ..ToolTraits::default() }
    }

    fn source(&self) -> ToolSource {
        ToolSource::BuiltIn
    }

    fn prepare(&self, _: &Value, _: &Place) -> PreparedCall {
        PreparedCall::default()
    }

    fn call<'a>(&'a self, args: Value, _: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(self.make(args))
    }
}
