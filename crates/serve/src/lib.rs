//! Let other programs in: MCP over standard input and output or HTTP, and the bridge for editors.
//!
//! A [`Desk`](updraft_mcp::server::Desk) over an [`Office`] is Updraft as an MCP server. Runs that come in by it are
//! ordinary runs of the journal: listed, shown, resumed and cancelled like any other.
//!
//! | file | what it is about |
//! |---|---|
//! | `office.rs` | what can be asked for from outside, done with the engine, the journal and the tools |
//! | `runs.rs` | drives the runs of this process, and goes on with those of the one before |
//! | `view.rs` | a run as someone outside sees it |
//! | `find.rs`, `files.rs` | the workspace's files: through tools and searched; whole, for programs |
//! | `token.rs`, `host.rs` | who may come in over HTTP, and how |
//! | `hall.rs`, `visitors.rs` | who has connected and not shown the token yet |
//! | `bridge.rs` and `bridge/` | the WebSocket for editors, and the MCP server that forwards to one |

pub mod bridge;
mod files;
mod find;
mod hall;
mod host;
mod office;
mod runs;
mod token;
mod view;
mod visitors;

pub use host::{Host, serve};
pub use office::Office;
pub use token::Token;
