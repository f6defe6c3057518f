//! Drives the runs that clients of this process start, and resumes those of the previous process.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::warn;
use updraft_engine::{Engine, HandedEffect, PersonResponse, ResponseStatus, RunHandle, home_of};
use updraft_journal::{Journal, RunFilter};
use updraft_run::{EffectAddress, Goal, Input, Run, RunId, Status};

use super::drive_thread::DriveThread;
use super::examination::SharedExamination;
use super::feeds::LiveFeeds;
use super::figures::FigureCache;
use super::orders::OrderFace;
use super::placement::RunPlacer;
use super::scheduler::SCHEDULE;
use crate::fault::{Fault, blocking};
use crate::flags::Flags;
use crate::folders::unguessable;
use crate::journal::{self, new_id};
use crate::resume::ResumeOutcome;
use crate::settings::WorkspaceSettings;
use crate::start::NewGoal;
use crate::time_format;
use crate::workbench::Workbench;

/// The entry point recorded in the goal of runs that other programs start.
pub(crate) const ENTRY_POINT: &str = "mcp";
/// How often a run is checked that another process drives: that process may end without writing anything.
const LOOK: Duration = Duration::from_millis(500);
/// How long to wait for an input to take effect.
const PATIENCE: Duration = Duration::from_secs(2);
/// The same for an input that the run's home elsewhere has to accept.
const HOME_PATIENCE: Duration = Duration::from_secs(10);
/// Why a run is opened that no process is driving. Stopping it is always possible.
#[derive(Clone, Copy)]
enum ReopenReason {
    ToGoOn,
    ToStop,
}

/// The runs of this process. Cheap to clone.
///
/// They are behind a trait object for the compiler's sake: it would prove again and again, for the future of every request of
/// `serve`, that all types in here may be sent between threads.
#[derive(Clone)]
pub struct LiveRuns(Arc<dyn Deref<Target = LiveRunsInner> + Send + Sync>);

struct LiveRunsInner {
    bench: Workbench,
    engine: Engine,
    workspace: String,
    stop: CancellationToken,
    /// Cancelled when the service stops or is closed.
    closing: CancellationToken,
    tasks: TaskTracker,
    /// Where runs are driven.
    thread: DriveThread,
    /// The runs driven here; the token is cancelled when the run comes to rest.
    driven: Mutex<BTreeMap<RunId, CancellationToken>>,
    /// Held while a run is opened, so that two tasks of this process never open the same run.
    opening: tokio::sync::Mutex<()>,
    /// The runs that people watch.
    feeds: LiveFeeds,
    /// What runs have cost, as far as it was looked up.
    figures: FigureCache,
    /// What works here.
    examination: SharedExamination,
    /// Starts runs on workers with labels, if there are such.
    placer: OnceLock<RunPlacer>,
}

impl LiveRuns {
    pub(super) fn new(
        bench: Workbench,
        engine: Engine,
        stop: CancellationToken,
        feeds: LiveFeeds,
    ) -> Result<Self, Fault> {
        let workspace = bench.folder.display().to_string();
        let thread = DriveThread::start()
            .map_err(|error| Fault::failed(format!("the thread that drives runs does not start: {error}")))?;
        let (tasks, driven, opening) = (TaskTracker::new(), Mutex::default(), tokio::sync::Mutex::default());
        let (figures, examination) = (FigureCache::default(), SharedExamination::default());
        let closing = stop.child_token();
        let inner = LiveRunsInner {
            bench,
            engine,
            workspace,
            stop,
            closing,
            tasks,
            thread,
            driven,
            opening,
            feeds,
            figures,
            examination,
            placer: OnceLock::new(),
        };
        Ok(Self(Arc::new(Box::new(inner))))
    }

    pub(super) fn bench(&self) -> &Workbench {
        &self.0.bench
    }

    pub(super) fn feeds(&self) -> &LiveFeeds {
        &self.0.feeds
    }

    pub(super) fn figures(&self) -> &FigureCache {
        &self.0.figures
    }

    pub(super) fn examination(&self) -> &SharedExamination {
        &self.0.examination
    }

    pub(super) fn placer(&self) -> &OnceLock<RunPlacer> {
        &self.0.placer
    }

    /// The folder that its runs work in.
    pub fn workspace(&self) -> &str {
        &self.0.workspace
    }

    pub(super) fn stop_token(&self) -> &CancellationToken {
        &self.0.stop
    }

    /// Cancelled when the service stops or is closed.
    pub(super) fn closing(&self) -> &CancellationToken {
        &self.0.closing
    }

    pub(super) fn settings(&self) -> &WorkspaceSettings {
        &self.0.bench.settings
    }

    pub(super) fn journal(&self) -> &Journal {
        self.0.engine.journal()
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.0.engine
    }

    /// Held while a run is opened.
    pub(super) fn opening(&self) -> &tokio::sync::Mutex<()> {
        &self.0.opening
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.0.stop.is_cancelled()
    }

    fn driven(&self) -> MutexGuard<'_, BTreeMap<RunId, CancellationToken>> {
        self.0.driven.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this process drives a run.
    pub(super) fn drives(&self, id: &RunId) -> bool {
        self.driven().contains_key(id)
    }

    /// How many runs this process drives.
    pub(super) fn driven_count(&self) -> usize {
        self.driven().len()
    }

    /// Loads a run. That of a long one takes a while, so it is done on a thread that may wait.
    pub(super) async fn load(&self, id: &RunId) -> Result<Box<Run>, Fault> {
        let (journal, id) = (self.journal().clone(), id.clone());
        blocking(move || Ok(Box::new(journal::load(&journal, &id)?))).await
    }

    /// Finds a run of this workspace by its full id. Clients cannot see runs of other workspaces.
    pub fn find(&self, id: &str) -> Result<RunId, Fault> {
        let unknown = || Fault::usage(format!("there is no run `{id}` in this workspace"));
        let id = RunId::parse(id).map_err(|_| unknown())?;
        let head = self.journal().head(&id).map_err(|_| unknown())?;
        if head.workspace == self.0.workspace { Ok(id) } else { Err(unknown()) }
    }

    /// The newest runs of this workspace.
    pub(super) fn newest(&self, most: usize) -> Result<Vec<RunId>, Fault> {
        let workspace = Some(self.0.workspace.clone());
        let filter = RunFilter { workspace, limit: Some(most), ..RunFilter::default() };
        let runs = self.journal().list(&filter)?;
        Ok(runs.into_iter().map(|run| run.id).collect())
    }

    /// Starts a run. When this returns, the goal is on disk and the run continues in the background.
    pub(super) async fn start(&self, goal: Goal) -> Result<RunId, Fault> {
        if self.is_stopping() {
            return Err(Fault::failed("the server is stopping; ask again when it is back"));
        }
        let id = new_id()?;
        let goal = Goal { door: ENTRY_POINT.to_owned(), ..goal };
        let new = NewGoal { goal, ..NewGoal::default() };
        let handle = Box::pin(self.0.bench.start(id.clone(), new)).await?;
        self.drive_on(handle, None);
        Ok(id)
    }

    /// Does some work in the background, until it is done or the service stops.
    pub fn in_background(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.0.tasks.spawn(work);
    }

    /// Drives a run in the background, on a workbench of its own if it has one.
    pub(super) fn drive_on(&self, handle: RunHandle, own: Option<Workbench>) {
        let (runs, id, rests) = (self.clone(), handle.id().clone(), CancellationToken::new());
        self.driven().insert(id.clone(), rests.clone());
        let driving = async move {
            let rested = Box::pin(handle.drive()).await;
            if let Some(own) = own {
                own.close().await;
            }
            if let Ok(rested) = &rested {
                runs.note_figures(&id, &rested.run).await;
            }
            runs.driven().remove(&id);
            match rested {
                // Inputs that arrived while the run was coming to rest are handled at once.
                Ok(rested) if !rested.was_stopped && !rested.run.is_over() => {
                    if runs.journal().inbox(&id).is_ok_and(|inbox| !inbox.is_empty())
                        && let Err(error) = runs.wake(&id, ReopenReason::ToGoOn).await
                    {
                        warn!(run = %id, %error, "an input waits: the run could not be resumed");
                    }
                }
                Ok(_) => {}
                Err(error) => warn!(run = %id, %error, "a run stopped"),
            }
            rests.cancel();
        };
        self.0.tasks.spawn_on(driving, self.0.thread.handle());
    }

    /// Continues a run for which its home has handed something over, unless it is driven. Returns whether nothing is left to
    /// do about that.
    pub async fn continue_run(&self, id: &RunId, handed: &HandedEffect) -> Result<bool, Fault> {
        self.wake(id, ReopenReason::ToGoOn).await?;
        let (journal, id) = (self.journal().clone(), id.clone());
        let records = blocking(move || Ok(journal.load(&id)?)).await?;
        let is_read = records.len() as u64 >= handed.records;
        let run = Run::fold(records);
        let is_open = |(at, _): &(EffectAddress, u32)| run.open().contains_key(at);
        Ok(is_read && !handed.effect.as_ref().is_some_and(is_open))
    }

    /// Resumes a run, unless a process is driving it.
    async fn wake(&self, id: &RunId, waking: ReopenReason) -> Result<(), Fault> {
        let _turn = self.opening().lock().await;
        if self.drives(id) || self.is_stopping() || self.is_of_another_worker(id)? {
            return Ok(());
        }
        let run = self.load(id).await?;
        if matches!(waking, ReopenReason::ToGoOn) && !run.is_over() {
            Box::pin(self.check_rights(&run)).await?;
        }
        let own = self.bench_to_wake(id, &run)?;
        let bench = own.as_ref().unwrap_or(&self.0.bench);
        let opened = match waking {
            ReopenReason::ToGoOn => Box::pin(bench.resume(id, Vec::new())).await,
            ReopenReason::ToStop => bench.reopen(id).await,
        };
        match opened {
            Ok(ResumeOutcome::Here(handle)) => {
                self.drive_on(*handle, own);
                Ok(())
            }
            // The process that drives it reads its inbox.
            Ok(ResumeOutcome::Elsewhere { .. }) => Ok(()),
            Err(fault) => Err(Fault { message: format!("run {id} cannot continue here: {}", fault.message), ..fault }),
        }
    }

    /// Whether another worker has the run, whose journal this is too or has a copy here. It hears of what is sent to the run.
    fn is_of_another_worker(&self, id: &RunId) -> Result<bool, Fault> {
        let Some(home) = &self.0.bench.callbacks.home else { return Ok(false) };
        Ok(home_of(self.journal(), id)?.is_some_and(|place| !home.has(&place)))
    }

    /// The workbench that a run needs for itself: one whose plan is not approved is held to reading, and one that a person
    /// started with stricter approvals keeps them.
    fn bench_to_wake(&self, id: &RunId, run: &Run) -> Result<Option<Workbench>, Fault> {
        let is_stricter = OrderFace::ordered(run.goal())
            && run.settings().approvals > self.0.bench.settings.effective.approvals.value;
        if run.is_over() || !(run.awaits_first_approval() || is_stricter) {
            return Ok(None);
        }
        let mut bench = self.bench_for(run, Flags::default())?;
        if self.approves_plan(id, run.plan_approval()) {
            bench.allow_changes();
        }
        Ok(Some(bench))
    }

    /// Gives a person's response to a question. Refused if another response came first.
    pub(super) async fn give(&self, response: &PersonResponse<'_>) -> Result<(), Fault> {
        let overtaken =
            |stands: &str| Fault::usage(format!("{} was already {stands}; this response is ignored", response.at));
        if let Some((stands, is_same)) = response.send(time_format::now()).await? {
            return if is_same { Ok(()) } else { Err(overtaken(&stands)) };
        }
        self.until_taken(response.id, response.input).await?;
        match response.status()? {
            ResponseStatus::Counts | ResponseStatus::Waits => Ok(()),
            ResponseStatus::Overtaken(stands) => Err(overtaken(&stands)),
            ResponseStatus::Unwanted => {
                Err(Fault::usage(format!("the run is no longer waiting for an answer to {}", response.at)))
            }
        }
    }

    /// Sends an input to a run. It is written to disk first; then its effect is awaited for a short time.
    pub(super) async fn tell(&self, id: &RunId, input: Input) -> Result<(), Fault> {
        let key = unguessable(16).map_err(Fault::failed)?;
        self.journal().send(id, &key, &input, time_format::now()).await?;
        self.until_taken(id, &input).await
    }

    /// Waits for a short time until an input is no longer in the inbox.
    pub(super) async fn until_taken(&self, id: &RunId, input: &Input) -> Result<(), Fault> {
        let stops = matches!(input, Input::Pause | Input::Cancel { step: None, .. });
        self.wake(id, if stops { ReopenReason::ToStop } else { ReopenReason::ToGoOn }).await?;
        let home = home_of(self.journal(), id)?;
        let mut changes = self.journal().changes();
        let patience = if home.is_some() { HOME_PATIENCE } else { PATIENCE };
        let deadline = tokio::time::Instant::now() + patience;
        while self.journal().inbox(id)?.iter().any(|waiting| waiting.input == *input) {
            if tokio::time::Instant::now() < deadline {
                let _ = tokio::time::timeout(LOOK, changes.next()).await;
                continue;
            }
            return match home {
                // Whoever keeps runs elsewhere wants them to survive this machine.
                Some(place) => {
                    Err(Fault::failed(format!("{place} does not answer, so this has not been accepted yet"))
                        .hint("it is kept on this machine and passed on later: look then whether it has arrived"))
                }
                None => Ok(()),
            };
        }
        Ok(())
    }

    /// Waits until the run cannot continue without a person, or has stopped. The future may be dropped.
    pub async fn until_rest(&self, id: &RunId) -> Result<(), Fault> {
        loop {
            let here = self.driven().get(id).cloned();
            if let Some(rests) = here {
                if self.asks_a_person(id).await {
                    return Ok(());
                }
                tokio::select! {
                    () = rests.cancelled() => {}
                    // An MCP server that the run calls may ask a question during the call.
                    _ = tokio::time::timeout(LOOK, self.journal().changed()) => {}
                }
                continue;
            }
            let head = self.journal().head(id)?;
            if !head.is_owned() {
                return Ok(());
            }
            let _ = tokio::time::timeout(LOOK, self.journal().changed()).await;
        }
    }

    /// Whether a run that is driven here waits only for a person.
    async fn asks_a_person(&self, id: &RunId) -> bool {
        let waits = self.journal().head(id).is_ok_and(|head| head.status == Status::Waiting);
        waits && self.load(id).await.is_ok_and(|run| !updraft_engine::waiting_for(&run).is_empty())
    }

    /// Resumes the runs of the previous process: those that clients started and that were interrupted, and those whose
    /// questions have been answered since. From now on runs continue that other processes answer.
    pub(super) async fn recover(&self) -> Result<usize, Fault> {
        self.in_background(self.clone().attend_mail(self.journal().changes()));
        let list = |status| self.journal().list(&RunFilter { status: Some(status), ..RunFilter::default() });
        let mut left = list(Status::Running)?;
        left.retain(updraft_journal::RunSummary::was_cut_off);
        for run in list(Status::Waiting)? {
            if !run.is_owned() && self.journal().inbox(&run.id).is_ok_and(|inbox| !inbox.is_empty()) {
                left.push(run);
            }
        }
        left.retain(|run| run.workspace == self.0.workspace);
        let mut count = 0;
        for run in left {
            match self.go_on(&run.id).await {
                Ok(is_ours) => count += usize::from(is_ours),
                Err(fault) => warn!(run = %run.id, why = fault.in_one_line(), "a run was left as it is"),
            }
        }
        Ok(count)
    }

    /// Resumes a run if it belongs to the service: clients and schedules began it. Returns whether it does.
    pub(super) async fn go_on(&self, id: &RunId) -> Result<bool, Fault> {
        let is_ours = self.load(id).await.is_ok_and(|run| {
            [ENTRY_POINT, SCHEDULE].contains(&run.goal().door.as_str()) || OrderFace::resumes(run.goal())
        });
        if is_ours {
            self.wake(id, ReopenReason::ToGoOn).await?;
        }
        Ok(is_ours)
    }

    /// Opens a run that rests so that it reads that it is to stop. That is possible for any run.
    pub(super) async fn stop_resting(&self, id: &RunId) -> Result<(), Fault> {
        self.wake(id, ReopenReason::ToStop).await
    }

    /// Waits until the runs have stopped, which they do when the engine is stopped. Unfinished runs are resumed by the
    /// next process.
    pub(super) async fn finish(&self) {
        self.0.closing.cancel();
        self.0.tasks.close();
        self.0.tasks.wait().await;
        self.0.bench.close().await;
        self.journal().clone().close().await;
    }
}
