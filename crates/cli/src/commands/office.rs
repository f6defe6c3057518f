//! What `mcp serve` and `serve` have in common: an office over a workspace, with the user's models and agents.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;
use updraft_engine::{Agents, Engine, Hands, NewRun, Prompts};
use updraft_journal::Journal;
use updraft_mcp::Servers;
use updraft_mcp::server::{Desk, Handler};
use updraft_models::{Access, Chosen, choose};
use updraft_run::{Approvals, Goal, Input, Run, RunId, Timestamp};
use updraft_serve::{Begin, Beginning, Office, Parts, Token};
use updraft_tools::{Dispatcher, Workspace};

use super::tighten;
use crate::args::{Confine, Served};
use crate::fault::Fault;
use crate::places::Places;
use crate::settings::{Consent, Settings, Written, said};
use crate::{confine, log, moment, out, reach, servers, steer, wire};

/// An office that is open, and what must be closed after it.
pub(super) struct Opened {
    pub(super) office: Office,
    pub(super) handler: Handler,
    pub(super) token: Token,
    pub(super) token_file: PathBuf,
    /// Bytes that the bridge reads at once.
    pub(super) bridge_read: u64,
    journal: Journal,
    servers: Servers,
    stop: CancellationToken,
}

impl Opened {
    /// Stops what runs, which goes on next time, and closes the journal.
    pub(super) async fn close(self) {
        self.stop.cancel();
        self.office.close().await;
        drop(self.handler);
        self.servers.close().await;
        self.journal.close().await;
    }
}

/// Where the token is kept.
pub(super) fn token_file(places: &Places) -> PathBuf {
    places.state.join("serve.token")
}

/// Opens an office in a workspace.
pub(super) async fn open(places: &Places, served: &Served, stop: &CancellationToken) -> Result<Opened, Fault> {
    let root = wire::workspace(served.workspace.as_deref())?;
    let settings = Settings::load(places, &root, flags(served)?)?;
    log::begin(places, &settings.meant.log.value);
    let token_file = token_file(places);
    let token = token(&token_file)?;
    let (mut agents, prompts) = wire::cast(places, &root, &settings)?;
    let access = reach::access(places, &settings, &root);
    let journal = wire::journal(places)?;
    let level = confine::level_of(places, &settings).await?;
    if level == "none" {
        out::note(confine::UNCONFINED);
    }
    let (dispatcher, servers, remarks) = servers::dispatcher(places, &settings, &root, servers::Wanted::All).await?;
    for remark in remarks {
        out::note(&out::harmless(&remark));
    }
    wire::leave_out_mistaken(places, &settings, &root, &mut agents, &dispatcher);
    for (name, why) in agents.left_out() {
        out::note(&out::harmless(&format!("left out: agent `{name}`: {why}")));
    }
    let (session_limits, bridge_read) = (settings.meant.serving.sessions(), settings.meant.serving.bridge_read.value);
    let rules = settings.meant.rules();
    let spec = reach::settled(places, &wire::model_spec(&settings.meant.model.value))?;
    let starter = Starter {
        workspace: root.display().to_string(),
        confine: served.confine.clone(),
        level,
        settings,
        agents,
        prompts,
        access: access.clone(),
        dispatcher: dispatcher.clone(),
        servers: servers.clone(),
        spec,
        model: OnceCell::new(),
    };
    let hands = Hands::new(access, dispatcher.clone());
    let (kept, own) = (journal.clone(), places.clone());
    let parts = Parts {
        engine: Box::new(move |watch, stop| wire::engine(&own, kept, hands, watch, stop)),
        begin: Arc::new(starter),
        dispatcher,
        workspace: Workspace::open(&root)?,
        settings: rules,
        sessions: places.state.join("sessions"),
        session_limits,
        stop: stop.clone(),
    };
    let (office, left) = Office::open(parts).await.map_err(Fault::failed)?;
    if left > 0 {
        out::note(&format!("going on with {left} runs that were cut off"));
    }
    let desk = Desk::new(office.clone(), env!("CARGO_PKG_VERSION"));
    let handler = Handler::new(Arc::new(desk), &token.key("request state")).map_err(Fault::failed)?;
    Ok(Opened { office, handler, token, token_file, journal, servers, bridge_read, stop: stop.clone() })
}

/// The token, made at the first start.
fn token(file: &std::path::Path) -> Result<Token, Fault> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).map_err(|error| Fault::file("make", folder, &error))?;
    }
    Token::keep(file).map_err(|error| Fault::file("use", file, &error))
}

/// The flags that are settings.
fn flags(served: &Served) -> Result<Written, Fault> {
    Ok(Written {
        model: said(served.model.as_deref().map(wire::model_spec)),
        approvals: said(served.permission.mode().map(Consent::from)),
        budget: steer::budget_of(&served.spending).into(),
        sandbox: confine::flags(&served.confine)?,
        ..Written::default()
    })
}

/// Starts runs with the agents, models and settings of a workspace.
struct Starter {
    workspace: String,
    /// The flags on commands' rights: whoever resumes a run keeps them.
    confine: Confine,
    /// The level that commands are confined at.
    level: String,
    settings: Settings,
    agents: Agents,
    prompts: Prompts,
    access: Access,
    dispatcher: Dispatcher,
    servers: Servers,
    spec: String,
    /// Chosen when the first run wants one: looking for model servers takes time that a client would wait for.
    model: OnceCell<String>,
}

impl Starter {
    async fn start(&self, engine: &Engine, id: RunId, goal: Goal) -> Result<updraft_engine::Handle, Fault> {
        let choosing = || async {
            let Chosen { spec, .. } = choose(&self.spec, &self.access).await?;
            Ok::<_, Fault>(spec)
        };
        let name = self.model.get_or_try_init(choosing).await?;
        let mut rules = self.settings.meant.rules();
        rules.model.clone_from(name);
        rules.workspace.clone_from(&self.workspace);
        rules.sandbox.clone_from(&self.level);
        rules.grants = Some(confine::grants(&self.settings, &self.confine));
        rules.workspace_trusted = self.settings.standing.is_trusted();
        wire::name_in_full(&self.dispatcher, &self.servers, &mut rules);
        rules.strange_tools = self.dispatcher.registry().strange();
        let mut agents = self.agents.clone();
        agents.reword(|rules| wire::rules_in_full(&self.dispatcher, &self.servers, rules));
        let tools = |wanted: &[String]| self.dispatcher.registry().specs_for(wanted);
        let only_reads = |name: &str| wire::only_reads(&self.dispatcher, name);
        let models = |wanted: &str| reach::agents_model(wanted, &self.spec, name, &self.access);
        let new = NewRun {
            goal,
            settings: rules,
            budget: self.settings.meant.budget(),
            plan: None,
            agents: &agents,
            prompts: &self.prompts,
            tools: &tools,
            only_reads: &only_reads,
            models: &models,
            pictures: Vec::new(),
        };
        Ok(engine.start(id, new).await?)
    }
}

impl Begin for Starter {
    fn begin<'a>(&'a self, engine: &'a Engine, id: RunId, goal: Goal) -> Beginning<'a> {
        Box::pin(async move { self.start(engine, id, goal).await.map_err(|fault| fault.in_one_line()) })
    }

    /// Tools are the same for all runs here, so one that began with less does not go on with them.
    fn go_on(&self, run: &Run) -> Result<Vec<Input>, String> {
        let began = run.settings();
        if run.is_over() {
            return Ok(Vec::new());
        }
        if confine::is_lower(&self.level, &began.sandbox) {
            let (was, now) = (&began.sandbox, &self.level);
            return Err(format!(
                "it began at the sandbox level {was}, and here commands run at {now}; `updraft resume` asks"
            ));
        }
        let reads_only = |approvals: Approvals| approvals == Approvals::ReadOnly;
        if reads_only(began.approvals) && !reads_only(self.settings.meant.rules().approvals) {
            return Err("it only reads, and here tools may write; `updraft resume` goes on with it".to_owned());
        }
        let mut held = self.settings.meant.clone();
        let more = began.grants.as_ref().map(|began| confine::hold_to(began, &mut held.sandbox, None));
        if let Some(first) = more.iter().flatten().next() {
            return Err(format!("{first}; `updraft resume` goes on with what it began with"));
        }
        let has_changed = began.sandbox != self.level;
        let confined = has_changed.then(|| Input::Confine { level: self.level.clone(), flags: None });
        let tightened = tighten::by(&self.settings, &self.dispatcher, &self.servers);
        Ok(confined.into_iter().chain([tightened]).collect())
    }

    fn now(&self) -> Timestamp {
        moment::now()
    }
}
