//! Reads a conversation line by line from standard input.

use std::io::BufRead;
use std::sync::mpsc;

use tokio_util::sync::CancellationToken;

use crate::fault::{CliError, CliExitCode};
use crate::signals::Signals;
use crate::{out, runtime};

/// Reads lines on a thread of its own, one at a time and only when asked: a question of a run reads standard input too.
pub(super) struct LineReader {
    ask: mpsc::Sender<()>,
    lines: tokio::sync::mpsc::UnboundedReceiver<std::io::Result<Option<String>>>,
    /// A line was asked for and has not come yet.
    is_waiting: bool,
}

impl LineReader {
    pub(super) fn start() -> Self {
        let (ask, asked) = mpsc::channel();
        let (send, lines) = tokio::sync::mpsc::unbounded_channel();
        std::thread::spawn(move || {
            while asked.recv().is_ok() {
                let mut line = Vec::new();
                let read = std::io::stdin().lock().read_until(b'\n', &mut line);
                let line = String::from_utf8_lossy(&line).into_owned();
                if send.send(read.map(|bytes| (bytes > 0).then_some(line))).is_err() {
                    return;
                }
            }
        });
        Self { ask, lines, is_waiting: false }
    }

    /// The next line; `None` at the end of the input, or when a signal says so. At a terminal, Ctrl-C only drops the line.
    pub(super) fn next(&mut self, is_terminal: bool) -> Result<Option<String>, CliError> {
        if !self.is_waiting {
            let _ = self.ask.send(());
            self.is_waiting = true;
        }
        loop {
            let lines = &mut self.lines;
            let came = runtime::block_on(async move {
                let mut signals = Signals::listen(CancellationToken::new())?;
                tokio::select! {
                    line = lines.recv() => Ok(Ok(line)),
                    code = signals.first() => Ok(Err(code)),
                }
            })?;
            match came {
                Err(CliExitCode::Interrupted) if is_terminal => out::draw("\n(Ctrl-D leaves)\n> "),
                Err(_) => return Ok(None),
                Ok(line) => {
                    self.is_waiting = false;
                    let line = line.unwrap_or(Ok(None));
                    return line.map_err(|error| CliError::failed(format!("could not read standard input: {error}")));
                }
            }
        }
    }
}
