//! The engine: starts runs, opens them again, delivers inputs to them, and stops cleanly.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use updraft_journal::{Batch, Blob, Journal, Lease, RunHeader};
use updraft_run::{
    ContentHash, Effect, EffectAddress, ForkChange, Input, Record, RecoveryFinding, RecoveryOutcome, Roster, Run,
    RunId, Step, Timestamp, TraceParent,
};

use crate::Error;
use crate::clock::RunClock;
use crate::context::{Snapshot, WorkspaceContext};
use crate::drive::{DriveResult, MailSender, OpenedRun, QueuedInput, RunDriver, attach_home, check_home, log};
use crate::home::{HomeAttachment, RunHome};
use crate::marks::MarkStore;
use crate::perform::EffectPerformer;
use crate::prompt_texts::{PromptKit, RosterTexts};
use crate::start::{Background, NewRun, PreparedRun};
use crate::trace_context;
use crate::watcher::{NoWatcher, RunWatcher};

/// The shortest time between two checks for inputs from other processes: short for a person, but no burden for a busy
/// run.
const INBOX_INTERVAL: Duration = Duration::from_millis(100);

/// How many kits are kept before unused ones are removed. If tools change often, each change makes a new one.
const MOST_KITS: usize = 64;

/// Drives runs. Cheap to clone.
#[derive(Clone)]
pub struct Engine(Arc<EngineInner>);

pub(crate) struct EngineInner {
    pub(crate) journal: Journal,
    pub(crate) performer: Arc<dyn EffectPerformer>,
    pub(crate) watch: Arc<dyn RunWatcher>,
    pub(crate) stop: CancellationToken,
    clock: fn() -> Timestamp,
    steady: Option<fn() -> Duration>,
    marks: Option<MarkStore>,
    traces: bool,
    pub(crate) home: Option<Arc<dyn RunHome>>,
    /// The runs that are being driven, and their senders.
    driven: Mutex<BTreeMap<RunId, MailSender>>,
    /// The kits in use, by the hashes of their texts and of their agents: runs with the same texts and agents share one.
    kits: Mutex<BTreeMap<(ContentHash, ContentHash), Arc<PromptKit>>>,
    inbox_tasks: Mutex<JoinSet<()>>,
}

/// Options of an engine besides its journal and performer.
pub struct EngineOptions {
    /// Receives what happens in the runs.
    pub watch: Arc<dyn RunWatcher>,
    /// Cancelled when the process is to stop.
    pub stop: CancellationToken,
    /// The wall clock.
    pub clock: fn() -> Timestamp,
    /// A monotonic clock that measures how long runs work. If `None`, the wall clock is used.
    pub steady: Option<fn() -> Duration>,
    /// Where it is recorded which files contain text from outside. If `None`, each run knows only its own files.
    pub marks: Option<MarkStore>,
    /// Whether requests to models and MCP servers name their place in the run's trace.
    pub traces: bool,
    /// Where runs are kept and decided about, if that is not here.
    pub home: Option<Arc<dyn RunHome>>,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            watch: Arc::new(NoWatcher),
            stop: CancellationToken::new(),
            clock: system_clock,
            steady: Some(crate::clock::steady),
            marks: None,
            traces: false,
            home: None,
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the engine's one clock; `EngineOptions::clock` replaces it in tests")]
fn system_clock() -> Timestamp {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    Timestamp(now.map_or(0, |since| since.as_millis() as i64))
}

impl Engine {
    /// An engine with this journal and this performer.
    pub fn new(journal: Journal, performer: Arc<dyn EffectPerformer>, options: EngineOptions) -> Self {
        Self(Arc::new(EngineInner {
            journal,
            performer,
            watch: options.watch,
            stop: options.stop,
            clock: options.clock,
            steady: options.steady,
            marks: options.marks,
            traces: options.traces,
            home: options.home,
            driven: Mutex::default(),
            kits: Mutex::default(),
            inbox_tasks: Mutex::default(),
        }))
    }

    /// The journal.
    pub fn journal(&self) -> &Journal {
        &self.0.journal
    }

    /// Starts a run. When this returns, the goal is on disk.
    pub async fn start(&self, id: RunId, new: NewRun<'_>) -> Result<RunHandle, Error> {
        self.start_with(id, new, Background::default()).await
    }

    /// Starts a run whose agents are told more than the goal and the workspace.
    pub async fn start_with(&self, id: RunId, new: NewRun<'_>, background: Background) -> Result<RunHandle, Error> {
        // Taken before the tools are gathered, so that later changes are noticed.
        let heard = self.0.performer.snapshot().map(|snapshot| snapshot.version);
        let PreparedRun { start, words, context, context_blob, pictures, kit } = new.prepare(&self.0, background)?;
        let clock = self.0.run_clock();
        let now = clock.now();
        let head = RunHeader {
            workspace: start.settings.workspace.clone(),
            model: start.settings.model.clone(),
            ..RunHeader::new(id.clone(), start.goal.text.clone(), now)
        };
        let mut run = Run::default();
        let record = run.advance(Input::Start(Box::new(start)), now);
        let blobs = words.into_iter().chain([context_blob.clone()]).chain(pictures).collect();
        let watched = record.clone();
        // A run that keeps every result of another is over at once.
        let batch = Batch { blobs, status: Some(run.recorded_status()), ..Batch::of(vec![record]) };
        let lease = self.0.journal.create(head, batch).await?;
        log(&id, &watched, &run);
        self.0.watch.record(&id, 1, &watched, &run);
        let context = Snapshot { hash: context_blob.hash(), context };
        let home = self.attach(&id, &mut run, &lease).await?;
        let mut handle =
            self.handle(OpenedRun { id, run, lease, kit, context, is_stale: false, queued: Vec::new(), home });
        (handle.drive.briefing.tools_version, handle.drive.clock) = (heard, clock);
        Ok(handle)
    }

    /// Opens a run again to continue it after a crash, a pause or an answer. Fails with `Owned` if another process is
    /// working on it.
    pub async fn open(&self, id: &RunId) -> Result<RunHandle, Error> {
        let lease = self.0.journal.acquire(id).await?;
        let mut run = self.load(id)?;
        let home = self.attach(id, &mut run, &lease).await?;
        let found = self.recover_begun_calls(&run).await;
        let mut queued: Vec<QueuedInput> = Vec::new();
        if !run.is_over() {
            // First: a model is told of it together with the results of the calls that are recovered.
            queued.extend(self.ended_in_background(id, &run));
            queued.push(Input::Recovered { found }.into());
        }
        self.reopen(id.clone(), run, lease, queued, home)
    }

    /// The background commands that ended with the process that ran them, by step.
    fn ended_in_background(&self, id: &RunId, run: &Run) -> Option<QueuedInput> {
        let ended = |step: &Step| {
            let running = self.0.performer.running(id.as_str(), step.spec.id.as_str());
            let gone = step.background.iter().filter(|name| !running.contains(name)).cloned();
            (step.spec.id.clone(), gone.collect::<Vec<_>>())
        };
        let ended: BTreeMap<_, _> = run.steps().map(ended).filter(|(_, gone)| !gone.is_empty()).collect();
        (!ended.is_empty()).then(|| Input::BackgroundEnded { ended }.into())
    }

    /// Takes a run over from its home, if that is elsewhere.
    async fn attach(&self, id: &RunId, run: &mut Run, lease: &Lease) -> Result<Option<HomeAttachment>, Error> {
        match &self.0.home {
            Some(home) if !run.is_over() => {
                let journal = &self.0.journal;
                Box::pin(attach_home(home.as_ref(), journal, lease, id, run)).await.map(Some)
            }
            Some(_) => Ok(None),
            None => check_home(&self.0.journal, id, run).map(|()| None),
        }
    }

    /// Loads a run by folding its journal.
    pub fn load(&self, id: &RunId) -> Result<Run, Error> {
        let mut run = Run::default();
        self.0.journal.read(id, 0, &mut |_, record: Record| {
            run.record(&record);
            ControlFlow::Continue(())
        })?;
        Ok(run)
    }

    pub(crate) fn performer(&self) -> &Arc<dyn EffectPerformer> {
        &self.0.performer
    }

    /// What an agent of a run was told about its workspace.
    pub(crate) fn context_of(&self, id: &RunId, hash: ContentHash) -> Result<Arc<WorkspaceContext>, Error> {
        Ok(self.0.context_at(id, hash)?.context)
    }

    /// The texts that a run's agents had.
    pub(crate) fn texts_of(&self, id: &RunId, run: &Run) -> Result<Option<RosterTexts>, Error> {
        self.0.roster_texts(id, run)
    }

    /// Makes a run that begins with the first `at` events of another. When this returns, the fork and its changes are
    /// on disk. If `at` is inside one decision, the cut is moved to the end of that decision, because half a decision
    /// is not a valid state.
    pub async fn fork(&self, from: &RunId, at: u64, to: RunId, change: ForkChange) -> Result<RunHandle, Error> {
        let (at, _) = self.end_of_decision(from, at)?;
        let source = self.0.journal.head(from)?;
        let head = RunHeader {
            workspace: source.workspace,
            model: change.settings.as_ref().map_or(source.model, |settings| settings.model.clone()),
            parent: Some(from.clone()),
            ..RunHeader::new(to.clone(), change.goal.clone().unwrap_or(source.goal), self.0.now())
        };
        let lease = self.0.journal.fork(from, at, head).await?;
        let mut run = self.load(&to)?;
        let first = run.events() + 1;
        let mut records =
            vec![run.advance(Input::Fork { from: from.clone(), at, change: Box::new(change) }, self.0.now())];
        if self.load(from)?.is_imported() {
            // A copy of an imported run that nobody has adopted is not adopted either.
            records.push(run.advance(Input::Import, self.0.now()));
        }
        // If everything was copied, answers that still wait in the inbox of the original apply to the copy too.
        let has_all = at >= source.events && !run.is_imported();
        for waiting in self.0.journal.inbox(from)?.into_iter().filter(|_| has_all) {
            if waiting.input.question().is_some_and(|question| run.open().contains_key(question)) {
                records.push(run.advance(waiting.input, self.0.now()));
            }
        }
        let batch = Batch { status: Some(run.recorded_status()), ..Batch::of(records.clone()) };
        self.0.journal.append(&lease, batch).await?;
        let mut at = first;
        for record in &records {
            log(&to, record, &run);
            self.0.watch.record(&to, at, record, &run);
            at += record.events.len() as u64;
        }
        let home = self.attach(&to, &mut run, &lease).await?;
        self.reopen(to, run, lease, Vec::new(), home)
    }

    /// The run as it would be in a fork after its first `at` events.
    pub fn as_it_stood(&self, id: &RunId, at: u64) -> Result<Run, Error> {
        Ok(self.end_of_decision(id, at)?.1)
    }

    /// Where a cut after `at` events really goes: after the last event of the same decision. Also returns the run at
    /// that point.
    fn end_of_decision(&self, id: &RunId, at: u64) -> Result<(u64, Run), Error> {
        if at == 0 {
            return Err(Error::Goal("a fork must contain the goal: cut after event 1 or a later one".into()));
        }
        let (mut run, mut end) = (Run::default(), at);
        self.0.journal.read(id, 0, &mut |first, record: Record| {
            if first + record.events.len() as u64 <= at {
                run.record(&record);
                return ControlFlow::Continue(());
            }
            run.pass(&record);
            let (mut rest, mut strides) = (record.events.as_slice(), 0);
            end = first - 1;
            while end < at && !rest.is_empty() {
                let decided = if strides == 0 { run.decide(&record.input) } else { run.settle() };
                // If the current rules decide nothing here, the remaining events count as one decision.
                let stride = if decided.is_empty() && strides > 0 { rest.len() } else { decided.len().min(rest.len()) };
                let (made, left) = rest.split_at(stride);
                for event in made {
                    run.apply(event);
                }
                (rest, strides, end) = (left, strides + 1, end + stride as u64);
            }
            ControlFlow::Break(())
        })?;
        Ok((end.max(at), run))
    }

    fn reopen(
        &self,
        id: RunId,
        run: Run,
        lease: Lease,
        mut queued: Vec<QueuedInput>,
        home: Option<HomeAttachment>,
    ) -> Result<RunHandle, Error> {
        let waiting = self.0.journal.inbox(&id)?;
        queued.extend(waiting.into_iter().map(|pending| QueuedInput {
            row: Some(pending.id),
            sent: pending.at,
            ..QueuedInput::from(pending.input)
        }));
        let kit = self.0.kit_of(&id, &run)?;
        let context = match run.settings().context {
            Some(hash) => self.0.context_at(&id, hash)?,
            None => Snapshot { hash: ContentHash([0; 32]), context: Arc::default() },
        };
        Ok(self.handle(OpenedRun { id, run, lease, kit, context, is_stale: true, queued, home }))
    }

    /// What happened to calls that had begun and may not simply be repeated. A change of several files that was cut off
    /// halfway is completed, so this may write.
    async fn recover_begun_calls(&self, run: &Run) -> Vec<RecoveryFinding> {
        let mut found = Vec::new();
        for (id, open) in run.open() {
            let Some((_, facts)) = open.begun.as_ref().filter(|_| open.effect == Effect::Call) else { continue };
            if run.class_of(id).is_repeatable() {
                continue;
            }
            let became = match run.call_at(id) {
                Some(call) => self.0.performer.reconcile(&run.workspace_of(&id.step), &call, facts).await,
                None => RecoveryOutcome::CannotTell("the call is no longer known".into()),
            };
            found.push(RecoveryFinding { id: id.clone(), found: became });
        }
        found
    }

    fn handle(&self, opened: OpenedRun) -> RunHandle {
        let id = opened.id.clone();
        let (drive, send) = RunDriver::new(&self.0, opened);
        self.0.lock_driven().insert(id.clone(), send.clone());
        self.0.watch_inbox();
        RunHandle { id, send, drive }
    }
}

/// A run that is ready to be driven by this process.
pub struct RunHandle {
    id: RunId,
    send: MailSender,
    drive: RunDriver,
}

impl RunHandle {
    /// The run's id.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// The run in its current state.
    pub fn run(&self) -> &Run {
        &self.drive.run
    }

    /// How to send inputs while it is driven.
    pub fn sender(&self) -> RunSender {
        RunSender(self.send.clone())
    }

    /// Queues an input that is taken when the run is driven.
    pub fn send(&mut self, input: Input) {
        self.drive.inbox.queued.push(input.into());
    }

    /// Drives the run until it is over, waits only for people, is paused or exhausted, or the engine is stopped.
    pub async fn drive(self) -> Result<DriveResult, Error> {
        Box::pin(self.drive.drive_from_here()).await
    }
}

/// Sends inputs to a run that this process drives.
#[derive(Clone)]
pub struct RunSender(MailSender);

impl RunSender {
    /// Sends an input. Returns false if the run is no longer driven, or if too many inputs are waiting.
    pub fn send(&self, input: Input) -> bool {
        self.0.try_send(input.into()).is_ok()
    }
}

impl EngineInner {
    pub(crate) fn marks(&self) -> Option<&MarkStore> {
        self.marks.as_ref()
    }

    /// What the request of an effect carries, if traces are wanted.
    pub(crate) fn trace_parent(&self, run: &RunId, id: &EffectAddress) -> Option<TraceParent> {
        self.traces.then(|| trace_context::trace_parent(run, id))
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.clock)()
    }

    pub(crate) fn run_clock(&self) -> RunClock {
        RunClock::new(self.clock, self.steady)
    }

    fn lock_driven(&self) -> MutexGuard<'_, BTreeMap<RunId, MailSender>> {
        self.driven.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn forget(&self, id: &RunId) {
        self.lock_driven().remove(id);
    }

    /// The kit of a run, made from its current texts: those it began with, or those it was reloaded with.
    pub(crate) fn kit_of(&self, id: &RunId, run: &Run) -> Result<Arc<PromptKit>, Error> {
        let Some(hash) = run.roster().words else {
            return Ok(Arc::new(PromptKit::new(run.roster(), RosterTexts::default())));
        };
        self.kit(hash, run.roster(), || {
            Ok(PromptKit::new(run.roster(), self.roster_texts(id, run)?.unwrap_or_default()))
        })
    }

    /// The texts of a run's agents, prompts and tools; `None` for runs from before they were kept.
    pub(crate) fn roster_texts(&self, id: &RunId, run: &Run) -> Result<Option<RosterTexts>, Error> {
        let incomplete = |what: &str| Error::Incomplete { run: id.clone(), what: what.into() };
        let Some(hash) = run.roster().words else { return Ok(None) };
        let bytes =
            self.journal.blob(&hash)?.ok_or_else(|| incomplete("its agents and prompts are not in the journal"))?;
        let words = serde_json::from_slice(&bytes).map_err(|_| incomplete("its agents and prompts cannot be read"))?;
        Ok(Some(words))
    }

    /// The kit of this roster with these texts; made if it does not exist yet.
    pub(crate) fn kit(
        &self,
        words: ContentHash,
        roster: &Roster,
        make: impl FnOnce() -> Result<PromptKit, Error>,
    ) -> Result<Arc<PromptKit>, Error> {
        let key = (words, Blob::new(serde_json::to_vec(&roster.agents).unwrap_or_default()).hash());
        if let Some(kit) = self.kits.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(Arc::clone(kit));
        }
        let kit = Arc::new(make()?);
        let mut kits = self.kits.lock().unwrap_or_else(PoisonError::into_inner);
        if kits.len() >= MOST_KITS {
            kits.retain(|_, kit| Arc::strong_count(kit) > 1);
        }
        kits.insert(key, Arc::clone(&kit));
        Ok(kit)
    }

    pub(crate) fn context_at(&self, id: &RunId, hash: ContentHash) -> Result<Snapshot, Error> {
        let incomplete = || Error::Incomplete { run: id.clone(), what: "a context it began with is missing".into() };
        let bytes = self.journal.blob(&hash)?.ok_or_else(incomplete)?;
        let context = serde_json::from_slice(&bytes).map_err(|_| incomplete())?;
        Ok(Snapshot { hash, context: Arc::new(context) })
    }

    /// Delivers inputs from other processes to the runs driven here; one task for all of them.
    fn watch_inbox(self: &Arc<Self>) {
        let mut post = self.inbox_tasks.lock().unwrap_or_else(PoisonError::into_inner);
        if post.is_empty() {
            let inner = Arc::downgrade(self);
            let mut changes = self.journal.changes();
            post.spawn(async move {
                let mut delivered: BTreeMap<i64, RunId> = BTreeMap::new();
                loop {
                    changes.next().await;
                    let Some(inner) = inner.upgrade() else { return };
                    inner.deliver(&mut delivered);
                    drop(inner);
                    tokio::time::sleep(INBOX_INTERVAL).await;
                }
            });
        }
    }

    fn deliver(&self, delivered: &mut BTreeMap<i64, RunId>) {
        let runs: Vec<RunId> = self.lock_driven().keys().cloned().collect();
        // If the journal cannot be read now, it is read in the next round.
        let Ok(pending) = self.journal.pending_inputs(&runs) else { return };
        let driven = self.lock_driven();
        let mut still = BTreeMap::new();
        for waiting in pending {
            if !delivered.contains_key(&waiting.id)
                && let Some(send) = driven.get(&waiting.run)
                && send
                    .try_send(QueuedInput {
                        row: Some(waiting.id),
                        sent: waiting.at,
                        ..QueuedInput::from(waiting.input)
                    })
                    .is_err()
            {
                continue;
            }
            still.insert(waiting.id, waiting.run);
        }
        *delivered = still;
    }
}
