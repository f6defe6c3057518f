//! A program that can be its own launcher, for this crate's tests and benchmark: what `updraft` does, and no more.
//!
//! `probe` prints what the machine offers; `exec LEVEL POLICY PROGRAM ARG…` runs a program under a policy given as JSON
//! and prints how it ended, as JSON; `together POLICY SCRIPT…` runs scripts at once in one workspace, and prints the same;
//! `attempt NAME ARG…` tries one thing that a sandbox should refuse.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::disallowed_methods, reason = "a program for tests")]

#[cfg(target_os = "linux")]
mod attempts;
#[cfg(target_os = "linux")]
mod hold;
#[cfg(target_os = "linux")]
mod program;
#[cfg(target_os = "linux")]
mod share;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    program::main()
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    std::process::ExitCode::from(125)
}
