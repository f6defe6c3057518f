//! A running child: its pipes, its end, and the promise that nothing of it stays.

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
use crate::command::OutputMode;
use crate::complaints;
use crate::ended::ChildResult;
use crate::error::{Error, ErrorContext};
use crate::line::LauncherLine;
use crate::order::{KillReason, LauncherEvent, LauncherRequest, LauncherResult, MovedFile, ProgramExit};
use crate::policy::{Policy, ResourceLimits, SandboxLevel};
use crate::proxy::Proxy;
use crate::reached::ReachedHosts;
use crate::refusal;
use crate::staged::StagedChanges;

/// Our end of a child's input.
pub type StdinWriter = pipe::Sender;
/// Our end of a child's output.
pub type StdoutReader = pipe::Receiver;

/// A program in the sandbox. Dropping it ends the program and every descendant.
///
/// That also holds when our own process is killed: the launcher notices, ends everything and looks after guarded files.
pub struct Child {
    /// Its input, if [`Stdin::Pipe`](crate::StdinMode::Pipe) was asked for.
    pub stdin: Option<StdinWriter>,
    pub(crate) line: LauncherLine,
    pub(crate) launcher: tokio::process::Child,
    pub(crate) streams: ChildStreams,
    pub(crate) proxy: Option<Proxy>,
    pub(crate) policy: Policy,
    pub(crate) level: SandboxLevel,
    pub(crate) started: Instant,
    pub(crate) staged: Option<StagedChanges>,
    pub(crate) asked: (mpsc::Sender<ChildRequest>, mpsc::Receiver<ChildRequest>),
}

/// What is asked of a child that someone waits for.
pub(crate) enum ChildRequest {
    LookAfter(oneshot::Sender<(Vec<MovedFile>, Vec<String>)>),
    End,
}

/// Asks something of a child while someone else [waits](Child::wait) for it. Cheap to clone.
#[derive(Clone)]
pub struct ChildHandle(mpsc::Sender<ChildRequest>);

impl ChildHandle {
    /// Looks after files that run later, while the child may be at work. Nothing, if it has ended.
    pub async fn look_after(&self) -> Option<(Vec<MovedFile>, Vec<String>)> {
        let (answer, heard) = oneshot::channel();
        self.0.send(ChildRequest::LookAfter(answer)).await.ok()?;
        heard.await.ok()
    }

    /// Has it ended with every descendant. Whoever waits for it hears how.
    pub async fn end(&self) {
        // One that has ended needs no more.
        let _ = self.0.send(ChildRequest::End).await;
    }
}

/// Questions that wait to be passed on.
const QUESTIONS: usize = 64;

/// Both ends of a line for them.
pub(crate) fn questions() -> (mpsc::Sender<ChildRequest>, mpsc::Receiver<ChildRequest>) {
    mpsc::channel(QUESTIONS)
}

impl Child {
    /// By which things can be asked of it while someone waits for its end.
    pub fn handle(&self) -> ChildHandle {
        ChildHandle(self.asked.0.clone())
    }

    /// Its output, if [`OutputMode::Pipe`] was asked for. Once only.
    pub fn stdout(&mut self) -> Option<StdoutReader> {
        self.streams.piped.take()
    }

    /// The level it runs at.
    pub fn level(&self) -> SandboxLevel {
        self.level
    }

    /// The hosts that it reaches through the proxy, as it does. Nothing where there is no proxy.
    pub fn reached(&self) -> ReachedHosts {
        self.proxy.as_ref().map(Proxy::reached).unwrap_or_default()
    }

    /// Waits for the end and gives back what was captured. Dropping this future ends the child.
    pub async fn wait(mut self) -> Result<ChildResult, Error> {
        drop(self.stdin.take());
        let (mut killed, mut looking) = (None, VecDeque::new());
        let verdict = loop {
            tokio::select! {
                news = self.line.next() => match news.doing("listening to the launcher")? {
                    Some((LauncherEvent::Ended(verdict), _)) => break verdict,
                    Some((LauncherEvent::LookedAfter(verdict), _)) => {
                        let asked: Option<oneshot::Sender<_>> = looking.pop_front();
                        // Whoever asked may have left.
                        let _ = asked.map(|asked| asked.send((verdict.moved_aside, verdict.troubles)));
                    }
                    // Among them an answer that nobody waits for any more.
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
                        // A launcher that cannot be asked is about to say why.
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
        // A program whose pipe is not read any more may end before we end it.
        let killed = killed.or_else(|| self.streams.meter.has_stopped().then_some(KillReason::Output));
        Ok(self.ended(verdict, killed, stdout, stderr))
    }

    /// Whether the files that run later are those that it was started with. One that was made since by someone else is
    /// not read-only for this child, so that a child which is to be used again should then be ended instead.
    pub async fn is_current(&mut self) -> Result<bool, Error> {
        match self.ask(&LauncherRequest::IsCurrent).await? {
            LauncherEvent::Current(is_current) => Ok(is_current),
            _ => Err(Error::Lost),
        }
    }

    /// Looks after files that run later while the child stays, as at its end: between two uses of it, when none of its
    /// processes does anything. What appears from then on until [`Child::is_current`] is asked is taken for the work of
    /// others, even at the child's end.
    pub async fn look_after(&mut self) -> Result<(Vec<MovedFile>, Vec<String>), Error> {
        match self.ask(&LauncherRequest::LookAfter).await? {
            LauncherEvent::LookedAfter(verdict) => Ok((verdict.moved_aside, verdict.troubles)),
            _ => Err(Error::Lost),
        }
    }

    /// If this is dropped half way the answer goes unheard, and the next one would be taken for it: end the child then.
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
                Some(ProgramExit::Code(0)) => complaints::read_in_passing(&said, &self.policy),
                _ => complaints::read_from(&said, &self.policy),
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

/// Our ends of a child's output. What is captured is read from the start, so that no child waits for a reader.
pub(crate) struct ChildStreams {
    piped: Option<StdoutReader>,
    stdout: JoinSet<io::Result<CapturedStream>>,
    stderr: JoinSet<io::Result<CapturedStream>>,
    meter: Arc<OutputMeter>,
}

impl ChildStreams {
    /// Our ends, and what the launcher is given as its stdout and stderr.
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
