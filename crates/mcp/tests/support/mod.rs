//! What the tests of servers share: a folder, a sandbox, and a way to call through the dispatcher.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "each test file uses a part of this"
)]

pub(crate) mod web;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use updraft_mcp::config::{ConfigFormat, read};
use updraft_mcp::{McpHost, Servers};
use updraft_run::{Reply, ToolCall, ToolOutput};
use updraft_sandbox::Sandbox;
use updraft_tools::{CallContext, CallLog, CallResult, Dispatcher, Place, Registry, ToolLimits, Workspace};

/// The launcher, and the server that misbehaves.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_updraft-mcp-testing");

/// A folder with a workspace, and what is remembered and logged beside it.
pub(crate) struct World {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) lines: Arc<Mutex<Vec<String>>>,
}

impl World {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("workspace")).unwrap();
        Self { folder, lines: Arc::default() }
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace").canonicalize().unwrap()
    }

    pub(crate) async fn host(&self) -> McpHost {
        let level = Sandbox::probe(PROGRAM).await.unwrap().level;
        let mut host = McpHost::new(self.workspace(), self.folder.path().join("logs"));
        host.sandbox = Ok(Sandbox::new(PROGRAM, level).unwrap());
        host.memory = Some(self.folder.path().join("memory"));
        host.environment = std::env::vars().filter(|(name, _)| name == "PATH").collect();
        host
    }

    pub(crate) async fn servers(&self, servers: Value) -> Servers {
        self.servers_with(&servers, self.host().await)
    }

    #[allow(clippy::unused_self, reason = "reads better")]
    pub(crate) fn servers_with(&self, servers: &Value, host: McpHost) -> Servers {
        let text = json!({ "mcpServers": servers }).to_string();
        let (configs, faults) = read(&text, ConfigFormat::Json, "test", &|_| None);
        assert_eq!(faults, []);
        Servers::new(configs, host)
    }

    /// A dispatcher of all tools of these servers.
    #[allow(clippy::unused_self, reason = "reads better")]
    pub(crate) async fn dispatcher(&self, servers: &Servers) -> Dispatcher {
        let mut registry = Registry::default();
        for tool in servers.tools(Duration::from_mins(1), &BTreeSet::new()).await {
            registry.insert(tool).unwrap();
        }
        let limits = ToolLimits { backoff: Duration::from_millis(10), ..ToolLimits::default() };
        Dispatcher::new(registry, limits)
    }

    pub(crate) fn context(&self) -> CallContext {
        let mut context = CallContext::new(Place { workspace: Workspace::open(&self.workspace()).unwrap() }, "key");
        let lines = Arc::clone(&self.lines);
        context.log = CallLog::to(move |line| lines.lock().unwrap().push(line.to_owned()));
        context
    }

    pub(crate) async fn called(&self, dispatcher: &Dispatcher, name: &str, args: Value) -> CallResult {
        let call = ToolCall { id: "1".into(), name: name.into(), args, fault: None };
        dispatcher.call(&call, &self.context()).await
    }

    pub(crate) async fn reply(&self, dispatcher: &Dispatcher, name: &str, args: Value) -> Reply {
        self.called(dispatcher, name, args).await.reply
    }

    pub(crate) async fn output(&self, dispatcher: &Dispatcher, name: &str, args: Value) -> Arc<ToolOutput> {
        match self.reply(dispatcher, name, args).await {
            Reply::Output(output) => output,
            other => panic!("{name}: {other:?}"),
        }
    }

    /// The words of a call that failed. Those that may be a server's own come as an output that says where they are from.
    pub(crate) async fn failure(&self, dispatcher: &Dispatcher, name: &str, args: Value) -> String {
        match self.reply(dispatcher, name, args).await {
            Reply::Failed(failure) => failure.message,
            Reply::Output(output) if output.is_error => output.text.clone(),
            other => panic!("{name}: {other:?}"),
        }
    }
}

/// The misbehaving server, in one of its eras.
pub(crate) fn chaos(era: &str) -> Value {
    json!({"command": PROGRAM, "args": ["chaos", era], "sandbox": {"read": [parent(PROGRAM)]}})
}

pub(crate) fn parent(path: &str) -> String {
    Path::new(path).parent().unwrap().display().to_string()
}
