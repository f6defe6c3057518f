//! A running child: its pipes, its end, and the guarantee that none of its processes remains.

use std::collections::VecDeque;
use std::io;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Instant;

use tokio::net::unix::pipe;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::capture::{CapturedStream, OutputMeter, OverflowAction, StreamCollector, collect, last_words};
use crate::channel;
use crate::child_result::ChildResult;
use crate::command::OutputMode;
use crate::connection::LauncherLine;
use crate::error::{Error, ErrorContext};
use crate::error_output;
use crate::policy::{Policy, ResourceLimits, SandboxLevel};
use crate::protocol::{KillReason, LauncherEvent, LauncherRequest, LauncherResult, MovedFile, ProgramExit};
use crate::proxy::Proxy;
use crate::reached_hosts::ReachedHosts;
use crate::refusal;
use crate::staged::StagedChanges;

/// Our end of a child's standard input.
pub type StdinWriter = pipe::Sender;
/// Our end of a child's standard output.
pub type StdoutReader = pipe::Receiver;

/// A program in the sandbox. Dropping it ends the program and every descendant.
///
/// That also holds if our own process is killed: the launcher notices, ends everything and checks guarded files.
pub struct Child {
    /// Its standard input, if [`StdinMode::Pipe`](crate::StdinMode::Pipe) was requested.
    pub stdin: Option<StdinWriter>,
    pub(crate) line: LauncherLine,
    pub(crate) launcher: tokio::process::Child,
    pub(crate) streams: ChildStreams,
    pub(crate) proxy: Option<Proxy>,
    pub(crate) listener: Option<std::net::TcpListener>,
    pub(crate) policy: Policy,
    pub(crate) level: SandboxLevel,
    pub(crate) started: Instant,
    pub(crate) staged: Option<StagedChanges>,
    pub(crate) asked: (mpsc::Sender<ChildRequest>, mpsc::Receiver<ChildRequest>),
}

/// A request to a child while a task waits for its end.
pub(crate) enum ChildRequest {
    LookAfter(oneshot::Sender<(Vec<MovedFile>, Vec<String>)>),
    End,
}

/// Sends requests to a child while another task [waits](Child::wait) for it. Cheap to clone.
#[derive(Clone)]
pub struct ChildHandle(mpsc::Sender<ChildRequest>);

impl ChildHandle {
    /// Checks files that would run later, while the child may be working. Returns `None` if the child has ended.
    pub async fn look_after(&self) -> Option<(Vec<MovedFile>, Vec<String>)> {
        let (answer, heard) = oneshot::channel();
        self.0.send(ChildRequest::LookAfter(answer)).await.ok()?;
        heard.await.ok()
    }

    /// Ends the child and every descendant. The task that waits for it gets the result.
    pub async fn end(&self) {
        // Nothing to do if it has already ended.
        let _ = self.0.send(ChildRequest::End).await;
    }
}

/// Most requests that can be queued.
const QUESTIONS: usize = 64;

/// Creates the queue for requests.
pub(crate) fn questions() -> (mpsc::Sender<ChildRequest>, mpsc::Receiver<ChildRequest>) {
    mpsc::channel(QUESTIONS)
}

impl Child {
    /// A handle for requests to the child while another task waits for its end.
    pub fn handle(&self) -> ChildHandle {
        ChildHandle(self.asked.0.clone())
    }

    /// Its standard output, if [`OutputMode::Pipe`] was requested. Can be taken only once.
    pub fn stdout(&mut self) -> Option<StdoutReader> {
        self.streams.piped.take()
    }

    /// The socket on the child's own loopback whose address the child finds in `HTTP_PROXY`, if its policy allows a
    /// network without naming a host: whoever takes the socket serves the only network that the child has. Can be
    /// taken only once.
    pub fn listener(&mut self) -> Option<std::net::TcpListener> {
        self.listener.take()
    }

    /// The level it runs at.
    pub fn level(&self) -> SandboxLevel {
        self.level
    }

    /// The hosts that it connects to through the proxy, updated as it does. Empty if there is no proxy.
    pub fn reached(&self) -> ReachedHosts {
        self.proxy.as_ref().map(Proxy::reached).unwrap_or_default()
    }

    /// Waits for the end and returns the captured output. Dropping this future ends the child.
    pub async fn wait(mut self) -> Result<ChildResult, Error> {
        drop(self.stdin.take());
        let (mut killed, mut looking) = (None, VecDeque::new());
        let verdict = loop {
            tokio::select! {
                news = self.line.next() => match news.doing("listening to the launcher")? {
                    Some((LauncherEvent::Ended(verdict), _)) => break verdict,
                    Some((LauncherEvent::LookedAfter(verdict), _)) => {
                        let asked: Option<oneshot::Sender<_>> = looking.pop_front();
                        // The requester may be gone.
                        let _ = asked.map(|asked| asked.send((verdict.moved_aside, verdict.troubles)));
                    }
                    // This may be an answer that nobody waits for any more.
                    Some(_) => {}
                    None => return Err(Error::Lost),
                },
                () = self.streams.meter.is_over.notified(), if killed.is_none() => {
                    killed = Some(KillReason::Output);
                    self.line.end().await;
                }
                Some(asked) = self.asked.1.recv() => match asked {
                    ChildRequest::LookAfter(answer) => {
                        let frame = channel::frame(&LauncherRequest::LookMeanwhile).doing("asking the launcher")?;
                        // If the launcher cannot be asked, it is about to report why.
                        if self.line.send(&frame, None).await.is_ok() {
                            looking.push_back(answer);
                        }
                    }
                    ChildRequest::End => self.line.end().await,
                },
            }
        };
        self.launcher.wait().await.doing("collecting the launcher")?;
        let (stdout, stderr) = self.streams.finish().await.doing("reading the output")?;
        // A program whose pipe is no longer read may end before we end it.
        let killed = killed.or_else(|| self.streams.meter.has_stopped().then_some(KillReason::Output));
        Ok(self.ended(verdict, killed, stdout, stderr))
    }

    /// Whether the files that would run later are still those that it was started with. Such a file that another
    /// program has created since is not read-only for this child, so the child should then be ended instead of being
    /// used again.
    pub async fn is_current(&mut self) -> Result<bool, Error> {
        match self.ask(&LauncherRequest::IsCurrent).await? {
            LauncherEvent::Current(is_current) => Ok(is_current),
            _ => Err(Error::Lost),
        }
    }

    /// Checks files that would run later while the child stays, as is done at its end. Call it between two uses of
    /// the child, when none of its processes does anything. Files that appear from then on until
    /// [`Child::is_current`] is called are attributed to other programs, even at the child's end.
    pub async fn look_after(&mut self) -> Result<(Vec<MovedFile>, Vec<String>), Error> {
        match self.ask(&LauncherRequest::LookAfter).await? {
            LauncherEvent::LookedAfter(verdict) => Ok((verdict.moved_aside, verdict.troubles)),
            _ => Err(Error::Lost),
        }
    }

    /// If this future is dropped before it completes, the answer stays unread and would be taken for the next one:
    /// end the child then.
    async fn ask(&mut self, request: &LauncherRequest) -> Result<LauncherEvent, Error> {
        let frame = channel::frame(request).doing("asking the launcher")?;
        self.line.send(&frame, None).await.doing("asking the launcher")?;
        let news = self.line.next().await.doing("listening to the launcher")?;
        news.map(|(news, _)| news).ok_or(Error::Lost)
    }

    /// Ends the program and every descendant now, and waits until they are gone.
    pub async fn end(mut self) -> Result<ChildResult, Error> {
        self.line.end().await;
        self.wait().await
    }

    fn ended(
        self,
        verdict: LauncherResult,
        killed: Option<KillReason>,
        stdout: CapturedStream,
        stderr: CapturedStream,
    ) -> ChildResult {
        let LauncherResult { exit, killed_for, moved_aside, mut troubles, is_staged, unstaged, unlisted, .. } = verdict;
        let LauncherResult { lost, conflicts: run_again_for, waited, .. } = verdict;
        troubles.extend(self.staged.iter().flat_map(StagedChanges::told));
        let staged = self.staged.filter(|_| is_staged);
        let reached = self.proxy.as_ref().map(|proxy| proxy.reached().since(0)).unwrap_or_default();
        let mut refused = self.proxy.map(|proxy| proxy.refused()).unwrap_or_default();
        if self.level != SandboxLevel::None {
            let known: Vec<String> = refused.iter().map(|one| one.subject.clone()).collect();
            let said = stderr.text() + &stdout.text();
            let told = match exit {
                Some(ProgramExit::Code(0)) => error_output::read_in_passing(&said, &self.policy),
                _ => error_output::read_from(&said, &self.policy),
            };
            refused.extend(told.into_iter().filter(|one| !known.contains(&one.subject)));
        }
        let elapsed = self.started.elapsed().saturating_sub(waited);
        let killed_for = killed.or(killed_for);
        if let Some(limit) = killed_for.and_then(|killed| refusal::of_limit(killed, &self.policy.limits)) {
            refused.retain(|one| one.subject != limit.subject);
            refused.insert(0, limit);
        }
        let level = self.level;
        ChildResult {
            exit,
            killed_for,
            refused,
            reached,
            moved_aside,
            troubles,
            staged,
            unstaged,
            unlisted,
            lost,
            run_again_for,
            waited,
            elapsed,
            stdout,
            stderr,
            level,
        }
    }
}

/// Our ends of a child's output. Captured streams are read from the start, so that the child never blocks on a full
/// pipe.
pub(crate) struct ChildStreams {
    piped: Option<StdoutReader>,
    stdout: JoinSet<io::Result<CapturedStream>>,
    stderr: JoinSet<io::Result<CapturedStream>>,
    meter: Arc<OutputMeter>,
}

impl ChildStreams {
    /// Our ends, and the stdout and stderr for the launcher.
    pub(crate) fn new(output: &OutputMode, limits: &ResourceLimits) -> io::Result<(ChildStreams, Stdio, Stdio)> {
        let (stdout, stderr) = (JoinSet::new(), JoinSet::new());
        let (capture, over) = match output {
            OutputMode::Inherit => {
                let meter = OutputMeter::new(limits.output, OverflowAction::Stop);
                return Ok((ChildStreams { piped: None, stdout, stderr, meter }, Stdio::inherit(), Stdio::inherit()));
            }
            OutputMode::Capture(capture) => (capture, OverflowAction::Stop),
            OutputMode::Pipe(capture) => (capture, OverflowAction::Discard),
        };
        let mut streams = ChildStreams { piped: None, stdout, stderr, meter: OutputMeter::new(limits.output, over) };
        let (ours, their_stdout) = io::pipe()?;
        let ours = pipe::Receiver::from_owned_fd(ours.into())?;
        match output {
            OutputMode::Pipe(_) => streams.piped = Some(ours),
            OutputMode::Capture(_) | OutputMode::Inherit => {
                let collector = StreamCollector::new(capture, capture.stdout_file.clone());
                streams.stdout.spawn(collect(ours, collector, streams.meter.clone()));
            }
        }
        let (ours, their_stderr) = io::pipe()?;
        let collector = StreamCollector::new(capture, capture.stderr_file.clone());
        streams.stderr.spawn(collect(pipe::Receiver::from_owned_fd(ours.into())?, collector, streams.meter.clone()));
        Ok((streams, their_stdout.into(), their_stderr.into()))
    }

    async fn finish(&mut self) -> io::Result<(CapturedStream, CapturedStream)> {
        Ok((last_words(&mut self.stdout).await?, last_words(&mut self.stderr).await?))
    }
}
