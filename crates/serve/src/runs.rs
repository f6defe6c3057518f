//! Drives the runs that come in by this process, and goes on with those of the process before.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, warn};
use updraft_engine::{Engine, Handle, PersonResponse, ResponseStatus, Watch};
use updraft_journal::{Filter, Journal, Status};
use updraft_mcp::server::{Changed, Progress, Refusal};
use updraft_run::{Address, Event, Goal, Input, Record, Reply, Run, RunId};
use updraft_workbench::journal::new_id;
use updraft_workbench::places::unguessable;
use updraft_workbench::{Fault, NewGoal, Resumed, Settings, Workbench, moment};

use crate::files::changed;

/// The door of runs that other programs ask for.
pub(crate) const DOOR: &str = "mcp";
/// How often we look at a run that another process drives: its end writes nothing.
const LOOK: Duration = Duration::from_millis(500);
/// How long the effect of what was said to a run is waited for.
const PATIENCE: Duration = Duration::from_secs(2);
/// Words on progress and changes kept for a listener that is slow; older ones are lost.
const KEPT: usize = 256;

/// Tells what happens in the runs of this process. Handed to the engine as its watcher.
#[derive(Clone)]
pub(crate) struct Heard {
    progress: broadcast::Sender<(RunId, Progress)>,
    /// Of files that runs and clients change.
    pub(crate) changed: broadcast::Sender<Changed>,
}

impl Heard {
    pub(crate) fn new() -> Self {
        Self { progress: broadcast::channel(KEPT).0, changed: broadcast::channel(KEPT).0 }
    }

    pub(crate) fn listen(&self) -> broadcast::Receiver<(RunId, Progress)> {
        self.progress.subscribe()
    }
}

/// The next of what is told. Whoever was too slow for some goes on with the oldest that is kept.
pub(crate) async fn next_of<T: Clone>(heard: &mut broadcast::Receiver<T>) -> T {
    loop {
        match heard.recv().await {
            Ok(told) => return told,
            Err(RecvError::Lagged(lost)) => debug!(lost, "a listener is slow"),
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}

/// All that has been told by now.
pub(crate) fn rest_of<T: Clone>(heard: &mut broadcast::Receiver<T>) -> Vec<T> {
    let mut rest = Vec::new();
    loop {
        match heard.try_recv() {
            Ok(told) => rest.push(told),
            Err(TryRecvError::Lagged(_)) => {}
            Err(TryRecvError::Empty | TryRecvError::Closed) => return rest,
        }
    }
}

impl Watch for Heard {
    fn is_watching(&self) -> bool {
        self.progress.receiver_count() + self.changed.receiver_count() > 0
    }

    fn record(&self, id: &RunId, _: u64, record: &Record, run: &Run) {
        for event in &record.events {
            if let Event::Replied { reply: Reply::Output(output), .. } = event {
                for change in changed(&output.changes) {
                    let _ = self.changed.send(change);
                }
            }
        }
        if self.progress.receiver_count() == 0 {
            return;
        }
        let done = run.steps().filter(|step| step.has_ended()).count();
        for message in record.events.iter().filter_map(|event| in_words(event, run)) {
            let _ = self.progress.send((id.clone(), Progress { done, steps: run.steps().count(), message }));
        }
    }

    fn delta(&self, _: &RunId, _: &Address, _: updraft_engine::Delta<'_>) {}
}

fn in_words(event: &Event, run: &Run) -> Option<String> {
    let name = |id: &updraft_run::StepId| {
        let step = run.step(id);
        step.map_or_else(|| id.to_string(), |step| format!("{} ({})", step.spec.id, step.spec.agent))
    };
    match event {
        Event::Planned { .. } => Some(format!("planned: {} steps", run.steps().count())),
        Event::Wanted { id, effect: updraft_run::Effect::Ask } if id.turn == 0 => {
            Some(format!("{} begins", name(&id.step)))
        }
        Event::Wanted { id, effect: updraft_run::Effect::Call } => {
            let call = run.call_at(id)?;
            Some(format!("{} calls {}", name(&id.step), call.name))
        }
        Event::StepDone { step, .. } => Some(format!("{} is done", name(step))),
        Event::StepFailed { step, why } => Some(format!("{} failed: {}", name(step), why.message)),
        Event::StepSkipped { step, .. } => Some(format!("{} is skipped", name(step))),
        _ => None,
    }
}

/// What a run is opened for that nobody is at work on. Stopping is always possible.
#[derive(Clone, Copy)]
enum Waking {
    ToGoOn,
    ToStop,
}

/// The runs of this process. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Runs(Arc<Inner>);

struct Inner {
    bench: Workbench,
    engine: Engine,
    workspace: String,
    stop: CancellationToken,
    tasks: TaskTracker,
    /// Those driven here; the token is cancelled when one rests.
    driven: Mutex<BTreeMap<RunId, CancellationToken>>,
    /// One at a time opens runs, so that nobody finds a run owned by ourselves.
    opening: tokio::sync::Mutex<()>,
}

impl Runs {
    pub(crate) fn new(bench: Workbench, engine: Engine, stop: CancellationToken) -> Self {
        let workspace = bench.folder.display().to_string();
        let (tasks, driven, opening) = (TaskTracker::new(), Mutex::default(), tokio::sync::Mutex::default());
        Self(Arc::new(Inner { bench, engine, workspace, stop, tasks, driven, opening }))
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.0.bench.settings
    }

    pub(crate) fn journal(&self) -> &Journal {
        self.0.engine.journal()
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.0.stop.is_cancelled()
    }

    fn driven(&self) -> MutexGuard<'_, BTreeMap<RunId, CancellationToken>> {
        self.0.driven.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A run of this workspace, by its whole id. Others are not shown to whoever comes in here.
    pub(crate) fn find(&self, id: &str) -> Result<RunId, Refusal> {
        let unknown = || Refusal(format!("there is no run `{id}` in this workspace"));
        let id = RunId::parse(id).map_err(|_| unknown())?;
        let head = self.journal().head(&id).map_err(|_| unknown())?;
        if head.workspace == self.0.workspace { Ok(id) } else { Err(unknown()) }
    }

    /// The newest runs of this workspace.
    pub(crate) fn newest(&self, most: usize) -> Result<Vec<RunId>, Refusal> {
        let workspace = Some(self.0.workspace.clone());
        let filter = Filter { workspace, limit: Some(most), ..Filter::default() };
        let runs = self.journal().list(&filter).map_err(|error| Refusal(error.to_string()))?;
        Ok(runs.into_iter().map(|run| run.id).collect())
    }

    /// Starts a run; when it is done, the goal is safe on disk and the run goes on by itself.
    pub(crate) async fn start(&self, goal: Goal) -> Result<RunId, Refusal> {
        if self.is_stopping() {
            return Err("the server is stopping; ask again when it is back".into());
        }
        let id = new_id().map_err(refused)?;
        let goal = Goal { door: DOOR.to_owned(), ..goal };
        let new = NewGoal { goal, ..NewGoal::default() };
        let handle = Box::pin(self.0.bench.start(id.clone(), new)).await.map_err(refused)?;
        self.drive(handle);
        Ok(id)
    }

    /// Does something on the side, until it is done or everything stops.
    pub(crate) fn aside(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.0.tasks.spawn(work);
    }

    fn drive(&self, handle: Handle) {
        let (runs, id, rests) = (self.clone(), handle.id().clone(), CancellationToken::new());
        self.driven().insert(id.clone(), rests.clone());
        self.0.tasks.spawn(async move {
            let rested = Box::pin(handle.drive()).await;
            runs.driven().remove(&id);
            match rested {
                // What was said to it while it came to rest is taken up at once.
                Ok(rested) if !rested.was_stopped && !rested.run.is_over() => {
                    if runs.journal().inbox(&id).is_ok_and(|inbox| !inbox.is_empty()) {
                        let _ = runs.wake(&id, Waking::ToGoOn).await;
                    }
                }
                Ok(_) => {}
                Err(error) => warn!(run = %id, %error, "a run stopped"),
            }
            rests.cancel();
        });
    }

    /// Goes on with a run, unless someone is at work on it.
    async fn wake(&self, id: &RunId, waking: Waking) -> Result<(), Refusal> {
        let _turn = self.0.opening.lock().await;
        if self.driven().contains_key(id) || self.is_stopping() {
            return Ok(());
        }
        let opened = match waking {
            Waking::ToGoOn => self.0.bench.resume(id, Vec::new()).await,
            Waking::ToStop => self.0.bench.reopen(id).await,
        };
        match opened {
            Ok(Resumed::Here(handle)) => {
                self.drive(*handle);
                Ok(())
            }
            // Its owner reads what is left for it.
            Ok(Resumed::Elsewhere { .. }) => Ok(()),
            Err(fault) => Err(Refusal(format!("run {id} does not go on here: {}", fault.in_one_line()))),
        }
    }

    /// Gives a person's word on a question to a run. Refused when another was first.
    pub(crate) async fn give(&self, response: &PersonResponse<'_>) -> Result<(), Refusal> {
        let failed = |error: updraft_engine::Error| Refusal(error.to_string());
        let overtaken = |stands: &str| Refusal(format!("{} was already {stands}; this does not count", response.at));
        if let Some((stands, is_same)) = response.send(moment::now()).await.map_err(failed)? {
            return if is_same { Ok(()) } else { Err(overtaken(&stands)) };
        }
        self.until_taken(response.id, response.input).await?;
        match response.status().map_err(failed)? {
            ResponseStatus::Counts | ResponseStatus::Waits => Ok(()),
            ResponseStatus::Overtaken(stands) => Err(overtaken(&stands)),
            ResponseStatus::Unwanted => {
                Err(Refusal(format!("the run no longer waits for an answer to {}", response.at)))
            }
        }
    }

    /// Says something to a run. It is on disk before it is taken, and its effect is waited for a moment.
    pub(crate) async fn tell(&self, id: &RunId, input: Input) -> Result<(), Refusal> {
        let key = unguessable(16)?;
        let sent = self.journal().send(id, &key, &input, moment::now()).await;
        sent.map_err(|error| Refusal(error.to_string()))?;
        self.until_taken(id, &input).await
    }

    async fn until_taken(&self, id: &RunId, input: &Input) -> Result<(), Refusal> {
        let failed = |error: updraft_journal::Error| Refusal(error.to_string());
        let stops = matches!(input, Input::Pause | Input::Cancel { step: None, .. });
        self.wake(id, if stops { Waking::ToStop } else { Waking::ToGoOn }).await?;
        let mut changes = self.journal().changes();
        let deadline = tokio::time::Instant::now() + PATIENCE;
        while self.journal().inbox(id).map_err(failed)?.iter().any(|waiting| waiting.input == *input)
            && tokio::time::Instant::now() < deadline
        {
            let _ = tokio::time::timeout(LOOK, changes.next()).await;
        }
        Ok(())
    }

    /// Waits until nothing more happens in a run without a person. May be dropped.
    pub(crate) async fn until_rest(&self, id: &RunId) -> Result<(), Refusal> {
        loop {
            let here = self.driven().get(id).cloned();
            if let Some(rests) = here {
                if self.asks_a_person(id) {
                    return Ok(());
                }
                tokio::select! {
                    () = rests.cancelled() => {}
                    // Whoever the run calls may have a question while the call is under way.
                    _ = tokio::time::timeout(LOOK, self.journal().changed()) => {}
                }
                continue;
            }
            let head = self.journal().head(id).map_err(|error| error.to_string())?;
            if !head.is_owned() {
                return Ok(());
            }
            let _ = tokio::time::timeout(LOOK, self.journal().changed()).await;
        }
    }

    /// Whether a run that is driven here waits for nothing but a person.
    fn asks_a_person(&self, id: &RunId) -> bool {
        let waits = self.journal().head(id).is_ok_and(|head| head.status == Status::Waiting);
        waits && self.0.engine.load(id).is_ok_and(|run| !updraft_engine::waiting_for(&run).is_empty())
    }

    /// Goes on with the runs of the process before: those that came in by our door and were cut off, and those that
    /// have been answered since.
    pub(crate) async fn recover(&self) -> Result<usize, Refusal> {
        let list = |status| self.journal().list(&Filter { status: Some(status), ..Filter::default() });
        let failed = |error: updraft_journal::Error| Refusal(error.to_string());
        let mut left = list(Status::Running).map_err(failed)?;
        left.retain(updraft_journal::Summary::was_cut_off);
        for run in list(Status::Waiting).map_err(failed)? {
            if !run.is_owned() && self.journal().inbox(&run.id).is_ok_and(|inbox| !inbox.is_empty()) {
                left.push(run);
            }
        }
        left.retain(|run| run.workspace == self.0.workspace);
        let mut count = 0;
        for run in left {
            let is_ours = self.0.engine.load(&run.id).is_ok_and(|run| run.goal().door == DOOR);
            if !is_ours {
                continue;
            }
            match self.wake(&run.id, Waking::ToGoOn).await {
                Ok(()) => count += 1,
                Err(Refusal(why)) => warn!(run = %run.id, why, "a run was left as it is"),
            }
        }
        Ok(count)
    }

    /// Waits until the runs have stopped, which they do when the engine is told to. What is left goes on next time.
    pub(crate) async fn finish(&self) {
        self.0.tasks.close();
        self.0.tasks.wait().await;
        self.0.bench.close().await;
        self.journal().clone().close().await;
    }
}

/// Why the workbench did not do it.
pub(crate) fn refused(fault: Fault) -> Refusal {
    Refusal(fault.in_one_line())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_listener_that_was_too_slow_goes_on_with_what_is_kept() {
        let (send, mut heard) = broadcast::channel(2);
        for n in 0..5 {
            send.send(n).unwrap();
        }
        assert_eq!((next_of(&mut heard).await, next_of(&mut heard).await), (3, 4));
        for n in 5..9 {
            send.send(n).unwrap();
        }
        assert_eq!(rest_of(&mut heard), [7, 8]);
        send.send(9).unwrap();
        assert_eq!(next_of(&mut heard).await, 9);
    }
}
