//! The dialects against servers on loopback that send exact bytes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod auto;
mod body;
mod chat;
mod faults;
mod houses;
mod ollama;
mod retries;
mod server;
mod talk;
