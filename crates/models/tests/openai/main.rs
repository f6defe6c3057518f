//! The OpenAI dialect against servers on loopback that send exact bytes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod auto;
mod body;
mod retries;
mod server;
mod stream;
mod talk;
