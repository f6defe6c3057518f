//! A running child: its pipes, its end, and the promise that nothing of it stays.

use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::unix::pipe;

use crate::capture::{Capture, Captured, Collector, Meter};
use crate::command::Output;
use crate::error::{Doing, Error};
use crate::line::Line;
use crate::order::{Exit, Killed, MovedAside, News, Verdict};
use crate::policy::{Level, Policy};
use crate::proxy::Proxy;
use crate::refusal::{self, Refusal};

/// After the end of all processes, what they said is in the pipe; whoever else holds it open is not waited for.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// A program in the sandbox. Dropping it ends the program and every descendant.
///
/// That also holds when our own process is killed: the launcher notices, ends everything and looks after guarded files.
pub struct Child {
    /// Its input, if [`Stdin::Pipe`](crate::Stdin::Pipe) was asked for.
    pub stdin: Option<pipe::Sender>,
    pub(crate) line: Line,
    pub(crate) launcher: tokio::process::Child,
    pub(crate) streams: Streams,
    pub(crate) proxy: Option<Proxy>,
    pub(crate) policy: Policy,
    pub(crate) level: Level,
    pub(crate) started: Instant,
}

/// How a child ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The program's own end. None if it was ended from outside.
    pub exit: Option<Exit>,
    /// The limit that ended it.
    pub killed_for: Option<Killed>,
    /// What it was refused, as far as that can be told, and what would allow it.
    pub refused: Vec<Refusal>,
    /// Files that would run later, and where they are now.
    pub moved_aside: Vec<MovedAside>,
    /// What could not be looked after.
    pub troubles: Vec<String>,
    /// From the call of `spawn` to the end.
    pub elapsed: Duration,
    /// What it said.
    pub stdout: Captured,
    /// What it complained about.
    pub stderr: Captured,
    /// The level it ran at.
    pub level: Level,
}

impl Ended {
    /// Whether it ran out of time.
    pub fn timed_out(&self) -> bool {
        self.killed_for == Some(Killed::Time)
    }

    /// Whether it ended by itself, and well.
    pub fn succeeded(&self) -> bool {
        self.exit == Some(Exit::Code(0))
    }

    /// The exit code a shell would give: its own, 128 and the signal, or 124 for a limit.
    pub fn exit_code(&self) -> i32 {
        match (self.exit, self.killed_for) {
            (_, Some(Killed::Time | Killed::Memory | Killed::Processes | Killed::Disk | Killed::Output)) => 124,
            (Some(Exit::Code(code)), None) => code,
            (Some(Exit::Signal(signal)), None) => 128 + signal,
            (None, None) => 128 + 9,
        }
    }
}

impl Child {
    /// Its output, if [`Output::Pipe`] was asked for. Once only.
    pub fn stdout(&mut self) -> Option<pipe::Receiver> {
        if self.streams.is_captured { None } else { self.streams.stdout.take() }
    }

    /// The level it runs at.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Waits for the end and gives back what was captured. Dropping this future ends the child.
    pub async fn wait(mut self) -> Result<Ended, Error> {
        drop(self.stdin.take());
        let meter = Arc::new(Meter::default());
        let limit = self.policy.limits.output;
        let (mut stdout, mut stderr) = self.streams.collectors();
        let mut killed = None;
        let verdict = {
            let reading = self.streams.read(&mut stdout, &mut stderr, &meter, limit);
            tokio::pin!(reading);
            let mut has_read = false;
            let verdict = loop {
                tokio::select! {
                    news = self.line.next() => match news.doing("listening to the launcher")? {
                        Some((News::Ended(verdict), _)) => break verdict,
                        Some((News::Listening | News::Started | News::Fault(_), _)) => {}
                        None => return Err(Error::Lost),
                    },
                    result = &mut reading, if !has_read => {
                        result.doing("reading the output")?;
                        has_read = true;
                    }
                    () = meter.is_over.notified(), if killed.is_none() => {
                        killed = Some(Killed::Output);
                        self.line.end().await;
                    }
                }
            };
            if !has_read {
                // Only a process outside of the sandbox can still hold the pipe.
                let _ = tokio::time::timeout(LAST_WORDS, reading).await;
            }
            verdict
        };
        self.launcher.wait().await.doing("collecting the launcher")?;
        let (stdout, stderr) = (stdout.finish().await, stderr.finish().await);
        Ok(self.ended(verdict, killed, stdout, stderr))
    }

    /// Ends the program and every descendant now, and waits until they are gone.
    pub async fn end(mut self) -> Result<Ended, Error> {
        self.line.end().await;
        self.wait().await
    }

    fn ended(self, verdict: Verdict, killed: Option<Killed>, stdout: Captured, stderr: Captured) -> Ended {
        let Verdict { exit, killed_for, moved_aside, troubles } = verdict;
        let mut refused = self.proxy.map(|proxy| proxy.refused()).unwrap_or_default();
        if self.level != Level::None && exit != Some(Exit::Code(0)) {
            refused.extend(refusal::read_from(&stderr.text(), &self.policy));
            refused.extend(refusal::read_from(&stdout.text(), &self.policy));
            refused.dedup();
        }
        let elapsed = self.started.elapsed();
        let killed_for = killed.or(killed_for);
        Ended { exit, killed_for, refused, moved_aside, troubles, elapsed, stdout, stderr, level: self.level }
    }
}

/// Our ends of a child's output.
pub(crate) struct Streams {
    stdout: Option<pipe::Receiver>,
    stderr: Option<pipe::Receiver>,
    is_captured: bool,
    capture: Capture,
}

impl Streams {
    /// Our ends, and what the launcher is given as its stdout and stderr.
    pub(crate) fn new(output: &Output) -> io::Result<(Streams, Stdio, Stdio)> {
        let (capture, is_captured) = match output {
            Output::Inherit => {
                let streams = Streams { stdout: None, stderr: None, is_captured: false, capture: Capture::default() };
                return Ok((streams, Stdio::inherit(), Stdio::inherit()));
            }
            Output::Capture(capture) => (capture.clone(), true),
            Output::Pipe(capture) => (capture.clone(), false),
        };
        let (stdout, their_stdout) = io::pipe()?;
        let (stderr, their_stderr) = io::pipe()?;
        let stdout = Some(pipe::Receiver::from_owned_fd(stdout.into())?);
        let stderr = Some(pipe::Receiver::from_owned_fd(stderr.into())?);
        Ok((Streams { stdout, stderr, is_captured, capture }, their_stdout.into(), their_stderr.into()))
    }

    fn collectors(&self) -> (Collector, Collector) {
        let Capture { head, tail, stdout_file, stderr_file } = &self.capture;
        let new = |file: &Option<PathBuf>| Collector::new(*head, *tail, file.clone());
        (new(stdout_file), new(stderr_file))
    }

    async fn read(
        &mut self,
        stdout: &mut Collector,
        stderr: &mut Collector,
        meter: &Arc<Meter>,
        limit: u64,
    ) -> io::Result<()> {
        let out = async {
            match &mut self.stdout {
                Some(stream) => stdout.read_all(stream, meter, limit).await,
                None => Ok(()),
            }
        };
        let err = async {
            match &mut self.stderr {
                Some(stream) => stderr.read_all(stream, meter, limit).await,
                None => Ok(()),
            }
        };
        let (out, err) = tokio::join!(out, err);
        out.and(err)
    }
}
