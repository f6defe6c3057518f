//! Long work on an index in the terminal: with a line that says how far it is, and an end at Ctrl-C that keeps what is
//! done.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use updraft_knowledge::{Cancel, Error};
use updraft_tools::{IndexProgress, IndexWork, Workspace, WorkspaceIndex};

use crate::fault::{CliError, CliExitCode};
use crate::signals::Signals;
use crate::view::{ProgressLine, WorkProgress, bytes, count};

/// An index, its workspace, and the signals that end the work.
pub(crate) struct IndexJob {
    pub(crate) index: Arc<WorkspaceIndex>,
    pub(crate) workspace: Workspace,
    signals: RefCell<Option<Signals>>,
    /// Cancelled by the first signal.
    stop: CancellationToken,
    is_quiet: bool,
    /// How long work takes before anything is said about it.
    patience: Duration,
}

/// What came of the work, and the exit code if a signal ended it.
pub(crate) struct Outcome<T> {
    pub(crate) value: T,
    pub(crate) code: CliExitCode,
}

impl IndexJob {
    pub(crate) fn new(
        index: WorkspaceIndex,
        workspace: &Path,
        is_quiet: bool,
        patience: Duration,
    ) -> Result<Self, CliError> {
        let workspace = Workspace::open(workspace)?;
        let stop = CancellationToken::new();
        Ok(Self { index: Arc::new(index), workspace, signals: RefCell::new(None), stop, is_quiet, patience })
    }

    /// Does the work on a thread of its own. The first signal stops it between two files; the second ends at once.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&WorkspaceIndex, &Workspace, &mut IndexWork<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<Outcome<T>, CliError> {
        let mut signals = self.signals()?;
        let cancel = Cancel::default();
        let (index, workspace) = (Arc::clone(&self.index), self.workspace.clone());
        let (stop, is_quiet, patience) = (cancel.clone(), self.is_quiet, self.patience);
        let mut thread = tokio::task::spawn_blocking(move || {
            let mut line = ProgressLine::new(is_quiet, patience);
            // Vectors are made after all files are read.
            let mut since = Instant::now();
            let mut progress = |progress: &IndexProgress| {
                if matches!(progress, IndexProgress::Files(_)) {
                    since = Instant::now();
                }
                line.show(|| in_words(progress, since));
            };
            let mut task = IndexWork { cancel: stop, vector_time: None, tries_again: true, progress: &mut progress };
            let outcome = work(&index, &workspace, &mut task);
            line.clear();
            outcome
        });
        let joined = loop {
            tokio::select! {
                biased;
                joined = &mut thread => break joined,
                code = signals.second() => {
                    return Err(CliError::new(code, "interrupted; what was written is kept"));
                }
                () = self.stop.cancelled(), if !cancel.is_cancelled() => cancel.cancel(),
            }
        };
        let code = if self.stop.is_cancelled() { signals.code() } else { CliExitCode::Done };
        *self.signals.borrow_mut() = Some(signals);
        let joined = joined.map_err(|error| CliError::failed(format!("the work ended early: {error}")))?;
        Ok(Outcome { value: joined.map_err(|error| fault(&error))?, code })
    }

    /// Waits. Returns the exit code if a signal came.
    pub(crate) async fn rest(&self, time: Duration) -> Option<CliExitCode> {
        let mut signals = self.signals().ok()?;
        let code = tokio::select! {
            code = signals.first() => Some(code),
            () = tokio::time::sleep(time) => None,
        };
        *self.signals.borrow_mut() = Some(signals);
        code
    }

    fn signals(&self) -> Result<Signals, CliError> {
        match self.signals.borrow_mut().take() {
            Some(signals) => Ok(signals),
            None => Signals::listen(self.stop.clone()),
        }
    }
}

fn in_words(progress: &IndexProgress, since: Instant) -> WorkProgress {
    match progress {
        IndexProgress::Files(state) => WorkProgress {
            what: format!("indexing {} of {}", state.files, count(state.all_files, "file")),
            share: state.bytes as f64 / state.all_bytes.max(1) as f64,
            rate: format!("{}/s", bytes(state.rate)),
            left: state.left(),
        },
        IndexProgress::Vectors(done, all) => vectors_in_words(*done, *all, since),
    }
}

/// How far the making of vectors is, since it began.
pub(crate) fn vectors_in_words(done: u64, all: u64, since: Instant) -> WorkProgress {
    let rate = done as f64 / since.elapsed().as_secs_f64().max(1e-3);
    let left = all.saturating_sub(done) as f64 / rate.max(1e-3);
    WorkProgress {
        what: format!("making vectors: {done} of {all}"),
        share: done as f64 / all.max(1) as f64,
        rate: format!("{rate:.0}/s"),
        left: Duration::try_from_secs_f64(left).unwrap_or(Duration::MAX),
    }
}

/// A failure of the index, with its cause.
pub(crate) fn fault(error: &Error) -> CliError {
    CliError::failed(updraft_run::error_chain(error))
}
