//! Updraft as an agent in editors: version 1 of the Agent Client Protocol (ACP) over a pair of pipes.
//!
//! A conversation of Updraft is a session of the protocol: the id of its first run is the id of the session, so every
//! conversation can be listed and loaded, whoever began it. What an editor is told is a function of the journal
//! ([0043](../../../docs/decisions/0046-acp-with-types-of-our-own.md)).
//!
//! | file | contents |
//! |---|---|
//! | `agent.rs` | reads messages, answers them, and keeps track of open sessions |
//! | `rpc.rs`, `channel.rs` | JSON-RPC, one message a line; what is sent, and replies of the editor |
//! | `handshake.rs` | what the two sides say about themselves |
//! | `sessions.rs` | sessions: begun, loaded, listed, closed, deleted |
//! | `options.rs` | what can be chosen for a session: mode, model, agent |
//! | `folder_services.rs` | the services of the folders that sessions work in |
//! | `content.rs` | what a prompt contains |
//! | `turn.rs`, `asking.rs` | one prompt until its answer; questions and approvals |
//! | `narrator.rs`, `calls.rs`, `plan.rs` | a run in the words of the protocol |

mod agent;
mod asking;
mod calls;
mod channel;
mod content;
mod folder_services;
mod handshake;
mod narrator;
mod options;
mod plan;
mod rpc;
mod sessions;
mod turn;

pub use agent::{AcpSetup, serve};
