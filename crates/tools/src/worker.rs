//! Workers: programs in the sandbox that serve one call after another over pipes, and pools of them.
//!
//! Starting a worker takes tens of milliseconds and calling it takes almost nothing, so workers are kept running. The
//! code in a worker is not trusted: it runs in the sandbox, and everything it sends is checked here. A worker that
//! violates the protocol (a frame too long, a wrong nonce, an answer nobody asked for) is killed. So is one that
//! exceeded its time, was cancelled, or reported at the end of a call that it is spent. Other workers are not
//! affected.
//!
//! # The protocol on the pipes
//!
//! Our frames arrive on the worker's stdin, and it sends its own to its stdout; its stderr is kept, up to a limit,
//! for the report of its end. A worker moves both descriptors away before it runs untrusted code, so that nothing
//! prints into them. A frame is its length (4 bytes, little-endian; counts everything after it), a letter, 8 bytes of
//! nonce, and a payload:
//!
//! | letter | from | payload |
//! |---|---|---|
//! | `H` | us, once | JSON: [`WorkerProgram::hello`], and the sandbox's level as `level`; its nonce is zero |
//! | `R` | worker, once | nothing: it is ready for calls; its nonce is zero |
//! | `C` | us | JSON: the call. Its nonce is in every frame of the call, in both directions |
//! | `O` | worker | bytes: printed output |
//! | `Q` | worker | JSON `{"id": 1, "what": …}`: a request to us; ids count up from 1 |
//! | `A` | us | JSON `{"id": 1, "value": …}`: the answer to that request |
//! | `V` | worker, at most once | JSON: the result of the call |
//! | `D` | worker | JSON object: the call is over. `"spent": true` says that the worker must not be used again |

mod frame;
mod pool;
mod process;
mod python;

use std::path::PathBuf;
use std::pin::Pin;
use std::time::Duration;

use serde_json::Value;
use updraft_run::Failure;
use updraft_sandbox::{ChildResult, MovedFile};

pub use pool::{PoolLimits, WorkerPool};
pub use python::{FoundPython, PythonConfig};

/// A program that can run as a worker.
#[derive(Clone, Debug)]
pub struct WorkerProgram {
    /// Its name in messages: `Python`.
    pub name: String,
    /// A path, or a name looked up on `PATH`.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Whether it only reads the workspace: it can write nothing there, and has no network.
    pub looks: bool,
    /// Files and folders that it must be able to read, besides what the policy grants.
    pub read: Vec<PathBuf>,
    /// The message it gets before the first call: an object.
    pub hello: Value,
    /// How long it may take until it is ready.
    pub start: Duration,
}

/// The caller of a worker, while the call is in progress.
pub trait WorkerHost: Send + Sync {
    /// Answers a request of the worker, which is not trusted. The future is dropped if the call ends first.
    fn answer(&self, what: Value) -> WorkerAnswerFuture<'_>;

    /// Receives printed output as it arrives.
    fn printed(&self, text: &str) {
        let _ = text;
    }
}

/// An answer in progress.
pub type WorkerAnswerFuture<'a> = Pin<Box<dyn Future<Output = Value> + Send + 'a>>;

/// A finished call.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerOutput {
    /// The result, if the worker sent one.
    pub value: Option<Value>,
    /// The worker's report of how the call ended.
    pub end: Value,
    /// What was printed.
    pub printed: PrintedOutput,
    /// Hosts that it connected to through the proxy.
    pub reached: Vec<String>,
    /// Files that would run later, and where they were moved.
    pub moved_aside: Vec<MovedFile>,
    /// Problems while checking for such files.
    pub troubles: Vec<String>,
}

/// Files that would run later, and where they were moved, however the call ended.
pub(crate) fn moved_aside(called: &Result<WorkerOutput, WorkerFault>) -> &[MovedFile] {
    match called {
        Ok(done) => &done.moved_aside,
        Err(
            WorkerFault::TimedOut { ended, .. } | WorkerFault::Ended { ended, .. } | WorkerFault::Forged { ended, .. },
        ) => ended.as_deref().map_or(&[], |ended| &ended.moved_aside),
        Err(WorkerFault::NotStarted(_)) => &[],
    }
}

/// Hosts that a call connected to through the proxy, however it ended.
pub(crate) fn reached(called: &Result<WorkerOutput, WorkerFault>) -> &[String] {
    match called {
        Ok(done) => &done.reached,
        Err(
            WorkerFault::TimedOut { ended, .. } | WorkerFault::Ended { ended, .. } | WorkerFault::Forged { ended, .. },
        ) => ended.as_deref().map_or(&[], |ended| &ended.reached),
        Err(WorkerFault::NotStarted(_)) => &[],
    }
}

/// The beginning of a call's printed output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrintedOutput {
    /// The bytes that are kept.
    pub head: Vec<u8>,
    /// How many bytes followed.
    pub omitted: u64,
}

/// Why a call did not finish. The worker has ended in every case.
#[derive(Debug)]
#[non_exhaustive]
pub enum WorkerFault {
    /// There is no worker: the call was not started.
    NotStarted(Failure),
    /// It took longer than this, and was killed.
    TimedOut {
        /// The limit.
        limit: Duration,
        /// What was printed until then.
        printed: PrintedOutput,
        /// The result of the killed process.
        ended: Option<Box<ChildResult>>,
    },
    /// The worker ended, by itself or by a limit of the sandbox.
    Ended {
        /// What was printed until then.
        printed: PrintedOutput,
        /// How it ended, as far as that is known.
        ended: Option<Box<ChildResult>>,
    },
    /// The worker violated the protocol, and was killed.
    Forged {
        /// What was wrong.
        why: String,
        /// The result of the killed process.
        ended: Option<Box<ChildResult>>,
    },
}
