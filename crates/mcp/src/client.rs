//! The MCP client: connects to configured servers and makes their tools available to runs.

mod calling_run;
mod clock;
mod connect;
mod connection;
mod content;
mod events;
mod failed_start;
mod handler;
mod helpers;
mod host;
mod http;
mod launch_location;
mod list_changes;
mod log_level;
mod login;
mod login_retry;
mod manifest;
mod names;
mod open_requests;
mod package_runner;
mod parse;
mod plain_http;
mod process;
mod repair;
mod resource_tools;
mod rounds;
mod server;
mod servers;
mod sse;
mod stdio;
mod streamable_http;
mod task;
mod tool;

pub use host::{
    ElicitationAnswer, ElicitationHandler, ElicitationKind, ElicitationRequest, HostFuture, LoginBrowser, McpHost,
    ProxySettings, Sampler, SecretStore,
};
pub use login::refused_login;
pub use manifest::{Manifest, ToolDescription, ToolHints};
pub use names::ToolNames;
pub use open_requests::ProtocolViolations;
pub use server::{Server, ServerHealth};
pub use servers::{ServerResource, Servers};
