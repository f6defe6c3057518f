//! Updraft as a server: the real binary, spoken to as other programs do, over pipes, HTTP and the bridge.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test starts processes and stops when something is broken"
)]

mod bridge;
mod client;
mod http;
mod pipes;
mod tasks;
#[path = "../cli/world.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod world;
