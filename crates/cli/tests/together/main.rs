//! Several processes of the real binary, and one that is killed and goes on: together they keep a provider's limit, and
//! never spend more than they may. The servers are on loopback, and count for themselves.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test starts processes, reads its environment, says what it counted, and stops when something is broken"
)]

mod bills;
mod budget;
mod fakes;
mod limit;
mod server;
mod tally;
mod world;
