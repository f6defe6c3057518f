//! The MCP server: offers Updraft's own tools to other clients, in every revision of the protocol on one endpoint.
//!
//! | file | contents |
//! |---|---|
//! | `backend.rs` | the trait for what a server offers, in the protocol's terms |
//! | `handler.rs`, `rounds.rs`, `caller.rs` | the protocol handler: both eras, exact capabilities, questions to the
//! client |
//! | `subscribers.rs` | clients that are notified of changes |
//! | `plain_backend.rs` | a small backend: a list of tools that are plain functions |
//! | `host.rs` | serving over standard input and output, or as a service for an HTTP server |
//! | `parse.rs`, `id_scanner.rs`, `batch.rs` | parsing of client messages: an invalid message gets an error answer |
//! | `stream_transport.rs`, `http_transport.rs` | the transports over pipes and over HTTP |

mod backend;
mod batch;
mod caller;
mod handler;
mod host;
mod http_transport;
mod id_scanner;
mod invalid_params;
mod parse;
mod plain_backend;
mod rounds;
mod stream_transport;
mod subscribers;
#[cfg(test)]
mod tests;

pub use backend::{
    BackendFuture, BackendOutcome, ClientQuestions, PromptRequest, ServerBackend, ToolRequest, unknown_task,
};
pub use caller::ClientCaller;
pub use handler::McpHandler;
pub use host::{ConversationEnd, http, over, over_stdio};
pub use http_transport::HttpService;
pub use plain_backend::{PlainBackend, PlainTool};
pub use subscribers::ChangeNotice;

/// The protocol's own types, for backends that need more than text.
pub use rmcp::{ErrorData, model};
