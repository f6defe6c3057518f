//! The tools with which agents list and read the resources and prompts of servers.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};
use updraft_run::{Failure, FailureKind, PreparedCall, Reply, ToolOutput, ToolSpec};
use updraft_tools::{CallContext, Place, Tool, ToolFuture, ToolSource, ToolTraits};

use super::manifest::{Manifest, ToolHints};
use super::server::Server;
use super::servers::Servers;
use super::tool;
use crate::error::{Error, cut};

/// By the protocol, listing and reading changes nothing. This is used for servers whose hints are trusted.
const READS: ToolHints = ToolHints {
    reads_only: true,
    idempotent: true,
    destroys: false,
    stays_inside: false,
    adds: false,
    reaches_out: false,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ResourceToolKind {
    Resources,
    Read,
    Prompts,
    Prompt,
}

const ALL: [ResourceToolKind; 4] =
    [ResourceToolKind::Resources, ResourceToolKind::Read, ResourceToolKind::Prompts, ResourceToolKind::Prompt];

/// The names of these tools, which no server's tool may have.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    ALL.into_iter().map(ResourceToolKind::name)
}

/// The tools for which at least one server has resources or prompts.
pub(super) fn tools(servers: &Servers) -> Vec<Arc<dyn Tool>> {
    let is_of_use = |kind: &ResourceToolKind| servers.iter().any(|server| kind.is_had_by(server));
    ALL.into_iter().filter(is_of_use).map(|kind| Arc::new(ResourceTool::new(servers, kind)) as Arc<dyn Tool>).collect()
}

impl ResourceToolKind {
    fn name(self) -> &'static str {
        match self {
            ResourceToolKind::Resources => "mcp_list_resources",
            ResourceToolKind::Read => "mcp_read_resource",
            ResourceToolKind::Prompts => "mcp_list_prompts",
            ResourceToolKind::Prompt => "mcp_get_prompt",
        }
    }

    fn is_had_by(self, server: &Server) -> bool {
        let has = |manifest: Arc<Manifest>| match self {
            ResourceToolKind::Resources | ResourceToolKind::Read => manifest.has_resources,
            ResourceToolKind::Prompts | ResourceToolKind::Prompt => manifest.has_prompts,
        };
        server.manifest().is_some_and(has)
    }

    fn about(self) -> &'static str {
        match self {
            ResourceToolKind::Resources => "List the resources of MCP servers: their addresses, names and purposes.",
            ResourceToolKind::Read => {
                "Read a resource of an MCP server. An address with {braces} is a template: fill them in."
            }
            ResourceToolKind::Prompts => "List the prompts of MCP servers, with their arguments.",
            ResourceToolKind::Prompt => "Get a prompt of an MCP server, with its arguments filled in.",
        }
    }

    fn parameters(self) -> Value {
        let text = |about: &str| json!({"type": "string", "description": about});
        let one = text("The server's name.");
        match self {
            ResourceToolKind::Resources | ResourceToolKind::Prompts => json!({"type": "object", "properties": {
                "server": text("A server's name; default: all servers.")}}),
            ResourceToolKind::Read => json!({"type": "object", "required": ["server", "uri"], "properties": {
                "server": one, "uri": text("The resource's address.")}}),
            ResourceToolKind::Prompt => json!({"type": "object", "required": ["server", "name"], "properties": {
                "server": one, "name": text("The prompt's name."),
                "arguments": {"type": "object", "additionalProperties": {"type": "string"}}}}),
        }
    }
}

struct ResourceTool {
    servers: Servers,
    kind: ResourceToolKind,
    spec: ToolSpec,
}

impl ResourceTool {
    fn new(servers: &Servers, kind: ResourceToolKind) -> Self {
        let spec =
            ToolSpec { name: kind.name().into(), description: kind.about().into(), parameters: kind.parameters() };
        Self { servers: servers.clone(), kind, spec }
    }

    /// The servers that a call is about: the named one, or all that have resources or prompts.
    fn chosen_servers(&self, args: &Value) -> Result<Vec<Arc<Server>>, Error> {
        match args["server"].as_str() {
            Some(name) => self.servers.get(name).map(|server| vec![Arc::clone(server)]),
            None => Ok(self.servers.iter().filter(|server| self.kind.is_had_by(server)).map(Arc::clone).collect()),
        }
    }

    async fn make(&self, args: Value) -> Reply {
        let failed = |kind, words: String| Reply::Failed(Failure::new(kind, words));
        let meant = match self.chosen_servers(&args) {
            Ok(meant) => meant,
            Err(error) => return failed(FailureKind::Validation, error.to_string()),
        };
        let (mut text, mut origins, mut hosts) = (String::new(), Vec::new(), Vec::new());
        for server in &meant {
            let name = &server.config().name;
            match self.words(server, &args).await {
                Ok(words) if meant.len() == 1 => text = words,
                Ok(words) => {
                    let _ = write!(text, "{name}:\n{words}");
                }
                Err(error) if meant.len() == 1 => {
                    let output = ToolOutput {
                        text: format!("MCP server `{name}`: {error}"),
                        is_error: true,
                        untrusted: true,
                        origins: vec![format!("MCP server {name}")],
                        ..ToolOutput::default()
                    };
                    return Reply::Output(Arc::new(output));
                }
                Err(error) => {
                    let _ = writeln!(text, "{name}: {error}");
                }
            }
            origins.push(format!("MCP server {name}"));
            hosts.extend(tool::hosts(server.config()));
        }
        if text.trim().is_empty() {
            "there are none".clone_into(&mut text);
        }
        Reply::Output(Arc::new(ToolOutput { text, untrusted: true, origins, hosts, ..ToolOutput::default() }))
    }

    async fn words(&self, server: &Server, args: &Value) -> Result<String, Error> {
        let given = |name: &str| args[name].as_str().unwrap_or_default();
        let mut text = String::new();
        match self.kind {
            ResourceToolKind::Read => return server.read(given("uri")).await,
            ResourceToolKind::Resources => {
                for one in server.resources().await? {
                    let _ = writeln!(text, "{}  {}: {}", one.uri, one.name, cut(&one.about, 300));
                }
            }
            ResourceToolKind::Prompts => {
                for (name, about) in server.prompts().await? {
                    let _ = writeln!(text, "{name}: {}", cut(&about, 600));
                }
            }
            ResourceToolKind::Prompt => {
                let arguments = args["arguments"].as_object().cloned().unwrap_or_default();
                for (role, words) in server.prompt(given("name"), arguments).await? {
                    let _ = writeln!(text, "{role}: {words}");
                }
            }
        }
        Ok(text)
    }
}

impl Tool for ResourceTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// The strictest traits of all servers; a call is judged by the servers it is about.
    fn traits(&self) -> ToolTraits {
        let reading = |server: &Arc<Server>| {
            // Even for an untrusted server: by the protocol, nothing is destroyed by reading.
            ToolTraits { destroys: false, ..tool::traits(server.config(), READS, server.is_vouched_for()) }
        };
        let all = self.servers.iter().map(reading);
        all.reduce(stricter).unwrap_or_else(|| ToolTraits { group: tool::GROUP, ..ToolTraits::default() })
    }

    fn source(&self) -> ToolSource {
        ToolSource::BuiltIn
    }

    fn prepare(&self, args: &Value, _: &Place) -> PreparedCall {
        let meant = match self.chosen_servers(args) {
            Ok(meant) => meant,
            Err(error) => {
                let fault = Some(Failure::new(FailureKind::Validation, error.to_string()));
                return PreparedCall { fault, ..PreparedCall::default() };
            }
        };
        let hosts = meant.iter().flat_map(|server| tool::hosts(server.config())).collect();
        let all = meant.iter().map(|server| tool::traits(server.config(), READS, server.is_vouched_for()));
        let elsewhere = meant.iter().all(|server| tool::is_remote(server.config()));
        let Some(ToolTraits { class, outside, sends, .. }) = all.reduce(stricter) else {
            return PreparedCall::default();
        };
        PreparedCall { class, outside, sends, hosts, served: true, elsewhere, ..PreparedCall::default() }
    }

    fn call<'a>(&'a self, args: Value, _: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(self.make(args))
    }
}

fn stricter(one: ToolTraits, other: ToolTraits) -> ToolTraits {
    let class = if one.class.is_repeatable() { other.class } else { one.class };
    ToolTraits {
        class,
        outside: one.outside || other.outside,
        sends: one.sends || other.sends,
        time: one.time.max(other.time),
        ..one
    }
}
