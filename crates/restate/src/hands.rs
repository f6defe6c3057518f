//! What is handed to this worker: to the task that drives the run, or, if there is none, a reason to drive it again.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::mpsc;
use updraft_engine::HandedEffect;
use updraft_run::RunId;

use crate::messages::{HandOver, StartRequest};
use crate::runs_object::HandlerFault;

/// How many effects may wait for a run that is busy; further ones are handed over again later.
const MOST_HANDED: usize = 1024;

/// Drives a run again that nobody drives. Returns whether what was handed over has come to an end, or says why nothing can
/// be done now.
pub type Waker = Arc<dyn Fn(RunId, HandedEffect) -> WakeFuture + Send + Sync>;
/// What a [`Waker`] returns.
pub type WakeFuture = Pin<Box<dyn Future<Output = Result<bool, String>> + Send>>;

/// Starts a run under this id, unless there is one already.
pub type RunStarter = Arc<dyn Fn(RunId, StartRequest) -> RunStartFuture + Send + Sync>;
/// What a [`RunStarter`] returns.
pub type RunStartFuture = Pin<Box<dyn Future<Output = Result<(), StartFault>> + Send>>;

/// Why a run was not started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartFault {
    /// It never will be: the order has a mistake.
    Refused(String),
    /// It may be later.
    Later(String),
}

/// The runs that are driven here.
#[derive(Default)]
pub(crate) struct Hands {
    driven: Mutex<BTreeMap<RunId, mpsc::Sender<HandedEffect>>>,
    waker: OnceLock<Waker>,
    starter: OnceLock<RunStarter>,
}

impl Hands {
    /// From here on, what is handed over for this run goes to the receiver.
    pub(crate) fn drive(&self, run: &RunId) -> mpsc::Receiver<HandedEffect> {
        let (send, handed) = mpsc::channel(MOST_HANDED);
        let mut driven = self.driven();
        driven.retain(|_, send| !send.is_closed());
        driven.insert(run.clone(), send);
        handed
    }

    /// Says how runs are driven that are not, and how new ones are started. Called once, when the worker starts.
    pub(crate) fn serve_with(&self, waker: Waker, starter: RunStarter) {
        let _ = self.waker.set(waker);
        let _ = self.starter.set(starter);
    }

    /// Starts a run here.
    pub(crate) async fn start(&self, run: RunId, request: StartRequest) -> Result<(), HandlerFault> {
        let Some(starter) = self.starter.get() else { return Err(later("the worker is starting")) };
        starter(run, request).await.map_err(|fault| match fault {
            StartFault::Refused(why) => HandlerFault::Refused(422, why),
            StartFault::Later(why) => HandlerFault::Later(why),
        })
    }

    /// Takes what was handed over. It is handed over again if this fails, and may be so in any case.
    pub(crate) async fn take(&self, over: HandOver) -> Result<(), HandlerFault> {
        let run = RunId::parse(&over.run).map_err(HandlerFault::unreadable)?;
        let handed = HandedEffect { records: over.records, effect: over.effect };
        if self.pass(&run, handed.clone())? {
            return Ok(());
        }
        let Some(waker) = self.waker.get() else { return Err(later("the worker is starting")) };
        // Opening the run has everything handed over again that is open.
        let is_settled = waker(run.clone(), handed).await.map_err(HandlerFault::Later)?;
        let is_driven = self.driven().get(&run).is_some_and(|send| !send.is_closed());
        if is_settled || is_driven { Ok(()) } else { Err(later("the run was just left by its driver")) }
    }

    /// Whether the run is driven here, and now knows about it.
    fn pass(&self, run: &RunId, handed: HandedEffect) -> Result<bool, HandlerFault> {
        match self.driven().get(run).map(|send| send.try_send(handed)) {
            Some(Ok(())) => Ok(true),
            Some(Err(mpsc::error::TrySendError::Full(_))) => Err(later("the run has too much to do")),
            Some(Err(mpsc::error::TrySendError::Closed(_))) | None => Ok(false),
        }
    }

    fn driven(&self) -> MutexGuard<'_, BTreeMap<RunId, mpsc::Sender<HandedEffect>>> {
        self.driven.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn later(why: &str) -> HandlerFault {
    HandlerFault::Later(why.to_owned())
}
