//! All integration tests of this crate in one program, which is built and linked once.
//! Those that measure their process stand apart: `floods` and `thousand`.

#![cfg(target_os = "linux")]

mod chaos;
mod fetched;
mod helpers;
mod losses;
mod meeting;
mod real;
mod remote;
mod renewals;
mod resource_tools;
mod sloppy;
#[path = "../support/mod.rs"]
mod support;
mod turned_away;
