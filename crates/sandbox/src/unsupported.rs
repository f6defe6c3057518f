//! The same interface where there is no sandbox yet: everything answers that it is not supported. Untested.

#![allow(clippy::unused_async, reason = "the same signatures as on Linux")]

use std::path::PathBuf;

use crate::command::Command;
use crate::ended::Ended;
use crate::error::Error;
use crate::order::Step;
use crate::policy::{Level, Policy};
use crate::probe::{Missing, Probe};

/// The launcher, which does not exist here.
pub mod launch {
    /// The argument by which a program knows that it is wanted as the launcher.
    pub const ARGUMENT: &str = "__sandbox";

    /// Ends with the code for a sandbox that could not be set up.
    pub fn main() -> ! {
        std::process::exit(crate::error::SETUP_FAILED)
    }
}

/// Starts no children here.
#[derive(Clone, Debug)]
pub struct Sandbox(());

impl Sandbox {
    /// Always [`Error::Unsupported`].
    pub fn new(_launcher: impl Into<PathBuf>, _level: Level) -> Result<Sandbox, Error> {
        Err(Error::Unsupported)
    }

    /// What can be said without trying: nothing is enforced.
    pub async fn probe(_launcher: impl Into<PathBuf>) -> Result<Probe, Error> {
        let missing = vec![Missing::new(
            "every part of the sandbox",
            "this is not Linux",
            "run on Linux, or in a Linux container",
        )];
        Ok(Probe { level: Level::None, landlock_abi: 0, missing })
    }

    /// The level of a sandbox that cannot be made.
    pub fn level(&self) -> Level {
        Level::None
    }

    /// Always [`Error::Unsupported`].
    pub async fn timings(&self) -> Result<Vec<Step>, Error> {
        Err(Error::Unsupported)
    }

    /// Always [`Error::Unsupported`].
    pub async fn spawn(&self, _policy: &Policy, _command: Command) -> Result<Child, Error> {
        Err(Error::Unsupported)
    }
}

/// A child that cannot be.
#[derive(Debug)]
pub enum Child {}

impl Child {
    /// Cannot be called.
    pub fn level(&self) -> Level {
        match *self {}
    }

    /// Cannot be called.
    pub fn reached(&self) -> crate::Reached {
        match *self {}
    }

    /// Cannot be called.
    pub async fn is_current(&mut self) -> Result<bool, Error> {
        match *self {}
    }

    /// Cannot be called.
    pub async fn look_after(&mut self) -> Result<(Vec<crate::MovedAside>, Vec<String>), Error> {
        match *self {}
    }

    /// Cannot be called.
    pub async fn wait(self) -> Result<Ended, Error> {
        match self {}
    }

    /// Cannot be called.
    pub async fn end(self) -> Result<Ended, Error> {
        match self {}
    }
}
