//! Speak MCP: use other people's servers as tools of ours, and be one.
//!
//! [`config`] says which servers there are, as data. [`Servers`] are those that are switched on: nothing is started
//! before it is needed, what falls is started again, and whatever a server does stays its own problem. Their tools are
//! ordinary [`updraft_tools::Tool`]s.
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
//! | module | holds |
//! |---|---|
//! | [`config`] | servers as data, in every dialect in use |
//! | `client/server`, `client/servers` | one server over time; all of them together |
//! | `client/connect`, `client/connection` | which transport and revision a server speaks; one connection while it lasts |
//! | `client/lines`, `client/process` | servers on pipes, in the sandbox |
//! | `client/door`, `client/login`, `client/sse`, `client/rest` | remote servers, old and new |
//! | `client/handler`, `client/host` | what servers may ask of us, and who answers |
//! | [`server`] | what we offer to other people's clients |
//! | `client/tool`, `client/content`, `client/names`, `client/helpers` | their tools as ours |

mod client;
pub mod config;
mod error;
pub mod server;

pub use client::{
    ElicitationAnswer, ElicitationHandler, ElicitationKind, ElicitationRequest, HostFuture, LoginBrowser, Manifest,
    McpHost, ProtocolViolations, ProxySettings, SHOWN, Sampler, SecretStore, Server, ServerHealth, ServerResource,
    Servers, ToolDescription, ToolHints, ToolNames, refused_login,
};
pub use error::{Error, VisitRequest};
