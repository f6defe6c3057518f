//! Entry points for people and other programs: the web page, the HTTP API, an MCP server over standard input and output
//! or HTTP, and the bridge for editors.
//!
//! An [`UpdraftBackend`] over an [`UpdraftService`](updraft_workbench::UpdraftService) is Updraft as an MCP server.
//! Runs that are started through it are ordinary runs of the journal: listed, shown, resumed and cancelled like any
//! other.
//!
//! | file | contents |
//! |---|---|
//! | `mcp_backend.rs` and `mcp_backend/` | the MCP server: tools, tasks, resources, prompts |
//! | `token.rs`, `http_server.rs` | the access token, and the HTTP server that checks it |
//! | `metrics.rs`, `process_figures.rs` | `/metrics` for Prometheus |
//! | `tls.rs` | the server's certificate, and encrypted connections |
//! | `users.rs` | names, roles and tokens of the people who share the page |
//! | `bearer.rs`, `bearer_gate.rs` | who may come in with `Authorization: Bearer TOKEN`; the gate of all ways in for programs |
//! | `openai.rs` and `openai/` | agents for programs that speak OpenAI's API |
//! | `a2a.rs` and `a2a/` | runs as tasks for other agents |
//! | `run_follower.rs`, `event_stream.rs` | a run followed in its journal; server-sent events |
//! | `wait_words.rs` | runs that need a person, in words |
//! | `page.rs` and `page/` | the web page |
//! | `api.rs` and `api/` | the HTTP API |
//! | `route_handler.rs` | handlers of routes, behind one type |
//! | `webhooks.rs` | other servers that are told about runs |
//! | `unread_body.rs` | connections of requests that were answered before they were read |
//! | `waiting_room.rs`, `admission.rs` | limits for connections that have not shown the token yet |
//! | `bridge.rs` and `bridge/` | the WebSocket for editors, and the MCP server that forwards to one |

mod a2a;
mod admission;
mod api;
mod bearer;
mod bearer_gate;
pub mod bridge;
mod event_stream;
mod http_server;
mod mcp_backend;
mod metrics;
mod openai;
mod page;
mod priority;
mod process_figures;
mod route_handler;
mod run_follower;
mod tls;
mod token;
mod unread_body;
mod users;
mod wait_words;
mod waiting_room;
mod webhooks;

pub use http_server::HttpHost;
pub use mcp_backend::UpdraftBackend;
pub use page::{PageAccess, PageAddress, run_as_html};
pub use tls::TlsIdentity;
pub use token::ServeToken;
pub use users::{PageUser, UserFile, UserRole};
pub use webhooks::Webhooks;
