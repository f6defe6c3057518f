//! A pool of running workers: as many as are needed at once, up to a limit; idle ones are ended after a while.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::{OnceCell, Semaphore};
use tokio::task::JoinSet;
use tokio::time::Instant;
use updraft_run::{Failure, FailureKind};
use updraft_sandbox::{ChildLifetime, ChildResult, Policy};

use super::process::{Worker, WorkerError};
use super::{PrintedOutput, WorkerFault, WorkerHost, WorkerOutput, WorkerProgram};
use crate::confinement::Confinement;

/// The number of workers, and how much each may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolLimits {
    /// Workers that serve a call at the same time. Further calls wait for a free worker, within their own time.
    pub at_once: usize,
    /// Most idle workers that are kept.
    pub idle: usize,
    /// How long idle workers are kept.
    pub idle_time: Duration,
    /// Most bytes of one frame.
    pub frame: usize,
    /// Most unanswered requests that a worker may have at the same time.
    pub questions: usize,
    /// Most bytes of a call's printed output that are kept.
    pub printed: usize,
    /// Most bytes of stderr that are kept of its beginning, and as many of its end.
    pub stderr: usize,
}

impl Default for PoolLimits {
    fn default() -> Self {
        Self {
            at_once: 64,
            idle: 8,
            idle_time: Duration::from_mins(1),
            frame: 32 << 20,
            questions: 256,
            printed: 256 << 10,
            stderr: 8 << 10,
        }
    }
}

/// Workers of one program, for any number of workspaces. Cheap to clone; dropping the last clone ends them all.
#[derive(Clone)]
pub struct WorkerPool(Arc<PoolInner>);

struct PoolInner {
    confinement: Confinement,
    program: WorkerProgram,
    sizes: PoolLimits,
    turns: Semaphore,
    idle: Mutex<Vec<IdleWorker>>,
    /// Takes the place of the workspace as the writable folder for workers that only read, so that none of the user's
    /// files can be written.
    empty: OnceCell<TempDir>,
    /// The task that ends workers which have been idle for too long; none while there are no idle workers.
    sweeper: Mutex<JoinSet<()>>,
}

/// A worker that waits for a call.
struct IdleWorker {
    worker: Worker,
    workspace: PathBuf,
    since: Instant,
}

impl WorkerPool {
    /// Creates a pool without workers. Each worker is confined to the workspace of its first call.
    pub fn new(confinement: Confinement, program: WorkerProgram, sizes: PoolLimits) -> Self {
        Self(Arc::new(PoolInner {
            confinement,
            program,
            sizes,
            turns: Semaphore::new(sizes.at_once),
            idle: Mutex::default(),
            empty: OnceCell::new(),
            sweeper: Mutex::default(),
        }))
    }

    /// Makes a call in a workspace, within a time limit that includes waiting for a worker.
    ///
    /// Dropping this future ends the worker and everything it started.
    pub async fn call(
        &self,
        workspace: &Path,
        call: &Value,
        host: &dyn WorkerHost,
        limit: Duration,
    ) -> Result<WorkerOutput, WorkerFault> {
        let deadline = Instant::now() + limit;
        let call = call.to_string();
        if call.len() > self.0.sizes.frame {
            let why = format!("the call has {} bytes; expected at most {}", call.len(), self.0.sizes.frame);
            return Err(WorkerFault::NotStarted(Failure::new(FailureKind::Validation, why)));
        }
        let mut printed = PrintedOutput::default();
        let ready = tokio::time::timeout_at(deadline, async {
            let turn = self.0.turns.acquire().await;
            (turn, self.0.ready(workspace).await)
        });
        let Ok((_turn, ready)) = ready.await else { return Err(WorkerFault::TimedOut { limit, printed, ended: None }) };
        let mut worker = ready?;
        let reached = worker.reached();
        let mark = reached.mark();
        let called = tokio::time::timeout_at(deadline, worker.call(call.as_bytes(), host, &mut printed)).await;
        // Hosts that earlier calls of the same worker connected to do not belong to this call.
        let own = |ended: Option<Box<ChildResult>>| {
            ended.map(|mut ended| {
                ended.reached = reached.since(mark);
                ended
            })
        };
        match called {
            Ok(Ok((value, end))) => {
                let done = WorkerOutput { reached: reached.since(mark), ..WorkerOutput::of(value, end, printed) };
                Ok(self.0.done(worker, workspace, done).await)
            }
            Ok(Err(WorkerError::Ended)) => Err(WorkerFault::Ended { printed, ended: own(worker.ended().await) }),
            Ok(Err(WorkerError::Forged(why))) => Err(WorkerFault::Forged { why, ended: own(worker.end().await) }),
            Err(_) => Err(WorkerFault::TimedOut { limit, printed, ended: own(worker.end().await) }),
        }
    }

    /// The number of idle workers.
    pub fn idle(&self) -> usize {
        self.0.idle().len()
    }

    /// Ends the idle workers, and waits until they are gone.
    pub async fn close(&self) {
        let idle = std::mem::take(&mut *self.0.idle());
        for idle in idle {
            idle.worker.end().await;
        }
    }
}

impl WorkerOutput {
    fn of(value: Option<Value>, end: Value, printed: PrintedOutput) -> Self {
        Self { value, end, printed, reached: Vec::new(), moved_aside: Vec::new(), troubles: Vec::new() }
    }
}

impl PoolInner {
    /// A worker for this workspace: an idle one, or a new one.
    async fn ready(&self, workspace: &Path) -> Result<Worker, WorkerFault> {
        while let Some(mut worker) = self.take_idle(workspace) {
            if worker.is_fit().await {
                return Ok(worker);
            }
            worker.end().await;
        }
        self.start(workspace).await
    }

    /// Takes the worker that was idle for the shortest time, so that the others can be ended.
    fn take_idle(&self, workspace: &Path) -> Option<Worker> {
        let mut idle = self.idle();
        let at = idle.iter().rposition(|idle| idle.workspace == workspace)?;
        Some(idle.remove(at).worker)
    }

    async fn policy(&self, workspace: &Path) -> Result<Policy, WorkerFault> {
        let policy = self.confinement.policy_for(workspace);
        if !self.program.looks {
            return Ok(policy);
        }
        let not_started = |why: String| WorkerFault::NotStarted(Failure::new(FailureKind::Security, why));
        // Code must be allowed to work in the folder itself, even if it only reads it.
        policy.check().map_err(|error| not_started(error.to_string()))?;
        let empty = self.empty.get_or_try_init(|| async { tempfile::tempdir() }).await;
        let empty = empty.map_err(|error| not_started(format!("could not create an empty folder: {error}")))?;
        Ok(self.confinement.policy_for_looking(workspace, empty.path()))
    }

    async fn start(&self, workspace: &Path) -> Result<Worker, WorkerFault> {
        let WorkerProgram { name, read, hello, start, .. } = &self.program;
        let sandbox = self.confinement.sandbox().await.map_err(WorkerFault::NotStarted)?;
        let mut policy = self.policy(workspace).await?;
        policy.lifetime = ChildLifetime::Session;
        policy.read.extend(read.iter().cloned());
        let environment = &self.confinement.environment;
        let started = Worker::start(&sandbox, &policy, workspace, environment, &self.program, self.sizes).await;
        let mut worker = started.map_err(|error| {
            WorkerFault::NotStarted(Failure::new(FailureKind::Security, format!("{name} was not started: {error}")))
        })?;
        let mut hello = hello.clone();
        hello["level"] = Value::String(sandbox.level().to_string());
        let why = match tokio::time::timeout(*start, worker.greet(&hello)).await {
            Ok(Ok(())) => return Ok(worker),
            Ok(Err(WorkerError::Forged(why))) => format!("it said {why}"),
            Ok(Err(WorkerError::Ended)) => "it ended at once".to_owned(),
            Err(_) => format!("it was not ready after {} s", start.as_secs()),
        };
        let ended = worker.end().await;
        let stderr = ended.map(|ended| ended.stderr.text()).unwrap_or_default();
        let why = format!("{name} did not start: {why}; {}", crate::truncate::line(stderr.trim(), 2_000));
        Err(WorkerFault::NotStarted(Failure::new(FailureKind::Tool, why.trim_end_matches("; "))))
    }

    /// Keeps the worker for the next call, or ends it if it is spent.
    async fn done(self: &Arc<Self>, mut worker: Worker, workspace: &Path, mut done: WorkerOutput) -> WorkerOutput {
        let is_spent = done.end["spent"] == Value::Bool(true);
        let looked_after = if is_spent { None } else { worker.look_after().await };
        let Some((moved_aside, troubles)) = looked_after else {
            match worker.end().await {
                Some(ended) => (done.moved_aside, done.troubles) = (ended.moved_aside, ended.troubles),
                None => done.troubles.push(format!("the end of a worker of {} was not seen", self.program.name)),
            }
            return done;
        };
        (done.moved_aside, done.troubles) = (moved_aside, troubles);
        let too_many = {
            let mut idle = self.idle();
            idle.push(IdleWorker { worker, workspace: workspace.to_owned(), since: Instant::now() });
            (idle.len() > self.sizes.idle).then(|| idle.remove(0))
        };
        if let Some(oldest) = too_many {
            oldest.worker.end().await;
        }
        self.sweep_later();
        done
    }

    fn idle(&self) -> MutexGuard<'_, Vec<IdleWorker>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes sure that the workers that are idle now are ended in time.
    fn sweep_later(self: &Arc<Self>) {
        let mut sweeper = self.sweeper.lock().unwrap_or_else(PoisonError::into_inner);
        // Removes a task that has finished, or that ended with an earlier runtime.
        while sweeper.try_join_next().is_some() {}
        if sweeper.is_empty() {
            sweeper.spawn(sweep(Arc::downgrade(self), self.sizes.idle_time));
        }
    }
}

/// Ends workers that have been idle for too long, until none is idle. Does not keep the pool alive while it sleeps.
async fn sweep(pool: Weak<PoolInner>, idle_time: Duration) {
    let mut wake = Instant::now() + idle_time;
    loop {
        tokio::time::sleep_until(wake).await;
        let Some(pool) = pool.upgrade() else { return };
        let old: Vec<IdleWorker> = {
            let mut idle = pool.idle();
            let now = Instant::now();
            let (old, young) = std::mem::take(&mut *idle).into_iter().partition(|one| one.since + idle_time <= now);
            *idle = young;
            old
        };
        for idle in old {
            idle.worker.end().await;
        }
        match pool.idle().iter().map(|idle| idle.since).min() {
            Some(oldest) => wake = oldest + idle_time,
            None => return,
        }
    }
}
