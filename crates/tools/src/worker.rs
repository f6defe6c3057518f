//! Workers: programs in the sandbox that serve one call after another over pipes, and pools of them.
//!
//! A worker costs tens of milliseconds to start and next to nothing to ask, so it is kept warm. What it runs is not
//! trusted: it sits in the sandbox, and whatever it says is checked here. One that says what no worker may say (a frame
//! too long, a wrong nonce, an answer nobody asked for) is ended, and so is one that ran out of time, was cancelled or
//! ended a call by saying that it is spent. Its neighbours do not notice.
//!
//! # What is said on the pipes
//!
//! Our words come on the worker's stdin, its own go to its stdout; its stderr is kept, within bounds, for the report of
//! its end. A worker moves both descriptors away before it runs anything of others, so that nothing prints into them. A
//! frame is its length (4 bytes, little end first; of all that follows), a letter, 8 bytes of nonce, and a payload:
//!
//! | letter | from | payload |
//! |---|---|---|
//! | `H` | us, once | JSON: [`WorkerProgram::hello`], and the sandbox's level as `level`; its nonce is zero |
//! | `R` | worker, once | nothing: it is ready for calls; its nonce is zero |
//! | `C` | us | JSON: the call. Its nonce stands on every frame of the call, in both directions |
//! | `O` | worker | bytes: something was printed |
//! | `Q` | worker | JSON `{"id": 1, "what": …}`: it wants something of us; ids count up from 1 |
//! | `A` | us | JSON `{"id": 1, "value": …}`: what came of that |
//! | `V` | worker, at most once | JSON: what came of the call |
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

/// A program that can be a worker.
#[derive(Clone, Debug)]
pub struct WorkerProgram {
    /// What people call it, in messages: `Python`.
    pub name: String,
    /// A path, or a name to be found on `PATH`.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Whether it only looks at the workspace: it can write nothing there, and has no network.
    pub looks: bool,
    /// Files and folders that it must be able to read, besides what the policy grants.
    pub read: Vec<PathBuf>,
    /// What it is told before the first call: an object.
    pub hello: Value,
    /// How long it may take until it is ready.
    pub start: Duration,
}

/// Whoever made a call, while the call is under way.
pub trait WorkerHost: Send + Sync {
    /// Answers what the worker wants. The question is not trusted. Dropped if the call ends before.
    fn answer(&self, what: Value) -> WorkerAnswerFuture<'_>;

    /// Hears what is printed, as it comes.
    fn printed(&self, text: &str) {
        let _ = text;
    }
}

/// An answer on its way.
pub type WorkerAnswerFuture<'a> = Pin<Box<dyn Future<Output = Value> + Send + 'a>>;

/// A call that came to its end.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerOutput {
    /// What came of it, if the worker said.
    pub value: Option<Value>,
    /// How it ended, in the worker's own words.
    pub end: Value,
    /// What was printed.
    pub printed: PrintedOutput,
    /// Hosts that it reached through the proxy.
    pub reached: Vec<String>,
    /// Files that would run later, and where they are now.
    pub moved_aside: Vec<MovedFile>,
    /// What could not be looked after.
    pub troubles: Vec<String>,
}

/// Files that would run later, and where they are now, however the call ended.
pub(crate) fn moved_aside(called: &Result<WorkerOutput, WorkerFault>) -> &[MovedFile] {
    match called {
        Ok(done) => &done.moved_aside,
        Err(
            WorkerFault::TimedOut { ended, .. } | WorkerFault::Ended { ended, .. } | WorkerFault::Forged { ended, .. },
        ) => ended.as_deref().map_or(&[], |ended| &ended.moved_aside),
        Err(WorkerFault::NotStarted(_)) => &[],
    }
}

/// Hosts that a call reached through the proxy, however it ended.
pub(crate) fn reached(called: &Result<WorkerOutput, WorkerFault>) -> &[String] {
    match called {
        Ok(done) => &done.reached,
        Err(
            WorkerFault::TimedOut { ended, .. } | WorkerFault::Ended { ended, .. } | WorkerFault::Forged { ended, .. },
        ) => ended.as_deref().map_or(&[], |ended| &ended.reached),
        Err(WorkerFault::NotStarted(_)) => &[],
    }
}

/// The beginning of what a call printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrintedOutput {
    /// As much as is kept.
    pub head: Vec<u8>,
    /// Bytes that came after it.
    pub omitted: u64,
}

/// Why a call did not come to its end. The worker is gone in every case.
#[derive(Debug)]
#[non_exhaustive]
pub enum WorkerFault {
    /// There is no worker: nothing of the call was done.
    NotStarted(Failure),
    /// It took longer than this, and was ended.
    TimedOut {
        /// The limit.
        limit: Duration,
        /// What was printed until then.
        printed: PrintedOutput,
        /// How the end went.
        ended: Option<Box<ChildResult>>,
    },
    /// The worker ended, by itself or by a limit of the sandbox.
    Ended {
        /// What was printed until then.
        printed: PrintedOutput,
        /// How it ended, as far as that is known.
        ended: Option<Box<ChildResult>>,
    },
    /// The worker said what no worker may say, and was ended.
    Forged {
        /// What it said.
        why: String,
        /// How the end went.
        ended: Option<Box<ChildResult>>,
    },
}
