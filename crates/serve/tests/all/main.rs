//! The page as browsers see it: a real server, service and journal on a temporary workspace, and a scripted model.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::format_push_string,
    clippy::format_collect,
    reason = "what cannot be set up shall stop the test; the server is waited for; requests are written by hand"
)]

mod a2a;
mod a2a_answers;
mod a2a_push;
mod access;
mod api;
mod commands;
mod elsewhere;
mod encryption;
mod floods;
mod hostile;
mod keys;
mod labels;
mod metrics;
mod openai;
mod places;
mod routes;
mod runs;
mod steering;
mod users;
mod watching;
mod world;
