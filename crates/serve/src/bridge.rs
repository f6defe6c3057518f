//! The bridge for editors: a WebSocket on this machine to read, write and list files and to start work for agents.
//!
//! Messages are JSON-RPC 2.0 objects, each in one text message:
//!
//! | method | parameters | result |
//! |---|---|---|
//! | `auth` | `token` | `success` |
//! | `fs/read` | `path`, `start_line`, `end_line` | `content` |
//! | `fs/write` | `path`, `content` | `success` |
//! | `fs/list` | `recursive`, `path` | `files`: paths; `truncated` |
//! | `agent/dispatch` | `prompt` | `success`, and `run` where we host it |
//! | `agent/status`, `agent/pause`, `agent/resume`, `agent/cancel` | `run` | `status`, `message`, `answer`, … |
//!
//! When a client or a run of this process has changed a file, every connected client gets the notification `fs/changed`
//! with `path`. The token comes in the header `Authorization: Bearer TOKEN` or as the first message, never in the
//! address. [`BridgeHost`] is the server side; [`BridgeClient`] and [`tools`] are the client side and work with any host of
//! such a socket.

mod bridge_client;
mod bridge_server;
mod handshake;
mod lines;
mod tools;
mod wire;

pub use bridge_client::BridgeClient;
pub use bridge_server::BridgeHost;
pub use tools::tools;
