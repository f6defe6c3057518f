//! One worker: a process in the sandbox, its pipes, and one call at a time.

use std::io;
use std::path::Path;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use updraft_sandbox::{
    CaptureOptions, Child, ChildResult, Command, MovedFile, OutputMode, Policy, ReachedHosts, Sandbox, StdinMode,
    StdinWriter, StdoutReader,
};

use super::frame::{self, FrameKind, Nonce, WorkerFrame};
use super::{PoolLimits, PrintedOutput, WorkerHost, WorkerProgram};

/// The nonce of frames that belong to no call.
const NO_CALL: Nonce = [0; 8];
/// Bytes read at once.
const READ: usize = 64 << 10;
/// How long to wait for a worker that is being ended.
const LAST_WAIT: Duration = Duration::from_secs(5);

/// One worker.
pub(super) struct Worker {
    child: Child,
    input: StdinWriter,
    output: StdoutReader,
    /// Bytes received but not yet parsed.
    come: Vec<u8>,
    sizes: PoolLimits,
}

/// Why a worker cannot continue.
#[derive(Debug)]
pub(super) enum WorkerError {
    /// It closed its pipes, which means it has ended.
    Ended,
    /// It violated the protocol.
    Forged(String),
}

impl From<io::Error> for WorkerError {
    /// Our ends of the pipes fail only when its ends are closed.
    fn from(_: io::Error) -> Self {
        WorkerError::Ended
    }
}

#[derive(Deserialize)]
struct WorkerQuestion {
    id: u64,
    what: Value,
}

impl Worker {
    /// Starts a worker. It is not ready before [`Worker::greet`].
    pub(super) async fn start(
        sandbox: &Sandbox,
        policy: &Policy,
        folder: &Path,
        environment: &[(String, String)],
        program: &WorkerProgram,
        sizes: PoolLimits,
    ) -> Result<Self, updraft_sandbox::Error> {
        let command = Command {
            args: program.args.clone(),
            env: environment.to_vec(),
            cwd: Some(folder.to_owned()),
            stdin: StdinMode::Pipe,
            output: OutputMode::Pipe(CaptureOptions {
                head: sizes.stderr,
                tail: sizes.stderr,
                ..CaptureOptions::default()
            }),
            ..Command::new(&program.program)
        };
        let mut child = sandbox.spawn(policy, command).await?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout()) else {
            return Err(updraft_sandbox::Error::Lost);
        };
        Ok(Self { child, input, output, come: Vec::new(), sizes })
    }

    /// Sends the first message, and waits until the worker is ready.
    pub(super) async fn greet(&mut self, hello: &Value) -> Result<(), WorkerError> {
        self.input.write_all(&frame::frame(FrameKind::Hello, NO_CALL, hello.to_string().as_bytes())).await?;
        loop {
            if let Some(said) = self.take()? {
                return match said {
                    WorkerFrame { kind: FrameKind::Ready, nonce: NO_CALL, .. } => Ok(()),
                    other => Err(WorkerError::Forged(format!("{:?} before it was ready", other.kind))),
                };
            }
            self.read().await?;
        }
    }

    /// The hosts that it connects to through the proxy.
    pub(super) fn reached(&self) -> ReachedHosts {
        self.child.reached()
    }

    /// Whether it sent anything without being asked.
    fn has_babbled(&mut self) -> bool {
        let mut byte = [0];
        // A read that would block means that nothing was sent.
        let is_quiet = self.output.read(&mut byte).now_or_never().is_none();
        !is_quiet || !self.come.is_empty()
    }

    /// Whether it still guards the right files, and sent nothing unasked.
    pub(super) async fn is_fit(&mut self) -> bool {
        !self.has_babbled() && self.child.is_current().await.unwrap_or(false)
    }

    /// Moves files that would run later aside, as at the end of a command. Returns `None` if the worker cannot
    /// continue.
    pub(super) async fn look_after(&mut self) -> Option<(Vec<MovedFile>, Vec<String>)> {
        self.child.look_after().await.ok()
    }

    /// Makes one call. If this is dropped or fails, the worker must not be used again.
    pub(super) async fn call(
        &mut self,
        call: &[u8],
        host: &dyn WorkerHost,
        printed: &mut PrintedOutput,
    ) -> Result<(Option<Value>, Value), WorkerError> {
        let nonce = new_nonce()?;
        let mut to_say = frame::frame(FrameKind::Call, nonce, call);
        let mut said = 0;
        let mut asked = 0;
        let mut answers = FuturesUnordered::new();
        let mut value = None;
        loop {
            while let Some(frame) = self.take()? {
                if frame.nonce != nonce {
                    return Err(WorkerError::Forged("a frame that does not belong to this call".to_owned()));
                }
                match frame.kind {
                    FrameKind::Printed => self.hear(&frame.payload, host, printed),
                    FrameKind::Value if value.is_none() => value = Some(read(&frame.payload)?),
                    FrameKind::Question => {
                        let question: WorkerQuestion = read(&frame.payload)?;
                        asked += 1;
                        if question.id != asked || answers.len() >= self.sizes.questions {
                            let (id, open) = (question.id, answers.len());
                            return Err(WorkerError::Forged(format!(
                                "question {id}, as number {asked}, with {open} open"
                            )));
                        }
                        answers.push(async move { (question.id, host.answer(question.what).await) });
                    }
                    FrameKind::Done => return Ok((value, read(&frame.payload)?)),
                    other => return Err(WorkerError::Forged(format!("{other:?} in the middle of a call"))),
                }
            }
            tokio::select! {
                count = read_some(&mut self.output, &mut self.come) => count?,
                count = self.input.write(&to_say[said..]), if said < to_say.len() => said += count?,
                Some((id, value)) = answers.next(), if !answers.is_empty() => {
                    to_say.drain(..said);
                    said = 0;
                    let answer = json!({ "id": id, "value": value }).to_string();
                    to_say.extend(frame::frame(FrameKind::Answer, nonce, answer.as_bytes()));
                }
            }
        }
    }

    /// Ends the worker and everything it started, and waits until they are gone. Returns `None` if that could not be
    /// confirmed.
    pub(super) async fn end(self) -> Option<Box<ChildResult>> {
        let Self { child, .. } = self;
        let ended = tokio::time::timeout(LAST_WAIT, child.end()).await;
        ended.ok().and_then(Result::ok).map(Box::new)
    }

    /// The result of a worker that ended by itself.
    pub(super) async fn ended(self) -> Option<Box<ChildResult>> {
        let Self { child, .. } = self;
        let ended = tokio::time::timeout(LAST_WAIT, child.wait()).await;
        ended.ok().and_then(Result::ok).map(Box::new)
    }

    fn take(&mut self) -> Result<Option<WorkerFrame>, WorkerError> {
        frame::take(&mut self.come, self.sizes.frame).map_err(WorkerError::Forged)
    }

    async fn read(&mut self) -> Result<(), WorkerError> {
        read_some(&mut self.output, &mut self.come).await
    }

    fn hear(&self, bytes: &[u8], host: &dyn WorkerHost, printed: &mut PrintedOutput) {
        let fits = bytes.len().min(self.sizes.printed.saturating_sub(printed.head.len()));
        printed.head.extend_from_slice(&bytes[..fits]);
        printed.omitted += (bytes.len() - fits) as u64;
        host.printed(&String::from_utf8_lossy(&bytes[..fits]));
    }
}

/// May be dropped at any time: the bytes read are kept.
async fn read_some(output: &mut StdoutReader, come: &mut Vec<u8>) -> Result<(), WorkerError> {
    come.reserve(READ);
    if output.read_buf(come).await? == 0 { Err(WorkerError::Ended) } else { Ok(()) }
}

/// Parses JSON from a worker. serde_json limits its depth; the frame limits its length.
fn read<T: for<'de> Deserialize<'de>>(payload: &[u8]) -> Result<T, WorkerError> {
    serde_json::from_slice(payload).map_err(|error| WorkerError::Forged(format!("JSON that cannot be read: {error}")))
}

fn new_nonce() -> Result<Nonce, WorkerError> {
    let mut nonce = Nonce::default();
    getrandom::fill(&mut nonce)
        .map_err(|error| WorkerError::Forged(format!("the system provides no random numbers: {error}")))?;
    Ok(nonce)
}
