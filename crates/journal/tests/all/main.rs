//! All integration tests of this crate in one program, which is built and linked once.

#![allow(clippy::unwrap_used, reason = "the helpers of tests fail by panicking, as tests do")]

mod append;
mod blobs;
mod damage;
mod delete;
mod export;
mod fork;
mod inbox;
mod lease;
mod list;
mod noticed;
mod power_cut;
mod processes;
mod stored;
mod tail;
#[path = "../support/tape.rs"]
mod tape;
#[path = "../support/world.rs"]
mod world;
