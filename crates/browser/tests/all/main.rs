//! All integration tests of this crate in one program, which is built and linked once.
//!
//! They use a real Chromium, and say loudly that they were skipped where there is none.

mod attack;
mod events;
mod guard;
mod life;
mod pages;
mod reading;
mod site;
mod world;
