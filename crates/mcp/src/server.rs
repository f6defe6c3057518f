//! The MCP server: offers Updraft's own tools to other clients, in every revision of the protocol on one endpoint.
//!
//! | file | contents |
//! |---|---|
//! | `offer.rs` | the trait for what a server offers, in the protocol's terms |
//! | `handler.rs`, `rounds.rs`, `caller.rs` | the protocol handler: both eras, exact capabilities, questions to the
//! client |
//! | `subscribers.rs` | clients that are notified of changes |
//! | `plain.rs` | a small backend: a list of tools that are plain functions |
//! | `host.rs` | serving over standard input and output, or as a service for an HTTP server |
//! | `letters.rs`, `scan.rs`, `batch.rs` | parsing of client messages: an invalid message gets an error answer |
//! | `lines.rs`, `web.rs` | the transports over pipes and over HTTP |

mod batch;
mod caller;
mod handler;
mod host;
mod letters;
mod lines;
mod offer;
mod plain;
mod rounds;
mod scan;
mod subscribers;
#[cfg(test)]
mod tests;
mod unfit;
mod web;

pub use caller::ClientCaller;
pub use handler::McpHandler;
pub use host::{ConversationEnd, http, over, over_stdio};
pub use offer::{
    BackendFuture, BackendOutcome, ClientQuestions, PromptRequest, ServerBackend, ToolRequest, unknown_task,
};
pub use plain::{PlainBackend, PlainTool};
pub use subscribers::ChangeNotice;
pub use web::HttpService;

/// The protocol's own types, for backends that need more than text.
pub use rmcp::{ErrorData, model};
