//! The workbench of one folder: its settings, its trust, and the parts that its runs share.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use updraft_engine::{Agents, Engine, EngineOptions, NoWatcher, Prompts, RealPerformer, RunHome, RunWatcher};
use updraft_journal::Journal;
use updraft_mcp::Servers;
use updraft_models::{ModelAccess, ModelChoice, SharedLimits, choose};
use updraft_run::{AgentRole, ApprovalMode, Input, Level, Rules};
use updraft_tools::Dispatcher;

use crate::fault::Fault;
use crate::flags::Flags;
use crate::folders::AppFolders;
use crate::hooks::HookWatcher;
use crate::notice::{Notice, Tell};
use crate::observe::journal_follower::{FollowedRuns, JournalFollower, RunOutputs};
use crate::observe::log_files::RunLogFiles;
use crate::observe::trace_exporter::TraceExporter;
use crate::observe::trace_target::TraceTarget;
use crate::servers::{self, WantedTools};
use crate::settings::WorkspaceSettings;
use crate::{agents, confinement, folders, hooks, journal, model_access, time_format, tools};

/// Callbacks and the stop signal for the runs of a workbench.
#[derive(Clone)]
pub struct RunCallbacks {
    /// Receives everything that happens in runs.
    pub watch: Arc<dyn RunWatcher>,
    /// Stops the runs when it is cancelled; they can be resumed later.
    pub stop: CancellationToken,
    /// Receives messages for the user.
    pub tell: Tell,
    /// Where runs are kept and decided about, if that is not the journal here.
    pub home: Option<Arc<dyn RunHome>>,
    /// Limits of models that other machines keep as well.
    pub limits: Option<Arc<dyn SharedLimits>>,
}

impl Default for RunCallbacks {
    /// Ignores all events and messages.
    fn default() -> Self {
        let (watch, stop) = (Arc::new(NoWatcher), CancellationToken::new());
        Self { watch, stop, tell: Arc::new(|_| {}), home: None, limits: None }
    }
}

/// Everything that runs in one folder need. Opening a workbench starts nothing: the journal, the agents, the model, the
/// tools and their servers are created when the first run needs them.
pub struct Workbench {
    /// The folders that Updraft uses on this machine.
    pub folders: AppFolders,
    /// The folder, by its canonical path.
    pub folder: PathBuf,
    /// Settings given for this call only, such as on the command line.
    pub flags: Flags,
    /// The settings of the folder, with the flags applied.
    pub settings: WorkspaceSettings,
    agents_and_prompts: OnceLock<(Agents, Prompts)>,
    pub(crate) access: ModelAccess,
    pub(crate) callbacks: RunCallbacks,
    pub(crate) purpose: Purpose,
    journal: OnceLock<Journal>,
    requested_model: OnceLock<String>,
    model: OnceCell<ModelChoice>,
    level: OnceCell<Level>,
    equipment: OnceCell<RunEquipment>,
    left_out_told: Once,
    /// Hooks that were called and have not ended.
    hooks_under_way: TaskTracker,
    /// Follows runs for traces and logs, if they are wanted.
    follower: Mutex<Option<Arc<JournalFollower>>>,
    /// The mode of the settings, while the tools are held to reading because no plan is approved.
    held: Option<ApprovalMode>,
}

/// Which runs the tools of a workbench are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// All runs of the folder share them.
    ManyRuns,
    /// One run only, limited to what it was granted.
    OneRun {
        /// Whether rights were given now, which are recorded so that later resumes keep them.
        grants_rights: bool,
    },
}

/// The tools of a workbench, the MCP servers that provide some of them, and the engine that uses them.
pub(crate) struct RunEquipment {
    pub(crate) dispatcher: Dispatcher,
    pub(crate) servers: Servers,
    /// The agents whose files name only tools and servers that exist; computed when first needed.
    agents: OnceLock<Agents>,
    pub(crate) engine: Engine,
}

impl Workbench {
    /// Opens a workbench in a folder. Fails if the settings are invalid.
    pub fn open(folders: &AppFolders, folder: &Path, flags: Flags, callbacks: RunCallbacks) -> Result<Self, Fault> {
        let settings = WorkspaceSettings::load(folders, folder, &flags)?;
        Ok(Self::with(folders, folder, flags, settings, callbacks))
    }

    pub(crate) fn with(
        folders: &AppFolders,
        folder: &Path,
        flags: Flags,
        settings: WorkspaceSettings,
        callbacks: RunCallbacks,
    ) -> Self {
        let access = model_access::access(folders, &settings, folder);
        if let Some(shared) = &callbacks.limits {
            access.limits.share(Arc::clone(shared));
        }
        Self {
            folders: folders.clone(),
            folder: folder.to_owned(),
            flags,
            settings,
            agents_and_prompts: OnceLock::new(),
            access,
            callbacks,
            purpose: Purpose::ManyRuns,
            journal: OnceLock::new(),
            requested_model: OnceLock::new(),
            model: OnceCell::new(),
            level: OnceCell::new(),
            equipment: OnceCell::new(),
            left_out_told: Once::new(),
            hooks_under_way: TaskTracker::new(),
            follower: Mutex::default(),
            held: None,
        }
    }

    /// Holds the tools to reading until a plan is approved: commands see a workspace that they cannot change, and servers
    /// a folder of their own. To be called before the first run. Runs record the mode of the settings all the same.
    pub fn hold_to_reading(&mut self) {
        let approvals = &mut self.settings.effective.approvals.value;
        self.held.get_or_insert(*approvals);
        *approvals = ApprovalMode::ReadOnly;
    }

    /// Ends that, because the plan is approved now.
    pub fn allow_changes(&mut self) {
        if let Some(approvals) = self.held.take() {
            self.settings.effective.approvals.value = approvals;
        }
    }

    /// Who decides about calls, by the settings.
    pub(crate) fn approvals(&self) -> ApprovalMode {
        self.held.unwrap_or(self.settings.effective.approvals.value)
    }

    pub(crate) fn tell(&self, notice: Notice) {
        (self.callbacks.tell)(notice);
    }

    /// The journal, created if it does not exist.
    pub fn journal(&self) -> Result<&Journal, Fault> {
        if let Some(journal) = self.journal.get() {
            return Ok(journal);
        }
        let opened = journal::open(&self.folders)?;
        Ok(self.journal.get_or_init(|| opened))
    }

    /// Uses a journal that is already open.
    pub(crate) fn use_journal(&mut self, journal: Journal) {
        self.journal = OnceLock::from(journal);
    }

    /// The agents and prompts for new runs, read when first needed. (A stored run has its own.)
    pub(crate) fn agents_and_prompts(&self) -> Result<&(Agents, Prompts), Fault> {
        if let Some(known) = self.agents_and_prompts.get() {
            return Ok(known);
        }
        let loaded = agents::load(&self.folders, &self.folder, &self.settings)?;
        Ok(self.agents_and_prompts.get_or_init(|| loaded))
    }

    /// The name of the agent that has a role in new runs, if one has it.
    pub fn agent_in_role(&self, role: AgentRole) -> Result<Option<&str>, Fault> {
        let (agents, _) = self.agents_and_prompts()?;
        Ok(agents.in_role(role).map(|agent| agent.name.as_str()))
    }

    /// The agents whose files name only tools and servers that exist.
    pub(crate) fn agents<'a>(&self, equipment: &'a RunEquipment) -> Result<&'a Agents, Fault> {
        let (all, _) = self.agents_and_prompts()?;
        Ok(equipment.agents.get_or_init(|| {
            let mut agents = all.clone();
            agents::leave_out_mistaken(&self.folders, &self.settings, &self.folder, &mut agents, &equipment.dispatcher);
            agents
        }))
    }

    /// The model for new runs, chosen when first needed, because looking for model servers takes time.
    pub async fn model(&self) -> Result<&ModelChoice, Fault> {
        let choosing = || async { Ok(choose(self.asked_model()?, &self.access).await?) };
        self.model.get_or_try_init(choosing).await
    }

    /// The model as the user asked for it. If it names an earlier run, that run is looked up once.
    pub(crate) fn asked_model(&self) -> Result<&str, Fault> {
        if let Some(asked) = self.requested_model.get() {
            return Ok(asked);
        }
        let resolved =
            model_access::resolved(&self.folders, &model_access::model_spec(&self.settings.effective.model.value))?;
        Ok(self.requested_model.get_or_init(|| resolved))
    }

    /// The sandbox level that commands run at. Fails if the settings ask for a higher level than this machine supports.
    pub async fn level(&self) -> Result<Level, Fault> {
        let finding = || async {
            let level = confinement::level_of(&self.folders, &self.settings).await?;
            if level == Level::None {
                self.tell(Notice::Unconfined);
            }
            Ok::<_, Fault>(level)
        };
        self.level.get_or_try_init(finding).await.copied()
    }

    /// The tools, the wanted servers, and the engine. The first call decides which servers those are.
    pub(crate) async fn equipment(&self, wanted: WantedTools<'_>) -> Result<&RunEquipment, Fault> {
        self.equipment.get_or_try_init(|| Box::pin(self.make_equipment(wanted))).await
    }

    async fn make_equipment(&self, wanted: WantedTools<'_>) -> Result<RunEquipment, Fault> {
        let (folders, settings, folder) = (&self.folders, &self.settings, &self.folder);
        self.journal()?;
        let servers::ServerTools { dispatcher, servers, remarks } =
            servers::dispatcher(folders, settings, folder, wanted, &self.callbacks.tell).await?;
        for remark in remarks {
            self.tell(Notice::Tools(remark));
        }
        let engine = self.engine_over(&dispatcher, self.callbacks.stop.clone())?;
        Ok(RunEquipment { engine, dispatcher, servers, agents: OnceLock::new() })
    }

    /// An engine with these tools, whose runs stop when `stop` is cancelled.
    pub(crate) fn engine_over(&self, dispatcher: &Dispatcher, stop: CancellationToken) -> Result<Engine, Fault> {
        let mut performer = RealPerformer::new(self.access.clone(), dispatcher.clone());
        if let Some(ModelChoice { model, spec, .. }) = self.model.get() {
            performer = performer.with_model(spec, model.clone());
        }
        let (mut watch, marks) = (self.watcher(), Some(tools::marks(&self.folders)));
        let follower = self.follower()?;
        if let Some(follower) = &follower {
            watch = Arc::new(FollowedRuns { inner: watch, follower: Arc::clone(follower) });
        }
        let options = EngineOptions {
            watch,
            stop,
            marks,
            traces: follower.is_some_and(|follower| follower.sends_traces()),
            home: self.callbacks.home.clone(),
            ..EngineOptions::default()
        };
        Ok(Engine::new(self.journal()?.clone(), Arc::new(performer), options))
    }

    /// Who follows runs for traces and logs, if they are wanted. A setting that cannot be used is said, and nothing is
    /// sent.
    fn follower(&self) -> Result<Option<Arc<JournalFollower>>, Fault> {
        let mut known = self.follower.lock().unwrap_or_else(PoisonError::into_inner);
        if known.is_some() {
            return Ok(known.clone());
        }
        let effective = &self.settings.effective;
        let target = TraceTarget::of(&effective.telemetry, &folders::set).unwrap_or_else(|why| {
            self.tell(Notice::Telemetry(format!("traces are not sent: {why}")));
            None
        });
        let logs = effective.run_logs.options();
        if target.is_none() && logs.is_none() {
            return Ok(None);
        }
        let journal = self.journal()?.clone();
        let begun = SystemTime::UNIX_EPOCH + Duration::from_millis(time_format::now().0.try_into().unwrap_or_default());
        let logs = logs.map(|options| RunLogFiles::new(&self.folders, options, journal.clone(), begun));
        let start = || {
            let traces = target.map(|target| TraceExporter::new(target, &self.access.http)).transpose()?;
            JournalFollower::start(journal, RunOutputs { traces, logs })
        };
        let started = start().map_err(|error| Fault::failed(format!("runs cannot be followed for traces: {error}")))?;
        *known = Some(Arc::new(started));
        Ok(known.clone())
    }

    /// Who is told what happens in runs: the hooks, and whoever opened this.
    fn watcher(&self) -> Arc<dyn RunWatcher> {
        let inner = Arc::clone(&self.callbacks.watch);
        let confinement = confinement::confinement(&self.folders, &self.settings);
        let hooks = hooks::all(&self.settings, &confinement);
        if !HookWatcher::is_needed(&hooks) {
            return inner;
        }
        let (workspace, tell) = (self.folder.clone(), Arc::clone(&self.callbacks.tell));
        let (under_way, last) = (self.hooks_under_way.clone(), Mutex::default());
        Arc::new(HookWatcher { inner, hooks, workspace, under_way, last, tell })
    }

    /// The engine. The tools are made once, by whichever of these three functions is called first; this one makes all.
    pub async fn engine(&self) -> Result<&Engine, Fault> {
        Ok(&self.equipment(WantedTools::All).await?.engine)
    }

    /// The same, for an input after which the run makes no more calls. If it makes the tools, then without servers.
    pub async fn engine_without_servers(&self) -> Result<&Engine, Fault> {
        Ok(&self.equipment(WantedTools::Of(&[])).await?.engine)
    }

    /// The tools. If it makes them, then with those of all MCP servers.
    pub async fn dispatcher(&self) -> Result<&Dispatcher, Fault> {
        Ok(&self.equipment(WantedTools::All).await?.dispatcher)
    }

    /// The MCP servers, once the tools were made.
    pub(crate) fn known_servers(&self) -> Option<&Servers> {
        self.equipment.get().map(|equipment| &equipment.servers)
    }

    /// The input that applies today's stricter settings to a resumed run: rules that ask or deny and were added since
    /// it began. It never loosens anything.
    pub(crate) fn tighten(&self, equipment: &RunEquipment) -> Input {
        let mut meant = self.settings.effective.run_settings();
        tools::name_in_full(&equipment.dispatcher, &equipment.servers, &mut meant);
        let rules = Rules { allow: Vec::new(), ..meant.rules };
        let distrusts = !self.settings.is_still_trusted(&self.folders, &self.folder);
        Input::Tighten { rules, deny: meant.deny, distrusts }
    }

    /// Prepares agents, sandbox level, tools and servers for many runs, resolves the model's name, and reports the
    /// agents that are left out.
    pub async fn prepare(&self) -> Result<(), Fault> {
        self.agents_and_prompts()?;
        self.asked_model()?;
        self.level().await?;
        let equipment = self.equipment(WantedTools::All).await?;
        self.tell_left_out(self.agents(equipment)?);
        Ok(())
    }

    pub(crate) fn tell_left_out(&self, agents: &Agents) {
        self.left_out_told.call_once(|| {
            for (agent, why) in agents.left_out() {
                self.tell(Notice::LeftOut { agent: agent.to_owned(), why: why.to_string() });
            }
        });
    }

    /// Serves the next run: with other callbacks, and with agents and prompts as they are now. Tools and servers stay.
    pub fn set_callbacks(&mut self, callbacks: RunCallbacks) -> Result<(), Fault> {
        self.callbacks = callbacks;
        self.agents_and_prompts = OnceLock::new();
        if let Some(equipment) = self.equipment.take() {
            let engine = self.engine_over(&equipment.dispatcher, self.callbacks.stop.clone())?;
            self.equipment = OnceCell::from(RunEquipment { engine, agents: OnceLock::new(), ..equipment });
        }
        Ok(())
    }

    /// Waits for hooks, and stops the MCP servers and what else tools hold. The journal stays open, since others may use it.
    pub async fn close(&self) {
        let follower = self.follower.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(follower) = follower {
            follower.finish().await;
        }
        self.hooks_under_way.close();
        self.hooks_under_way.wait().await;
        if let Some(equipment) = self.equipment.get() {
            equipment.servers.close().await;
            equipment.dispatcher.release(None).await;
        }
    }

    /// The same, and closes the journal if it was opened.
    pub async fn close_with_journal(&self) {
        self.close().await;
        if let Some(journal) = self.journal.get() {
            journal.clone().close().await;
        }
    }
}
