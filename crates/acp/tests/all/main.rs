//! The agent as editors see it: a real agent, service and journal on a temporary folder, and a scripted model.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "what cannot be set up shall stop the test; the agent is waited for"
)]

mod allowed_keys;
mod conversations;
mod requirements;
mod sessions;
mod world;
