//! Handles Ctrl-C and SIGTERM: the first stops cleanly, the second at once.

use std::cell::Cell;

use tokio_util::sync::CancellationToken;

use crate::fault::{CliError, CliExitCode};

/// The signals of this system.
#[cfg(unix)]
mod system {
    use std::io::Result;

    use tokio::signal::unix::{Signal, SignalKind, signal};

    pub(super) type Interrupt = Signal;
    pub(super) type Terminate = Signal;

    pub(super) fn interrupt() -> Result<Interrupt> {
        signal(SignalKind::interrupt())
    }

    pub(super) fn terminate() -> Result<Terminate> {
        signal(SignalKind::terminate())
    }
}

/// The signals of Windows: Ctrl-C, and Ctrl-Break instead of SIGTERM. Untested.
#[cfg(not(unix))]
mod system {
    pub(super) use tokio::signal::windows::{
        CtrlBreak as Terminate, CtrlC as Interrupt, ctrl_break as terminate, ctrl_c as interrupt,
    };
}

/// Listens for signals from its creation on.
pub(crate) struct Signals {
    interrupt: system::Interrupt,
    terminate: system::Terminate,
    stop: CancellationToken,
    caught: Cell<Option<CliExitCode>>,
    /// Cancelled by the first signal only, while `stop` may have other reasons.
    noticed: CancellationToken,
}

impl Signals {
    /// Cancels `stop` at the first signal.
    pub(crate) fn listen(stop: CancellationToken) -> Result<Self, CliError> {
        let failed = |error: std::io::Error| CliError::failed(format!("could not listen for signals: {error}"));
        Ok(Self {
            interrupt: system::interrupt().map_err(failed)?,
            terminate: system::terminate().map_err(failed)?,
            stop,
            caught: Cell::new(None),
            noticed: CancellationToken::new(),
        })
    }

    /// The exit code for the first signal.
    pub(crate) fn code(&self) -> CliExitCode {
        self.caught.get().unwrap_or(CliExitCode::Interrupted)
    }

    /// Whether there was a signal.
    pub(crate) fn has_caught(&self) -> bool {
        self.caught.get().is_some()
    }

    /// Cancelled when there is a signal.
    pub(crate) fn noticed(&self) -> CancellationToken {
        self.noticed.clone()
    }

    /// Returns at the second signal. The future may be dropped and called again.
    pub(crate) async fn second(&mut self) -> CliExitCode {
        loop {
            let code = tokio::select! {
                _ = self.interrupt.recv() => CliExitCode::Interrupted,
                _ = self.terminate.recv() => CliExitCode::Terminated,
            };
            if self.caught.replace(Some(code)).is_some() {
                return code;
            }
            self.noticed.cancel();
            self.stop.cancel();
        }
    }

    /// Returns at the first signal.
    pub(crate) async fn first(&mut self) -> CliExitCode {
        if let Some(code) = self.caught.get() {
            return code;
        }
        let code = tokio::select! {
            _ = self.interrupt.recv() => CliExitCode::Interrupted,
            _ = self.terminate.recv() => CliExitCode::Terminated,
        };
        self.caught.set(Some(code));
        self.noticed.cancel();
        self.stop.cancel();
        code
    }
}
