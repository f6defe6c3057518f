//! Let other programs in: MCP over standard input and output or HTTP, and the bridge for editors.
//!
//! A [`UpdraftBackend`] over an [`UpdraftService`](updraft_workbench::UpdraftService) is Updraft as an MCP server. Runs that come in by it are
//! ordinary runs of the journal: listed, shown, resumed and cancelled like any other.
//!
//! | file | what it is about |
//! |---|---|
//! | `desk.rs` and `desk/` | an office as an MCP server: tools, tasks, resources, prompts |
//! | `token.rs`, `host.rs` | who may come in over HTTP, and how |
//! | `hall.rs`, `visitors.rs` | who has connected and not shown the token yet |
//! | `bridge.rs` and `bridge/` | the WebSocket for editors, and the MCP server that forwards to one |

pub mod bridge;
mod desk;
mod hall;
mod host;
mod token;
mod visitors;

pub use desk::UpdraftBackend;
pub use host::{HttpHost, serve};
pub use token::ServeToken;
