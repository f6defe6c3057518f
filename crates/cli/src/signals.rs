//! Ctrl-C and SIGTERM: the first stops cleanly, the second at once.

use std::cell::Cell;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::fault::{Code, Fault};

/// Listens for signals from the moment it is made.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    stop: CancellationToken,
    caught: Cell<Option<Code>>,
}

impl Signals {
    /// Cancels `stop` at the first signal.
    pub(crate) fn listen(stop: CancellationToken) -> Result<Self, Fault> {
        let listen =
            |kind| signal(kind).map_err(|error| Fault::failed(format!("could not listen for signals: {error}")));
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            stop,
            caught: Cell::new(None),
        })
    }

    /// What the first signal says about the exit code.
    pub(crate) fn code(&self) -> Code {
        self.caught.get().unwrap_or(Code::Interrupted)
    }

    /// Returns at the second signal. May be dropped and called again.
    pub(crate) async fn second(&mut self) -> Code {
        loop {
            let code = tokio::select! {
                _ = self.interrupt.recv() => Code::Interrupted,
                _ = self.terminate.recv() => Code::Terminated,
            };
            if self.caught.replace(Some(code)).is_some() {
                return code;
            }
            self.stop.cancel();
        }
    }

    /// Returns at the first signal.
    pub(crate) async fn first(&mut self) -> Code {
        if let Some(code) = self.caught.get() {
            return code;
        }
        let code = tokio::select! {
            _ = self.interrupt.recv() => Code::Interrupted,
            _ = self.terminate.recv() => Code::Terminated,
        };
        self.caught.set(Some(code));
        self.stop.cancel();
        code
    }
}
