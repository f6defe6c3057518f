//! The Model Context Protocol (MCP): a client, which makes the tools of configured servers available to runs, and a
//! server, which offers Updraft's own tools to other clients.
//!
//! [`config`] reads the configuration. [`Servers`] are the enabled servers: a server is started when it is first needed
//! and restarted after a failure, and a faulty server does not affect the others. Their tools are ordinary
//! [`updraft_tools::Tool`]s.
//!
//! ```no_run
//! # async fn example() {
//! use std::time::Duration;
//! use updraft_mcp::config::{ConfigFormat, read};
//! use updraft_mcp::{McpHost, Servers};
//!
//! let text = r#"{"mcpServers": {"time": {"url": "http://127.0.0.1:8000/mcp"}}}"#;
//! let (configs, faults) = read(text, ConfigFormat::Json, "mcp.json", &|_| None);
//! assert!(faults.is_empty());
//! let servers = Servers::new(configs, McpHost::new("/srv/project", "/srv/logs"));
//! for tool in servers.tools(Duration::from_secs(5), &Default::default()).await {
//!     println!("{}", tool.spec().name);
//! }
//! servers.close().await;
//! # }
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`config`] | the configuration of servers, in every supported dialect |
//! | `client/server`, `client/servers` | the life of one server; all servers together |
//! | `client/connect`, `client/connection` | finding the transport and revision of a server; one open connection |
//! | `client/stdio`, `client/process` | servers that are processes in the sandbox |
//! | `client/streamable_http`, `client/login`, `client/sse`, `client/plain_http` | remote servers, over all transports |
//! | `client/handler`, `client/host` | requests from servers, and what answers them |
//! | [`server`] | Updraft as a server for other clients |
//! | `client/tool`, `client/content`, `client/names`, `client/helpers` | servers' tools as tools of ours |

mod client;
pub mod config;
mod error;
pub mod server;

pub use client::{
    ElicitationAnswer, ElicitationHandler, ElicitationKind, ElicitationRequest, HostFuture, LoginBrowser, Manifest,
    McpHost, ProtocolViolations, ProxySettings, Sampler, SecretStore, Server, ServerHealth, ServerResource, Servers,
    ToolDescription, ToolHints, ToolNames, refused_login,
};
pub use error::{Error, UrlRequest};
