//! The client that the official conformance suite drives: our own client, told by the suite what to call.
//!
//! The suite appends the address of its server to the command and says in three variables what it wants. Nothing here
//! depends on the scenario: connect, list, call, answer questions with the schema's defaults, sign in where asked.

#![allow(clippy::disallowed_methods, clippy::print_stderr, reason = "a program for tests, told by variables")]

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use updraft_mcp::config::{ConfigFormat, read};
use updraft_mcp::{
    ElicitationAnswer, ElicitationHandler, ElicitationRequest, HostFuture, LoginBrowser, McpHost, Servers,
};
use updraft_run::{Reply, ToolCall};
use updraft_tools::{CallContext, Dispatcher, Place, Registry, ToolLimits, Workspace};

/// Where the suite's login page sends one back to.
const BACK: &str = "http://localhost:3000/callback";
/// Where the suite expects our description as a client.
const DESCRIPTION: &str = "https://conformance-test.local/client-metadata.json";

/// Says yes to everything: the defaults are filled in by whoever asked us.
struct Agreeable;

impl ElicitationHandler for Agreeable {
    fn ask(&self, _: ElicitationRequest) -> HostFuture<'_, ElicitationAnswer> {
        Box::pin(async { ElicitationAnswer::Accept(Value::Null) })
    }
}

/// Visits login pages without a browser: the suite's send one back at once.
struct Visitor(reqwest::Client);

impl LoginBrowser for Visitor {
    fn comes_back_to(&self) -> String {
        BACK.to_owned()
    }

    fn describes_itself_at(&self) -> Option<String> {
        Some(DESCRIPTION.to_owned())
    }

    fn visit(&self, _: &str, page: &str) -> HostFuture<'_, Result<String, String>> {
        let request = self.0.get(page);
        Box::pin(async move {
            let response = request.send().await.map_err(|error| error.to_string())?;
            let back = response.headers().get("location").and_then(|back| back.to_str().ok());
            back.map(str::to_owned).ok_or_else(|| format!("the login page answered {}", response.status()))
        })
    }
}

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = match runtime {
        Ok(runtime) => runtime.block_on(run()),
        Err(error) => Err(error.to_string()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), String> {
    let address = std::env::args().next_back().ok_or("expected the address of a server")?;
    let wanted: Value = std::env::var("MCP_CONFORMANCE_CONTEXT")
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let servers = Servers::new(configured(&address, &wanted)?, host(folder.path())?);
    let done = use_it(&servers, &wanted, folder.path()).await;
    servers.close().await;
    done
}

fn configured(address: &str, wanted: &Value) -> Result<Vec<updraft_mcp::config::ServerConfig>, String> {
    let mut server = json!({"url": address, "startSeconds": 20, "callSeconds": 20});
    if let Some(id) = wanted["client_id"].as_str() {
        server["oauth"] = json!({"clientId": id, "clientSecret": wanted["client_secret"]});
    }
    let text = json!({"mcpServers": {"suite": server}}).to_string();
    let (configs, faults) = read(&text, ConfigFormat::Json, "the suite", &|_| None);
    if let Some(fault) = faults.first() { Err(fault.to_string()) } else { Ok(configs) }
}

fn host(folder: &std::path::Path) -> Result<McpHost, String> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let visitor = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build();
    let mut host = McpHost::new(folder, folder.join("logs"));
    host.people = Some(Arc::new(Agreeable));
    host.login_handler = Some(Arc::new(Visitor(visitor.map_err(|error| error.to_string())?)));
    Ok(host)
}

/// Lists the tools, and calls those that the suite names, or else each once.
async fn use_it(servers: &Servers, wanted: &Value, folder: &std::path::Path) -> Result<(), String> {
    let server = servers.get("suite").map_err(|error| error.to_string())?;
    let manifest = server.check().await.map_err(|error| error.to_string())?;
    let mut registry = Registry::default();
    for tool in servers.tools(Duration::from_secs(20), &BTreeSet::new()).await {
        // One that cannot be taken on is left out, as in a run.
        if let Err(error) = registry.insert(tool) {
            eprintln!("left out: {error}");
        }
    }
    let dispatcher = Dispatcher::new(registry, ToolLimits::default());
    let calls: Vec<(String, Value)> = if let Some(calls) = wanted["toolCalls"].as_array() {
        let asked = |call: &Value| (call["name"].as_str().unwrap_or_default().to_owned(), call["arguments"].clone());
        calls.iter().map(asked).collect()
    } else {
        let first = manifest.tools.first().map(|tool| tool.input.clone()).unwrap_or_default();
        manifest.tools.iter().map(|tool| (tool.name.clone(), arguments(&tool.input, &first))).collect()
    };
    let place = Place { workspace: Workspace::open(folder).map_err(|error| error.to_string())? };
    for (name, args) in calls {
        let name = servers.resolve(&name).ok_or(format!("there is no tool named `{name}`"))?;
        if dispatcher.registry().get(&name).is_none() {
            continue;
        }
        let call = ToolCall { id: "1".into(), name: name.clone(), args, fault: None };
        match dispatcher.call(&call, &CallContext::new(place.clone(), "key")).await.reply {
            Reply::Output(_) => {}
            // What was made up does not fit: nothing was sent, and the suite sees that.
            Reply::Failed(failure) if failure.message.starts_with("the arguments of") => {
                eprintln!("not called: {}", failure.message);
            }
            other => return Err(format!("{name}: {other:?}")),
        }
    }
    Ok(())
}

/// Arguments that fit a schema: what is required, of the right kind. Who wants a schema gets the first that there is.
fn arguments(schema: &Value, first: &Value) -> Value {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let mut made = Map::new();
    for name in required.iter().filter_map(Value::as_str) {
        let value = match schema["properties"][name]["type"].as_str() {
            Some("number" | "integer") => json!(1),
            Some("boolean") => json!(true),
            Some("array") => json!([]),
            Some("object") if name == "schema" => first.clone(),
            Some("object") => json!({}),
            _ => json!("test"),
        };
        made.insert(name.to_owned(), value);
    }
    Value::Object(made)
}
