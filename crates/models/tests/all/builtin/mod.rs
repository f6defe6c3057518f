//! The built-in model, driven from plan to answer over real folders.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a test that cannot go on has failed")]

mod agents;
mod answers;
mod facts;
mod world;
