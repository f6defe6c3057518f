//! A running child: its pipes, its end, and the promise that nothing of it stays.

use std::collections::VecDeque;
use std::io;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Instant;

use tokio::net::unix::pipe;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::capture::{Captured, Collector, Meter, Over, collect, last_words};
use crate::channel;
use crate::command::Output;
use crate::complaints;
use crate::ended::Ended;
use crate::error::{Doing, Error};
use crate::line::Line;
use crate::order::{Exit, Killed, MovedAside, News, Request, Verdict};
use crate::policy::{Level, Limits, Policy};
use crate::proxy::Proxy;
use crate::reached::Reached;
use crate::refusal;
use crate::staged::Staged;

/// Our end of a child's input.
pub type Writer = pipe::Sender;
/// Our end of a child's output.
pub type Reader = pipe::Receiver;

/// A program in the sandbox. Dropping it ends the program and every descendant.
///
/// That also holds when our own process is killed: the launcher notices, ends everything and looks after guarded files.
pub struct Child {
    /// Its input, if [`Stdin::Pipe`](crate::Stdin::Pipe) was asked for.
    pub stdin: Option<Writer>,
    pub(crate) line: Line,
    pub(crate) launcher: tokio::process::Child,
    pub(crate) streams: Streams,
    pub(crate) proxy: Option<Proxy>,
    pub(crate) policy: Policy,
    pub(crate) level: Level,
    pub(crate) started: Instant,
    pub(crate) staged: Option<Staged>,
    pub(crate) asked: (mpsc::Sender<Asked>, mpsc::Receiver<Asked>),
}

/// What is asked of a child that someone waits for.
pub(crate) enum Asked {
    LookAfter(oneshot::Sender<(Vec<MovedAside>, Vec<String>)>),
    End,
}

/// Asks something of a child while someone else [waits](Child::wait) for it. Cheap to clone.
#[derive(Clone)]
pub struct Handle(mpsc::Sender<Asked>);

impl Handle {
    /// Looks after files that run later, while the child may be at work. Nothing, if it has ended.
    pub async fn look_after(&self) -> Option<(Vec<MovedAside>, Vec<String>)> {
        let (answer, heard) = oneshot::channel();
        self.0.send(Asked::LookAfter(answer)).await.ok()?;
        heard.await.ok()
    }

    /// Has it ended with every descendant. Whoever waits for it hears how.
    pub async fn end(&self) {
        // One that has ended needs no more.
        let _ = self.0.send(Asked::End).await;
    }
}

/// Questions that wait to be passed on.
const QUESTIONS: usize = 64;

/// Both ends of a line for them.
pub(crate) fn questions() -> (mpsc::Sender<Asked>, mpsc::Receiver<Asked>) {
    mpsc::channel(QUESTIONS)
}

impl Child {
    /// By which things can be asked of it while someone waits for its end.
    pub fn handle(&self) -> Handle {
        Handle(self.asked.0.clone())
    }

    /// Its output, if [`Output::Pipe`] was asked for. Once only.
    pub fn stdout(&mut self) -> Option<Reader> {
        self.streams.piped.take()
    }

    /// The level it runs at.
    pub fn level(&self) -> Level {
        self.level
    }

    /// The hosts that it reaches through the proxy, as it does. Nothing where there is no proxy.
    pub fn reached(&self) -> Reached {
        self.proxy.as_ref().map(Proxy::reached).unwrap_or_default()
    }

    /// Waits for the end and gives back what was captured. Dropping this future ends the child.
    pub async fn wait(mut self) -> Result<Ended, Error> {
        drop(self.stdin.take());
        let (mut killed, mut looking) = (None, VecDeque::new());
        let verdict = loop {
            tokio::select! {
                news = self.line.next() => match news.doing("listening to the launcher")? {
                    Some((News::Ended(verdict), _)) => break verdict,
                    Some((News::LookedAfter(verdict), _)) => {
                        let asked: Option<oneshot::Sender<_>> = looking.pop_front();
                        // Whoever asked may have left.
                        let _ = asked.map(|asked| asked.send((verdict.moved_aside, verdict.troubles)));
                    }
                    // Among them an answer that nobody waits for any more.
                    Some(_) => {}
                    None => return Err(Error::Lost),
                },
                () = self.streams.meter.is_over.notified(), if killed.is_none() => {
                    killed = Some(Killed::Output);
                    self.line.end().await;
                }
                Some(asked) = self.asked.1.recv() => match asked {
                    Asked::LookAfter(answer) => {
                        let frame = channel::frame(&Request::LookMeanwhile).doing("asking the launcher")?;
                        // A launcher that cannot be asked is about to say why.
                        if self.line.send(&frame, None).await.is_ok() {
                            looking.push_back(answer);
                        }
                    }
                    Asked::End => self.line.end().await,
                },
            }
        };
        self.launcher.wait().await.doing("collecting the launcher")?;
        let (stdout, stderr) = self.streams.finish().await.doing("reading the output")?;
        // A program whose pipe is not read any more may end before we end it.
        let killed = killed.or_else(|| self.streams.meter.has_stopped().then_some(Killed::Output));
        Ok(self.ended(verdict, killed, stdout, stderr))
    }

    /// Whether the files that run later are those that it was started with. One that was made since by someone else is
    /// not read-only for this child, so that a child which is to be used again should then be ended instead.
    pub async fn is_current(&mut self) -> Result<bool, Error> {
        match self.ask(&Request::IsCurrent).await? {
            News::Current(is_current) => Ok(is_current),
            _ => Err(Error::Lost),
        }
    }

    /// Looks after files that run later while the child stays, as at its end: between two uses of it, when none of its
    /// processes does anything. What appears from then on until [`Child::is_current`] is asked is taken for the work of
    /// others, even at the child's end.
    pub async fn look_after(&mut self) -> Result<(Vec<MovedAside>, Vec<String>), Error> {
        match self.ask(&Request::LookAfter).await? {
            News::LookedAfter(verdict) => Ok((verdict.moved_aside, verdict.troubles)),
            _ => Err(Error::Lost),
        }
    }

    /// If this is dropped half way the answer goes unheard, and the next one would be taken for it: end the child then.
    async fn ask(&mut self, request: &Request) -> Result<News, Error> {
        let frame = channel::frame(request).doing("asking the launcher")?;
        self.line.send(&frame, None).await.doing("asking the launcher")?;
        let news = self.line.next().await.doing("listening to the launcher")?;
        news.map(|(news, _)| news).ok_or(Error::Lost)
    }

    /// Ends the program and every descendant now, and waits until they are gone.
    pub async fn end(mut self) -> Result<Ended, Error> {
        self.line.end().await;
        self.wait().await
    }

    fn ended(self, verdict: Verdict, killed: Option<Killed>, stdout: Captured, stderr: Captured) -> Ended {
        let Verdict { exit, killed_for, moved_aside, mut troubles, is_staged, unstaged, unlisted, .. } = verdict;
        let Verdict { lost, conflicts: run_again_for, waited, .. } = verdict;
        troubles.extend(self.staged.iter().flat_map(Staged::told));
        let staged = self.staged.filter(|_| is_staged);
        let reached = self.proxy.as_ref().map(|proxy| proxy.reached().since(0)).unwrap_or_default();
        let mut refused = self.proxy.map(|proxy| proxy.refused()).unwrap_or_default();
        if self.level != Level::None {
            let known: Vec<String> = refused.iter().map(|one| one.subject.clone()).collect();
            let said = stderr.text() + &stdout.text();
            let told = match exit {
                Some(Exit::Code(0)) => complaints::read_in_passing(&said, &self.policy),
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
        Ended {
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
pub(crate) struct Streams {
    piped: Option<Reader>,
    stdout: JoinSet<io::Result<Captured>>,
    stderr: JoinSet<io::Result<Captured>>,
    meter: Arc<Meter>,
}

impl Streams {
    /// Our ends, and what the launcher is given as its stdout and stderr.
    pub(crate) fn new(output: &Output, limits: &Limits) -> io::Result<(Streams, Stdio, Stdio)> {
        let (stdout, stderr) = (JoinSet::new(), JoinSet::new());
        let (capture, over) = match output {
            Output::Inherit => {
                let meter = Meter::new(limits.output, Over::Stop);
                return Ok((Streams { piped: None, stdout, stderr, meter }, Stdio::inherit(), Stdio::inherit()));
            }
            Output::Capture(capture) => (capture, Over::Stop),
            Output::Pipe(capture) => (capture, Over::Discard),
        };
        let mut streams = Streams { piped: None, stdout, stderr, meter: Meter::new(limits.output, over) };
        let (ours, their_stdout) = io::pipe()?;
        let ours = pipe::Receiver::from_owned_fd(ours.into())?;
        match output {
            Output::Pipe(_) => streams.piped = Some(ours),
            Output::Capture(_) | Output::Inherit => {
                let collector = Collector::new(capture, capture.stdout_file.clone());
                streams.stdout.spawn(collect(ours, collector, streams.meter.clone()));
            }
        }
        let (ours, their_stderr) = io::pipe()?;
        let collector = Collector::new(capture, capture.stderr_file.clone());
        streams.stderr.spawn(collect(pipe::Receiver::from_owned_fd(ours.into())?, collector, streams.meter.clone()));
        Ok((streams, their_stdout.into(), their_stderr.into()))
    }

    async fn finish(&mut self) -> io::Result<(Captured, Captured)> {
        Ok((last_words(&mut self.stdout).await?, last_words(&mut self.stderr).await?))
    }
}
