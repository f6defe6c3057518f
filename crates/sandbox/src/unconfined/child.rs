//! A running child without confinement: its pipes, its limits of time and output, and its end.

use std::io;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::group;
use crate::capture::{CapturedStream, OutputMeter, OverflowAction, StreamCollector, collect, last_words};
use crate::child_result::ChildResult;
use crate::command::OutputMode;
use crate::error::{Error, ErrorContext};
use crate::policy::SandboxLevel;
use crate::protocol::{KillReason, MovedFile, ProgramExit};

/// Our end of a child's standard input.
pub type PlainStdinWriter = ChildStdin;
/// Our end of a child's standard output.
pub type PlainStdoutReader = ChildStdout;

/// A program without confinement. Dropping it ends the program, and its process group on systems that have groups.
#[derive(Debug)]
pub struct PlainChild {
    /// Its standard input, if [`StdinMode::Pipe`](crate::StdinMode::Pipe) was requested.
    pub stdin: Option<PlainStdinWriter>,
    piped: Option<PlainStdoutReader>,
    process: tokio::process::Child,
    /// The process group that it leads, by its process id.
    group: Option<u32>,
    stdout: JoinSet<io::Result<CapturedStream>>,
    stderr: JoinSet<io::Result<CapturedStream>>,
    meter: Arc<OutputMeter>,
    time: Option<Duration>,
    started: Instant,
    unwanted: Arc<Notify>,
    /// Its home and temporary folder, removed when it is dropped.
    _private: TempDir,
}

/// Sends requests to a child while another task [waits](Child::wait) for it. Cheap to clone.
#[derive(Clone)]
pub struct PlainChildHandle(Arc<Notify>);

impl PlainChildHandle {
    /// Files that would run later are not watched here, so none is moved.
    #[expect(clippy::unused_async, reason = "the same signature as on Linux")]
    pub async fn look_after(&self) -> Option<(Vec<MovedFile>, Vec<String>)> {
        Some((Vec::new(), Vec::new()))
    }

    /// Ends it, and its process group on systems that have groups. The task that waits for it gets the result.
    #[expect(clippy::unused_async, reason = "the same signature as on Linux")]
    pub async fn end(&self) {
        self.0.notify_one();
    }
}

impl PlainChild {
    pub(super) fn new(
        mut process: tokio::process::Child,
        has_group: bool,
        output: &OutputMode,
        most: u64,
        time: Option<Duration>,
        started: Instant,
        private: TempDir,
    ) -> Self {
        let (mut stdout, mut stderr) = (JoinSet::new(), JoinSet::new());
        let (said, complained) = (process.stdout.take(), process.stderr.take());
        let (meter, piped) = match output {
            OutputMode::Inherit => (OutputMeter::new(most, OverflowAction::Stop), None),
            OutputMode::Capture(capture) => {
                let meter = OutputMeter::new(most, OverflowAction::Stop);
                if let Some(said) = said {
                    let collector = StreamCollector::new(capture, capture.stdout_file.clone());
                    stdout.spawn(collect(said, collector, meter.clone()));
                }
                (meter, None)
            }
            OutputMode::Pipe(_) => (OutputMeter::new(most, OverflowAction::Discard), said),
        };
        let stream: Option<ChildStderr> = complained;
        if let (Some(stream), OutputMode::Capture(capture) | OutputMode::Pipe(capture)) = (stream, output) {
            let collector = StreamCollector::new(capture, capture.stderr_file.clone());
            stderr.spawn(collect(stream, collector, meter.clone()));
        }
        let (stdin, group) = (process.stdin.take(), process.id().filter(|_| has_group));
        PlainChild {
            stdin,
            piped,
            process,
            group,
            stdout,
            stderr,
            meter,
            time,
            started,
            unwanted: Arc::default(),
            _private: private,
        }
    }

    /// A handle for requests to the child while another task waits for its end.
    pub fn handle(&self) -> PlainChildHandle {
        PlainChildHandle(Arc::clone(&self.unwanted))
    }

    /// Its standard output, if [`OutputMode::Pipe`] was requested. Can be taken only once.
    pub fn stdout(&mut self) -> Option<PlainStdoutReader> {
        self.piped.take()
    }

    /// A socket of a network of its own, which children do not have here.
    #[expect(clippy::unused_self, reason = "the same signature as on Linux")]
    pub fn listener(&mut self) -> Option<std::net::TcpListener> {
        None
    }

    /// The level it runs at.
    #[expect(clippy::unused_self, reason = "the same signature as on Linux")]
    pub fn level(&self) -> SandboxLevel {
        SandboxLevel::None
    }

    /// The hosts that it reached. There is no proxy here, so none is known.
    #[expect(clippy::unused_self, reason = "the same signature as on Linux")]
    pub fn reached(&self) -> crate::ReachedHosts {
        crate::ReachedHosts::default()
    }

    /// Always true: files that would run later are not watched here.
    #[expect(clippy::unused_async, reason = "the same signature as on Linux")]
    pub async fn is_current(&mut self) -> Result<bool, Error> {
        Ok(true)
    }

    /// Files that would run later are not watched here, so none is moved.
    #[expect(clippy::unused_async, reason = "the same signature as on Linux")]
    pub async fn look_after(&mut self) -> Result<(Vec<MovedFile>, Vec<String>), Error> {
        Ok((Vec::new(), Vec::new()))
    }

    /// Waits for the end and returns the captured output. Dropping this future ends the child.
    pub async fn wait(self) -> Result<ChildResult, Error> {
        self.watch(false).await
    }

    /// Ends the program, and its process group on systems that have groups.
    pub async fn end(self) -> Result<ChildResult, Error> {
        self.watch(true).await
    }

    async fn watch(mut self, mut is_unwanted: bool) -> Result<ChildResult, Error> {
        drop(self.stdin.take());
        let mut killed_for = None;
        if is_unwanted {
            self.kill();
        }
        let status = loop {
            let left = self.time.map(|time| time.saturating_sub(self.started.elapsed()));
            let is_free = killed_for.is_none() && !is_unwanted;
            tokio::select! {
                // In this order, because a program whose output is no longer read also ends by itself.
                biased;
                () = self.meter.is_over.notified(), if is_free => {
                    killed_for = Some(KillReason::Output);
                    self.kill();
                }
                status = self.process.wait() => break status.doing("waiting for the program")?,
                () = tokio::time::sleep(left.unwrap_or_default()), if is_free && left.is_some() => {
                    killed_for = Some(KillReason::Time);
                    self.kill();
                }
                () = self.unwanted.notified(), if is_free => {
                    is_unwanted = true;
                    self.kill();
                }
            }
        };
        // Its descendants are ended too; only then are the pipes sure to close.
        self.end_group();
        let stdout = last_words(&mut self.stdout).await.doing("reading the output")?;
        let stderr = last_words(&mut self.stderr).await.doing("reading the output")?;
        let exit = Some(exit(status)).filter(|_| killed_for.is_none() && !is_unwanted);
        let why = "changes are collected by the sandbox, which exists for Linux only";
        Ok(ChildResult {
            exit,
            killed_for,
            refused: Vec::new(),
            reached: Vec::new(),
            moved_aside: Vec::new(),
            troubles: Vec::new(),
            staged: None,
            unstaged: Some(why.to_owned()),
            unlisted: crate::UnlistedChanges::default(),
            lost: 0,
            run_again_for: Vec::new(),
            waited: Duration::ZERO,
            elapsed: self.started.elapsed(),
            stdout,
            stderr,
            level: SandboxLevel::None,
        })
    }

    fn kill(&mut self) {
        self.end_group();
        // Fails only if it has already ended.
        let _ = self.process.start_kill();
    }

    fn end_group(&mut self) {
        if let Some(leader) = self.group {
            group::end(leader);
        }
    }
}

impl Drop for PlainChild {
    fn drop(&mut self) {
        // Once it has been waited for, its process id may belong to another process.
        if self.process.id().is_some() {
            self.end_group();
        }
    }
}

fn exit(status: ExitStatus) -> ProgramExit {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return ProgramExit::Signal(signal);
    }
    ProgramExit::Code(status.code().unwrap_or(-1))
}
