//! All integration tests of this crate in one program, which is built and linked once.

#![allow(clippy::unwrap_used, reason = "the helpers of tests fail by panicking, as tests do")]

mod chunking;
mod evaluation;
mod ingest;
mod kills;
mod processes;
mod search;
mod vectors;
mod world;
