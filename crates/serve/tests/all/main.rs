//! The page as browsers see it: a real server, service and journal on a temporary workspace, and a scripted model.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what cannot be set up shall stop the test")]

mod access;
mod hostile;
mod places;
mod runs;
mod watching;
mod world;
