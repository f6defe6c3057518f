//! The binary and a real language model: a small one that llama.cpp serves on loopback (`tests/real-model`).
//!
//! `UPDRAFT_TEST_MODEL` names its file and `UPDRAFT_TEST_MODEL_PYTHON` a Python that can serve it; `./test.sh` sets both.
//! Without them the tests say so and end. What such a model says is not looked at, only the form it comes in.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test starts processes, reads its environment, and stops when something is broken"
)]

mod goals;
mod measure;
mod plans;
mod server;
