//! Runs whose files come from a git repository: each works in a clone of its own, and what it changes is pushed to a branch of
//! its own, after each step and at its end.

mod pushes;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use updraft_engine::HandedEffect;
use updraft_journal::{Journal, RunFilter};
use updraft_restate::{RestateHome, RunProjector, RunStarter, StartFault, StartRequest, Waker};
use updraft_run::{Event, Input, Run, RunId};
use updraft_workbench::repositories::RepositoryMirror;
use updraft_workbench::service::TailItem;
use updraft_workbench::{Fault, RunCallbacks, UpdraftService};

use super::{LiveWorker, start_orders};
use crate::args::ServedRunFlags;
use crate::commands::service;
use crate::fault::CliError;
use crate::folders::{self, AppFolders};
use crate::settings::TrustedWorkspaces;
use crate::{journal, out, time_format};

/// How long a handler waits for a clone. After that it is called again.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long to wait until something is tried again that did not work, at first and at most.
const AT_FIRST: Duration = Duration::from_secs(1);
const AT_MOST: Duration = Duration::from_mins(1);

/// The runs of one repository. Cheap to clone.
#[derive(Clone)]
pub(in crate::commands) struct RepositoryRuns(Arc<RepositoryRunsInner>);

struct RepositoryRunsInner {
    folders: AppFolders,
    mirror: Arc<RepositoryMirror>,
    home: Arc<RestateHome>,
    callbacks: RunCallbacks,
    served: ServedRunFlags,
    /// Whether the repository's settings, agents and tools are used as the user's own.
    is_trusted: bool,
    journal: Journal,
    stop: CancellationToken,
    /// Held while a run's clone and service are made.
    opening: tokio::sync::Mutex<()>,
    open: Mutex<BTreeMap<RunId, OpenRun>>,
    tasks: TaskTracker,
}

/// A run that is not over, with a service in its clone.
#[derive(Clone)]
struct OpenRun {
    service: UpdraftService,
    stop: CancellationToken,
}

impl OpenRun {
    async fn close(self) {
        self.stop.cancel();
        self.service.close().await;
    }
}

impl RepositoryRuns {
    /// Serves the runs of a repository, and continues those that the process before has left.
    pub(in crate::commands) async fn open(
        folders: &AppFolders,
        worker: &LiveWorker,
        at: usize,
        served: ServedRunFlags,
        is_trusted: bool,
    ) -> Result<Self, CliError> {
        let (Some(mirror), Some(home)) = (worker.repositories.get(at).cloned().flatten(), worker.home(at)) else {
            return Err(CliError::failed("the worker has no such repository"));
        };
        let mut callbacks = RunCallbacks { tell: service::tell_schedules(), ..RunCallbacks::default() };
        worker.attend(home, &mut callbacks);
        let projector = RunProjector::new(Arc::clone(home), journal::open(folders)?);
        let has_all = super::copy_missing(&projector).await;
        projector.close().await;
        let runs = Self(Arc::new(RepositoryRunsInner {
            folders: folders.clone(),
            mirror,
            home: Arc::clone(home),
            callbacks,
            served,
            is_trusted,
            journal: journal::open(folders)?,
            stop: worker.stop.clone(),
            opening: tokio::sync::Mutex::default(),
            open: Mutex::default(),
            tasks: TaskTracker::new(),
        }));
        // Before a run can begin that has a clone and is not in the journal yet.
        runs.sweep(has_all).await?;
        runs.serve();
        runs.recover()?;
        Ok(runs)
    }

    /// Leaves the runs, which the next process continues.
    pub(in crate::commands) async fn close(self) {
        self.0.tasks.close();
        self.0.tasks.wait().await;
        let open = std::mem::take(&mut *self.open_runs());
        for run in open.into_values() {
            run.close().await;
        }
        self.0.journal.clone().close().await;
    }

    fn open_runs(&self) -> MutexGuard<'_, BTreeMap<RunId, OpenRun>> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self) {
        let (waking, starting) = (self.clone(), self.clone());
        let waker: Waker = Arc::new(move |run, handed| {
            let runs = waking.clone();
            Box::pin(async move { runs.wake(run, handed).await })
        });
        let starter: RunStarter = Arc::new(move |run, request| {
            let runs = starting.clone();
            Box::pin(async move { runs.start(run, request).await })
        });
        self.0.home.serve_with(waker, starter);
    }

    /// Looks after the clones of runs that are over: what is not pushed yet is pushed. Those of runs that never began are removed,
    /// if the journal here has all runs.
    async fn sweep(&self, has_all: bool) -> Result<(), CliError> {
        for id in self.0.mirror.runs() {
            match self.0.journal.head(&id) {
                Err(updraft_journal::Error::UnknownRun { .. }) if has_all => self.0.mirror.remove(&id).await?,
                Err(error) => {
                    out::note(&format!("the clone of run {id} is left as it is: {}", Fault::from(error).in_one_line()));
                }
                Ok(head) if head.status.is_final() => {
                    let runs = self.clone();
                    self.0.tasks.spawn(async move { runs.push_finally(&id).await });
                }
                Ok(_) => {}
            }
        }
        Ok(())
    }

    /// Takes up the runs of the process before that are not over.
    fn recover(&self) -> Result<(), CliError> {
        let clones = folders::workspace(Some(&self.0.mirror.clones()))?;
        let mut unfinished = self.0.journal.list(&RunFilter::default())?;
        unfinished.retain(|run| !run.status.is_final() && Path::new(&run.workspace).starts_with(&clones));
        let runs = self.clone();
        self.0.tasks.spawn(async move { runs.take_up_all(unfinished.into_iter().map(|run| run.id).collect()).await });
        Ok(())
    }

    /// Takes up runs, and tries again what does not work yet.
    async fn take_up_all(&self, mut left: Vec<RunId>) {
        let (mut pause, mut told) = (AT_FIRST, BTreeMap::new());
        while !left.is_empty() {
            let mut failed = Vec::new();
            for id in left {
                let taken = tokio::select! {
                    () = self.0.stop.cancelled() => return,
                    taken = Box::pin(self.take_up(&id)) => taken,
                };
                let Err(fault) = taken else { continue };
                let why = fault.in_one_line();
                if told.insert(id.clone(), why.clone()).as_ref() != Some(&why) {
                    out::note(&format!("run {id} is left as it is: {why}"));
                }
                if self.0.journal.head(&id).is_ok() {
                    failed.push(id);
                }
            }
            left = failed;
            if !self.waits(pause).await {
                return;
            }
            pause = AT_MOST.min(pause * 2);
        }
    }

    /// Waits for some time. Returns whether the worker goes on.
    async fn waits(&self, time: Duration) -> bool {
        tokio::select! {
            () = self.0.stop.cancelled() => false,
            () = tokio::time::sleep(time) => true,
        }
    }

    /// Does something that may take long, and waits for it a moment only: handlers do not last, they are called again.
    async fn for_a_moment<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> Option<T> {
        let (done, waiting) = oneshot::channel();
        let stop = self.0.stop.clone();
        self.0.tasks.spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                result = work => drop(done.send(result)),
            }
        });
        tokio::time::timeout(PATIENCE, waiting).await.ok()?.ok()
    }

    async fn start(&self, run: RunId, request: StartRequest) -> Result<(), StartFault> {
        let (runs, id) = (self.clone(), run.clone());
        let begun = self.for_a_moment(async move { Box::pin(runs.begin(run, request)).await }).await;
        let begun = begun.unwrap_or_else(|| Err(StartFault::Later("the repository is being cloned".to_owned())));
        if let Err(StartFault::Later(why)) = &begun {
            tracing::warn!(run = %id, why, "a run that was ordered has not begun yet");
        }
        begun
    }

    async fn begin(&self, id: RunId, request: StartRequest) -> Result<(), StartFault> {
        let turn = self.0.opening.lock().await;
        match self.0.journal.head(&id) {
            Err(updraft_journal::Error::UnknownRun { .. }) => {}
            Err(error) => return Err(StartFault::Later(Fault::from(error).in_one_line())),
            Ok(_) => {
                // It was begun before, and perhaps this worker ended in the middle of that.
                drop(turn);
                return self.take_up(&id).await.map(drop).map_err(|fault| StartFault::Later(fault.in_one_line()));
            }
        }
        let begun = match self.open_new(&id).await {
            Ok(open) => match Box::pin(start_orders::begin(&open.service.runs, id.clone(), request)).await {
                Ok(()) => Ok(open),
                Err(fault) => {
                    open.close().await;
                    Err(fault)
                }
            },
            Err(fault) => Err(start_orders::start_fault(&fault)),
        };
        match begun {
            Ok(open) => {
                self.attend(id, open);
                Ok(())
            }
            Err(fault) => {
                // Not if somebody else has begun it meanwhile.
                let is_unknown = matches!(self.0.journal.head(&id), Err(updraft_journal::Error::UnknownRun { .. }));
                if matches!(fault, StartFault::Refused(_))
                    && is_unknown
                    && let Err(fault) = self.0.mirror.remove(&id).await
                {
                    tracing::warn!(run = %id, why = fault.in_one_line(), "the clone of a run was not removed");
                }
                Err(fault)
            }
        }
    }

    async fn open_new(&self, id: &RunId) -> Result<OpenRun, Fault> {
        let clone = self.0.mirror.clone_for(id).await?;
        let folder = folders::workspace(Some(&clone))?;
        self.trust(&folder)?;
        let open = self.open_in(folder).await?;
        // There is nothing to resume in it yet, but from here on it hears of answers from a terminal.
        open.service.resume_unfinished().await?;
        Ok(open)
    }

    async fn wake(&self, id: RunId, handed: HandedEffect) -> Result<bool, String> {
        let runs = self.clone();
        let waking = async move {
            match runs.take_up(&id).await? {
                Some(service) => service.runs.continue_run(&id, &handed).await,
                None => Ok(true),
            }
        };
        let woken = self.for_a_moment(Box::pin(waking)).await;
        woken.unwrap_or_else(|| Err(Fault::failed("its repository is being cloned"))).map_err(|fault| fault.message)
    }

    /// The service of a run that is not over; it is opened if there is none.
    async fn take_up(&self, id: &RunId) -> Result<Option<UpdraftService>, Fault> {
        let open = || self.open_runs().get(id).map(|open| open.service.clone());
        // Another run may be cloned for a long time.
        if let Some(service) = open() {
            return Ok(Some(service));
        }
        let _turn = self.0.opening.lock().await;
        if let Some(service) = open() {
            return Ok(Some(service));
        }
        let run = Box::new(journal::load(&self.0.journal, id)?);
        if run.is_over() {
            return Ok(None);
        }
        let folder = self.folder_of(id, &run).await?;
        let open = self.open_in(folder).await?;
        open.service.resume_unfinished().await?;
        let service = open.service.clone();
        self.attend(id.clone(), open);
        Ok(Some(service))
    }

    /// The clone of a run that began before. If it is gone, it is made again from what was pushed, and the run is told so.
    async fn folder_of(&self, id: &RunId, run: &Run) -> Result<PathBuf, Fault> {
        let mirror = &self.0.mirror;
        let clones = folders::workspace(Some(&mirror.clones()))?;
        let clone = clones.join(id.as_str()).join(mirror.address().name());
        if Path::new(&run.settings().workspace) != clone.as_path() {
            return Err(Fault::usage(format!(
                "run {id} works in `{}`, and this worker has its clone at `{}`",
                run.settings().workspace,
                clone.display()
            ))
            .hint("start the worker with the same UPDRAFT_HOME, or the same home folder, as on the first machine"));
        }
        if !clone.is_dir() {
            let restored = mirror.find_restored(id).await?;
            // Before it can go on there.
            let told = Input::Tell { message: restored.message() };
            self.0.journal.send(id, &restored.key(), &told, time_format::now()).await?;
            mirror.restore(id, &restored).await?;
            out::note(&format!("run {id}: its clone was made again from branch `{}`", restored.branch()));
        }
        Ok(clone)
    }

    /// Trusts a new clone, if the repository is trusted.
    fn trust(&self, folder: &Path) -> Result<(), Fault> {
        if !self.0.is_trusted {
            return Ok(());
        }
        let trusted = TrustedWorkspaces::load(&self.0.folders);
        trusted.add(folder, &trusted.what_counts(folder))
    }

    async fn open_in(&self, folder: PathBuf) -> Result<OpenRun, Fault> {
        let stop = self.0.stop.child_token();
        let served = ServedRunFlags { workspace: Some(folder.clone()), ..self.0.served.clone() };
        let callbacks = RunCallbacks { stop: stop.clone(), ..self.0.callbacks.clone() };
        let service = Box::pin(service::open_idle_at(&self.0.folders, &folder, &served, callbacks)).await?;
        Ok(OpenRun { service, stop })
    }

    /// Keeps what a run changes, from here on until it is over.
    fn attend(&self, id: RunId, open: OpenRun) {
        let (runs, service) = (self.clone(), open.service.clone());
        self.open_runs().insert(id.clone(), open);
        self.0.tasks.spawn(async move { Box::pin(runs.follow(id, service)).await });
    }

    async fn follow(&self, id: RunId, service: UpdraftService) {
        let mut seen = self.0.journal.head(&id).map_or(0, |head| head.events);
        let mut tail = service.runs.tail(&id, seen);
        let is_gone = loop {
            let next = tokio::select! {
                () = self.0.stop.cancelled() => return,
                next = tail.next() => next,
            };
            match next {
                Ok(TailItem::Events(events)) => {
                    seen = events.last().map_or(seen, |last| last.number);
                    let ended = events.iter().rev().find_map(|one| match &one.event {
                        Event::StepDone { step, .. } => Some(step.to_string()),
                        _ => None,
                    });
                    if let Some(step) = ended {
                        self.push_meanwhile(&id, &step).await;
                    }
                }
                Ok(TailItem::Over) => break false,
                Ok(TailItem::Gone) => break true,
                Err(fault) => {
                    // The tail looks up the head first, so this is how it learns of a removal, too.
                    if matches!(self.0.journal.head(&id), Err(updraft_journal::Error::UnknownRun { .. })) {
                        break true;
                    }
                    tracing::warn!(run = %id, why = fault.in_one_line(), "a run cannot be followed; trying again");
                    if !self.waits(AT_FIRST).await {
                        return;
                    }
                    tail = service.runs.tail(&id, seen);
                }
            }
        };
        // What still runs in the clone ends first.
        let _ = service.runs.until_rest(&id).await;
        let open = self.open_runs().remove(&id);
        drop(service);
        if let Some(open) = open {
            open.close().await;
        }
        if !is_gone {
            self.push_finally(&id).await;
        }
    }
}
