//! One goal through every provider's dialect: the real binary, and services on loopback that judge each request with the
//! official packages' types before they play their part (`tests/judges`).
//!
//! `UPDRAFT_TEST_PYTHON` names a Python that has those packages; `./test.sh` sets it. Without it the tests say so and end.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test that cannot go on ends; the binary is a process, and services are threads"
)]

mod broken;
mod cancelled;
mod changed;
mod judge;
mod pictures;
mod place;
mod providers;
mod same;
mod service;
