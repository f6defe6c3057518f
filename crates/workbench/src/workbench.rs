//! The workbench of one folder: what is written and trusted there, and the parts that its runs share.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Once, OnceLock};

use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;
use updraft_engine::{Agents, Engine, EngineOptions, NoWatcher, Prompts, RealPerformer, RunWatcher};
use updraft_journal::Journal;
use updraft_mcp::Servers;
use updraft_models::{ModelAccess, ModelChoice, choose};
use updraft_run::{Input, Level, Rules};
use updraft_tools::Dispatcher;

use crate::fault::Fault;
use crate::flags::Flags;
use crate::notice::{Notice, Tell};
use crate::places::AppFolders;
use crate::servers::{self, WantedTools};
use crate::settings::WorkspaceSettings;
use crate::{cast, confine, journal, reach, tools};

/// Who looks on while runs of a workbench are at work, and what stops them.
#[derive(Clone)]
pub struct Attendance {
    /// Told of everything that happens in runs.
    pub watch: Arc<dyn RunWatcher>,
    /// Stops runs when it is cancelled; they go on when they are resumed.
    pub stop: CancellationToken,
    /// Told what people should hear.
    pub tell: Tell,
}

impl Default for Attendance {
    /// Nobody looks on.
    fn default() -> Self {
        Self { watch: Arc::new(NoWatcher), stop: CancellationToken::new(), tell: Arc::new(|_| {}) }
    }
}

/// Everything that runs in one folder need. Opening one starts nothing: the journal, the agents, the model, the tools and
/// their servers are there once the first run wants them.
pub struct Workbench {
    /// Where things are on this machine.
    pub places: AppFolders,
    /// The folder, by its canonical path.
    pub folder: PathBuf,
    /// What was said for this once.
    pub flags: Flags,
    /// What is written, with the flags.
    pub settings: WorkspaceSettings,
    cast: OnceLock<(Agents, Prompts)>,
    pub(crate) access: ModelAccess,
    pub(crate) attendance: Attendance,
    pub(crate) purpose: Purpose,
    journal: OnceLock<Journal>,
    asked: OnceLock<String>,
    model: OnceCell<ModelChoice>,
    level: OnceCell<Level>,
    kit: OnceCell<Kit>,
    left_out_told: Once,
}

/// Whom the tools of a workbench are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Any run of the folder: they share them.
    ManyRuns,
    /// One run, which is held to what it was granted.
    OneRun {
        /// Rights are said now, which whoever resumes the run next shall keep.
        says_rights: bool,
    },
}

/// The tools of a workbench, the servers that have some of them, and the engine that uses them.
pub(crate) struct Kit {
    pub(crate) dispatcher: Dispatcher,
    pub(crate) servers: Servers,
    /// Those whose files name nothing that is not there, once they are needed.
    agents: OnceLock<Agents>,
    pub(crate) engine: Engine,
}

impl Workbench {
    /// Opens a workbench in a folder. Fails where settings cannot be used.
    pub fn open(places: &AppFolders, folder: &Path, flags: Flags, attendance: Attendance) -> Result<Self, Fault> {
        let settings = WorkspaceSettings::load(places, folder, &flags)?;
        Ok(Self::with(places, folder, flags, settings, attendance))
    }

    pub(crate) fn with(
        places: &AppFolders,
        folder: &Path,
        flags: Flags,
        settings: WorkspaceSettings,
        attendance: Attendance,
    ) -> Self {
        let access = reach::access(places, &settings, folder);
        Self {
            places: places.clone(),
            folder: folder.to_owned(),
            flags,
            settings,
            cast: OnceLock::new(),
            access,
            attendance,
            purpose: Purpose::ManyRuns,
            journal: OnceLock::new(),
            asked: OnceLock::new(),
            model: OnceCell::new(),
            level: OnceCell::new(),
            kit: OnceCell::new(),
            left_out_told: Once::new(),
        }
    }

    pub(crate) fn tell(&self, notice: Notice) {
        (self.attendance.tell)(notice);
    }

    /// The journal, made if it is not there.
    pub fn journal(&self) -> Result<&Journal, Fault> {
        if let Some(journal) = self.journal.get() {
            return Ok(journal);
        }
        let opened = journal::open(&self.places)?;
        Ok(self.journal.get_or_init(|| opened))
    }

    /// Takes a journal that is open already.
    pub(crate) fn use_journal(&mut self, journal: Journal) {
        self.journal = OnceLock::from(journal);
    }

    /// The agents and prompts that runs are started with, read when they are first needed: a run that is there has its own.
    pub(crate) fn cast(&self) -> Result<&(Agents, Prompts), Fault> {
        if let Some(cast) = self.cast.get() {
            return Ok(cast);
        }
        let loaded = cast::load(&self.places, &self.folder, &self.settings)?;
        Ok(self.cast.get_or_init(|| loaded))
    }

    /// The agents whose files name nothing that is not there.
    pub(crate) fn agents<'a>(&self, kit: &'a Kit) -> Result<&'a Agents, Fault> {
        let (all, _) = self.cast()?;
        Ok(kit.agents.get_or_init(|| {
            let mut agents = all.clone();
            cast::leave_out_mistaken(&self.places, &self.settings, &self.folder, &mut agents, &kit.dispatcher);
            agents
        }))
    }

    /// The model that runs are started with, chosen when it is first asked for: looking for model servers takes time.
    pub async fn model(&self) -> Result<&ModelChoice, Fault> {
        let choosing = || async { Ok(choose(self.asked_model()?, &self.access).await?) };
        self.model.get_or_try_init(choosing).await
    }

    /// The model as it was asked for, with the earlier run that it means found once.
    pub(crate) fn asked_model(&self) -> Result<&str, Fault> {
        if let Some(asked) = self.asked.get() {
            return Ok(asked);
        }
        let settled = reach::settled(&self.places, &reach::model_spec(&self.settings.meant.model.value))?;
        Ok(self.asked.get_or_init(|| settled))
    }

    /// The level that commands run at; refused where more is wanted than there is.
    pub async fn level(&self) -> Result<Level, Fault> {
        let finding = || async {
            let level = confine::level_of(&self.places, &self.settings).await?;
            if level == Level::None {
                self.tell(Notice::Unconfined);
            }
            Ok::<_, Fault>(level)
        };
        self.level.get_or_try_init(finding).await.copied()
    }

    /// The tools, the servers that are wanted, and the engine. Whoever asks first decides which servers those are.
    pub(crate) async fn kit(&self, wanted: WantedTools<'_>) -> Result<&Kit, Fault> {
        self.kit.get_or_try_init(|| Box::pin(self.make_kit(wanted))).await
    }

    async fn make_kit(&self, wanted: WantedTools<'_>) -> Result<Kit, Fault> {
        let (places, settings, folder) = (&self.places, &self.settings, &self.folder);
        self.journal()?;
        let (dispatcher, servers, remarks) =
            servers::dispatcher(places, settings, folder, wanted, &self.attendance.tell).await?;
        for remark in remarks {
            self.tell(Notice::Tools(remark));
        }
        let engine = self.engine_over(&dispatcher, self.attendance.stop.clone())?;
        Ok(Kit { engine, dispatcher, servers, agents: OnceLock::new() })
    }

    /// An engine with these tools, whose runs rest when `stop` is cancelled.
    pub(crate) fn engine_over(&self, dispatcher: &Dispatcher, stop: CancellationToken) -> Result<Engine, Fault> {
        let mut hands = RealPerformer::new(self.access.clone(), dispatcher.clone());
        if let Some(ModelChoice { model, spec, .. }) = self.model.get() {
            hands = hands.with_model(spec, model.clone());
        }
        let (watch, marks) = (Arc::clone(&self.attendance.watch), Some(tools::marks(&self.places)));
        let options = EngineOptions { watch, stop, marks, ..EngineOptions::default() };
        Ok(Engine::new(self.journal()?.clone(), Arc::new(hands), options))
    }

    /// The engine, with all tools there are.
    pub async fn engine(&self) -> Result<&Engine, Fault> {
        Ok(&self.kit(WantedTools::All).await?.engine)
    }

    /// The engine without servers' tools: to tell a run something after which none of its calls is made.
    pub async fn engine_without_servers(&self) -> Result<&Engine, Fault> {
        Ok(&self.kit(WantedTools::Of(&[])).await?.engine)
    }

    /// All tools there are, those of servers too.
    pub async fn dispatcher(&self) -> Result<&Dispatcher, Fault> {
        Ok(&self.kit(WantedTools::All).await?.dispatcher)
    }

    /// What a run is told that goes on under these settings: what is asked about or denied by now and was not when it
    /// began. Nothing in it loosens what the run began with.
    pub(crate) fn tighten(&self, kit: &Kit) -> Input {
        let mut meant = self.settings.meant.rules();
        tools::name_in_full(&kit.dispatcher, &kit.servers, &mut meant);
        let rules = Rules { allow: Vec::new(), ..meant.rules };
        Input::Tighten { rules, deny: meant.deny, distrusts: !self.settings.standing.is_trusted() }
    }

    /// Makes agents, level, tools and servers ready for many runs, finds out which model is meant, and tells of the agents that are left out.
    pub async fn prepare(&self) -> Result<(), Fault> {
        self.cast()?;
        self.asked_model()?;
        self.level().await?;
        let kit = self.kit(WantedTools::All).await?;
        self.tell_left_out(self.agents(kit)?);
        Ok(())
    }

    pub(crate) fn tell_left_out(&self, agents: &Agents) {
        self.left_out_told.call_once(|| {
            for (agent, why) in agents.left_out() {
                self.tell(Notice::LeftOut { agent: agent.to_owned(), why: why.to_string() });
            }
        });
    }

    /// Ends the servers. The journal stays open: others may use it.
    pub async fn close(&self) {
        if let Some(kit) = self.kit.get() {
            kit.servers.close().await;
        }
    }
}
