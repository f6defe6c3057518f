//! Entry points for other programs: an MCP server over standard input and output or HTTP, and the bridge for editors.
//!
//! An [`UpdraftBackend`] over an [`UpdraftService`](updraft_workbench::UpdraftService) is Updraft as an MCP server.
//! Runs that are started through it are ordinary runs of the journal: listed, shown, resumed and cancelled like any
//! other.
//!
//! | file | contents |
//! |---|---|
//! | `desk.rs` and `desk/` | the MCP server: tools, tasks, resources, prompts |
//! | `token.rs`, `host.rs` | the access token, and the HTTP server that checks it |
//! | `hall.rs`, `visitors.rs` | limits for connections that have not shown the token yet |
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
