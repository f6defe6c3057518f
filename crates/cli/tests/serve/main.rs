//! Updraft as a server: the real binary, spoken to as other programs do, over pipes, HTTP and the bridge.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::needless_pass_by_value,
    reason = "a test starts processes, stops when something is broken, and hands over JSON as it is written"
)]

mod bridge;
mod browser;
mod client;
mod http;
mod pipes;
mod rules;
mod socket;
mod tasks;
#[path = "../cli/world.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod world;
