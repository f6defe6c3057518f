//! The MCP client: connects to configured servers and makes their tools available to runs.

mod absence;
mod admit;
mod answers;
mod asking;
mod changed;
mod clock;
mod connect;
mod connection;
mod content;
mod door;
mod events;
mod fetched;
mod handler;
mod hear;
mod helpers;
mod host;
mod http;
mod ledger;
mod lines;
mod login;
mod manifest;
mod mend;
mod names;
mod process;
mod rest;
mod rounds;
mod server;
mod servers;
mod shelf;
mod sse;
mod task;
mod tool;
mod whence;

pub use host::{
    ElicitationAnswer, ElicitationHandler, ElicitationKind, ElicitationRequest, HostFuture, LoginBrowser, McpHost,
    ProxySettings, Sampler, SecretStore,
};
pub use ledger::ProtocolViolations;
pub use login::refused_login;
pub use manifest::{Manifest, ToolDescription, ToolHints};
pub use names::ToolNames;
pub use server::{Server, ServerHealth};
pub use servers::{SHOWN, ServerResource, Servers};
