//! A running child that nothing confines: its pipes, its limits of time and output, and its end.

use std::io;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::group;
use crate::capture::{Captured, Collector, Meter, Over, collect, last_words};
use crate::command::Output;
use crate::ended::Ended;
use crate::error::{Doing, Error};
use crate::order::{Exit, Killed, MovedAside};
use crate::policy::Level;

/// Our end of a child's input.
pub type Writer = ChildStdin;
/// Our end of a child's output.
pub type Reader = ChildStdout;

/// A program that nothing confines. Dropping it ends the program, and its group where there are groups.
#[derive(Debug)]
pub struct Child {
    /// Its input, if [`Stdin::Pipe`](crate::Stdin::Pipe) was asked for.
    pub stdin: Option<Writer>,
    piped: Option<Reader>,
    process: tokio::process::Child,
    /// The group it leads, by its own number.
    group: Option<u32>,
    stdout: JoinSet<io::Result<Captured>>,
    stderr: JoinSet<io::Result<Captured>>,
    meter: Arc<Meter>,
    time: Option<Duration>,
    started: Instant,
    unwanted: Arc<Notify>,
    /// Its home and temporary files, which go with it.
    _private: TempDir,
}

/// Asks something of a child while someone else [waits](Child::wait) for it. Cheap to clone.
#[derive(Clone)]
pub struct Handle(Arc<Notify>);

impl Handle {
    /// Files that run later are not watched here, so none is moved.
    #[expect(clippy::unused_async, reason = "the same signature as on Linux")]
    pub async fn look_after(&self) -> Option<(Vec<MovedAside>, Vec<String>)> {
        Some((Vec::new(), Vec::new()))
    }

    /// Has it ended, with its group where there are groups. Whoever waits for it hears how.
    #[expect(clippy::unused_async, reason = "the same signature as on Linux")]
    pub async fn end(&self) {
        self.0.notify_one();
    }
}

impl Child {
    pub(super) fn new(
        mut process: tokio::process::Child,
        has_group: bool,
        output: &Output,
        most: u64,
        time: Option<Duration>,
        started: Instant,
        private: TempDir,
    ) -> Self {
        let (mut stdout, mut stderr) = (JoinSet::new(), JoinSet::new());
        let (said, complained) = (process.stdout.take(), process.stderr.take());
        let (meter, piped) = match output {
            Output::Inherit => (Meter::new(most, Over::Stop), None),
            Output::Capture(capture) => {
                let meter = Meter::new(most, Over::Stop);
                if let Some(said) = said {
                    let collector = Collector::new(capture, capture.stdout_file.clone());
                    stdout.spawn(collect(said, collector, meter.clone()));
                }
                (meter, None)
            }
            Output::Pipe(_) => (Meter::new(most, Over::Discard), said),
        };
        let stream: Option<ChildStderr> = complained;
        if let (Some(stream), Output::Capture(capture) | Output::Pipe(capture)) = (stream, output) {
            let collector = Collector::new(capture, capture.stderr_file.clone());
            stderr.spawn(collect(stream, collector, meter.clone()));
        }
        let (stdin, group) = (process.stdin.take(), process.id().filter(|_| has_group));
        Child {
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

    /// By which things can be asked of it while someone waits for its end.
    pub fn handle(&self) -> Handle {
        Handle(Arc::clone(&self.unwanted))
    }

    /// Its output, if [`Output::Pipe`] was asked for. Once only.
    pub fn stdout(&mut self) -> Option<Reader> {
        self.piped.take()
    }

    /// The level it runs at.
    #[expect(clippy::unused_self, reason = "the same signature as on Linux")]
    pub fn level(&self) -> Level {
        Level::None
    }

    /// The hosts that it reached: there is no proxy here, so none is known.
    #[expect(clippy::unused_self, reason = "the same signature as on Linux")]
    pub fn reached(&self) -> crate::Reached {
        crate::Reached::default()
    }

    /// Files that run later are not watched here, so none is ever other than it was.
    #[expect(clippy::unused_async, reason = "the same signature as on Linux")]
    pub async fn is_current(&mut self) -> Result<bool, Error> {
        Ok(true)
    }

    /// Files that run later are not watched here, so none is moved.
    #[expect(clippy::unused_async, reason = "the same signature as on Linux")]
    pub async fn look_after(&mut self) -> Result<(Vec<MovedAside>, Vec<String>), Error> {
        Ok((Vec::new(), Vec::new()))
    }

    /// Waits for the end and gives back what was captured. Dropping this future ends the child.
    pub async fn wait(self) -> Result<Ended, Error> {
        self.watch(false).await
    }

    /// Ends the program, and its group where there are groups.
    pub async fn end(self) -> Result<Ended, Error> {
        self.watch(true).await
    }

    async fn watch(mut self, mut is_unwanted: bool) -> Result<Ended, Error> {
        drop(self.stdin.take());
        let mut killed_for = None;
        if is_unwanted {
            self.kill();
        }
        let status = loop {
            let left = self.time.map(|time| time.saturating_sub(self.started.elapsed()));
            let is_free = killed_for.is_none() && !is_unwanted;
            tokio::select! {
                // In this order: a program whose output is read no further also ends by itself.
                biased;
                () = self.meter.is_over.notified(), if is_free => {
                    killed_for = Some(Killed::Output);
                    self.kill();
                }
                status = self.process.wait() => break status.doing("waiting for the program")?,
                () = tokio::time::sleep(left.unwrap_or_default()), if is_free && left.is_some() => {
                    killed_for = Some(Killed::Time);
                    self.kill();
                }
                () = self.unwanted.notified(), if is_free => {
                    is_unwanted = true;
                    self.kill();
                }
            }
        };
        // What it started ends with it; only then are the pipes sure to close.
        self.end_group();
        let stdout = last_words(&mut self.stdout).await.doing("reading the output")?;
        let stderr = last_words(&mut self.stderr).await.doing("reading the output")?;
        let exit = Some(exit(status)).filter(|_| killed_for.is_none() && !is_unwanted);
        let why = "changes are gathered by the sandbox, which exists for Linux only";
        Ok(Ended {
            exit,
            killed_for,
            refused: Vec::new(),
            reached: Vec::new(),
            moved_aside: Vec::new(),
            troubles: Vec::new(),
            staged: None,
            unstaged: Some(why.to_owned()),
            unlisted: crate::Unlisted::default(),
            lost: 0,
            run_again_for: Vec::new(),
            waited: Duration::ZERO,
            elapsed: self.started.elapsed(),
            stdout,
            stderr,
            level: Level::None,
        })
    }

    fn kill(&mut self) {
        self.end_group();
        // Fails only if it has ended.
        let _ = self.process.start_kill();
    }

    fn end_group(&mut self) {
        if let Some(leader) = self.group {
            group::end(leader);
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // Once it was waited for, its number may be another's.
        if self.process.id().is_some() {
            self.end_group();
        }
    }
}

fn exit(status: ExitStatus) -> Exit {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return Exit::Signal(signal);
    }
    Exit::Code(status.code().unwrap_or(-1))
}
