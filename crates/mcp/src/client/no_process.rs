//! Where there is no sandbox yet, no server is started: the same interface, and a word on why.

use tokio::io::{Empty, Sink};

use super::host::{Host, Later};
use crate::config::ServerConfig;
use crate::error::Error;

/// A process that cannot be.
pub(super) enum Process {}

/// The ends of its pipes, and the process.
pub(super) type Started = (Empty, Sink, Process);

#[expect(clippy::unused_async, reason = "the same signature as on Linux")]
pub(super) async fn start(_: &Host, _: &ServerConfig) -> Result<Started, Error> {
    Err(Error::Start("programs can be confined on Linux only, so none is started here".to_owned()))
}

#[expect(clippy::unused_async, reason = "the same signatures as on Linux")]
impl Process {
    pub(super) async fn end(&self) -> Option<String> {
        match *self {}
    }

    pub(super) fn ended(&self) -> Option<&String> {
        match *self {}
    }

    pub(super) fn works_for(&self, _: &str) {
        match *self {}
    }

    pub(super) fn look_after(&self) -> Later<'static, String> {
        match *self {}
    }

    pub(super) async fn close(&mut self) {
        match *self {}
    }
}
