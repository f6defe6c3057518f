//! Updraft as a server: what it offers, spoken in every revision of the protocol on one endpoint.
//!
//! | file | what it is about |
//! |---|---|
//! | `offer.rs` | what a server offers, in the protocol's terms |
//! | `handler.rs`, `rounds.rs`, `caller.rs` | speaks for an offer: both eras, exact capabilities, questions to the client |
//! | `subscribers.rs` | who wants to be told of changes |
//! | `plain.rs` | a small offer: a list of tools that are plain functions |
//! | `host.rs` | over standard input and output, or as a service for an HTTP server |
//! | `letters.rs`, `scan.rs`, `batch.rs` | what clients send, looked at first: what is no message is answered |
//! | `lines.rs`, `web.rs` | the same on pipes and over HTTP |

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

/// The protocol's own types, for offers that need more than text.
pub use rmcp::{ErrorData, model};
