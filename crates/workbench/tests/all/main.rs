//! A workbench on a real folder, journal and engine, with the model that comes with the program.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what cannot be set up shall stop the test")]

mod getting_going;
