//! Puts the parts together: journal, models, tools, agents, engine. Each only when a command needs it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use updraft_engine::{Agents, Engine, Hands, Prompts, Trust, Watch};
use updraft_journal::{Filter, Journal};
use updraft_run::RunId;
use updraft_tools::{Commands, Dispatcher, Limits, Registry};

use tokio_util::sync::CancellationToken;

use crate::commands::sandbox;
use crate::fault::Fault;
use crate::places::{self, Places};
use crate::settings::Settings;

/// The journal, made if it is not there.
pub(crate) fn journal(places: &Places) -> Result<Journal, Fault> {
    Ok(Journal::open(&places.journal(), options())?)
}

/// The journal, if there is one.
pub(crate) fn journal_if_there(places: &Places) -> Result<Option<Journal>, Fault> {
    Ok(Journal::open_existing(&places.journal(), options())?)
}

/// The journal, which must be there: some run in it is meant.
pub(crate) fn journal_with_runs(places: &Places) -> Result<Journal, Fault> {
    journal_if_there(places)?.ok_or_else(|| {
        Fault::usage(format!("there are no runs yet in `{}`", places.journal().display()))
            .hint("`updraft run \"GOAL\"` starts one")
    })
}

fn options() -> updraft_journal::Options {
    updraft_journal::Options { version: env!("CARGO_PKG_VERSION").to_owned(), ..updraft_journal::Options::default() }
}

/// The run a person means: its id, a unique beginning of it, or `last`.
pub(crate) fn find_run(journal: &Journal, name: &str) -> Result<RunId, Fault> {
    if name == "last" {
        let newest = journal.list(&Filter { limit: Some(1), ..Filter::default() })?;
        return newest
            .into_iter()
            .next()
            .map(|run| run.id)
            .ok_or_else(|| Fault::usage("there are no runs yet").hint("`updraft run \"GOAL\"` starts one"));
    }
    Ok(journal.find(name)?)
}

/// A new run's id: nobody can guess it.
pub(crate) fn new_id() -> Result<RunId, Fault> {
    let mut bits = [0; 10];
    getrandom::fill(&mut bits).map_err(|error| Fault::failed(format!("the system gives no randomness: {error}")))?;
    Ok(RunId::from_bits(bits))
}

/// The workspace as its canonical path.
pub(crate) fn workspace(given: Option<&Path>) -> Result<PathBuf, Fault> {
    let given = given.unwrap_or(Path::new("."));
    let shown = given.display();
    let real = given.canonicalize().map_err(|error| {
        Fault::usage(format!("the workspace `{shown}` cannot be used: {error}"))
            .hint("name a folder that exists with --workspace")
    })?;
    if !real.is_dir() {
        return Err(Fault::usage(format!("the workspace `{shown}` is not a folder")));
    }
    if real.parent().is_none() {
        return Err(Fault::usage("the workspace `/` would be the whole machine")
            .hint("go into the folder of your project, or name it with --workspace"));
    }
    Ok(real)
}

/// A model's name as it will be understood from any folder.
pub(crate) fn model_spec(spec: &str) -> String {
    match spec.trim().strip_prefix("scripted/") {
        Some(file) => match Path::new(file).canonicalize() {
            Ok(real) => format!("scripted/{}", real.display()),
            Err(_) => spec.to_owned(),
        },
        None => spec.trim().to_owned(),
    }
}

/// The agents and prompts: compiled in, the user's, and the workspace's as far as it is trusted.
pub(crate) fn cast(places: &Places, workspace: &Path, settings: &Settings) -> Result<(Agents, Prompts), Fault> {
    let own = workspace.join(".updraft");
    let mut agents = Agents::compiled_in()?;
    let mut prompts = Prompts::compiled_in();
    agents.override_from(&places.config.join("agents"), Trust::Full)?;
    prompts.override_from(&places.config.join("prompts"))?;
    if settings.standing.is_trusted() {
        agents.override_from(&own.join("agents"), Trust::Full)?;
        prompts.override_from(&own.join("prompts"))?;
    } else {
        agents.override_from(&own.join("agents"), Trust::NarrowOnly)?;
    }
    Ok((agents, prompts))
}

/// A dispatcher of the tools that are always there.
pub(crate) fn dispatcher() -> Dispatcher {
    Dispatcher::new(registry(), Limits::default())
}

/// The tools that are always there.
pub(crate) fn registry() -> Registry {
    let limits = Limits::default();
    let commands = Commands {
        launcher: sandbox::LAUNCHER.into(),
        level: None,
        // Its workspace is put in with each call.
        policy: sandbox::policy(Path::new("/nonexistent")),
        environment: places::all(),
    };
    Registry::standard(&limits).with_commands(commands)
}

/// Whether a tool that is always there only reads. What is not there is not offered anyway.
pub(crate) fn only_reads(name: &str) -> bool {
    static CHANGE: OnceLock<BTreeSet<String>> = OnceLock::new();
    let change = CHANGE.get_or_init(|| {
        let dispatcher = dispatcher();
        let tools = dispatcher.registry().iter().filter(|tool| tool.traits().class != updraft_run::Class::Pure);
        tools.map(|tool| tool.spec().name.clone()).filter(|name| name != updraft_run::ASK_USER).collect()
    });
    !change.contains(name)
}

/// An engine over a journal.
pub(crate) fn engine(journal: Journal, hands: Hands, watch: Arc<dyn Watch>, stop: CancellationToken) -> Engine {
    Engine::new(journal, Arc::new(hands), updraft_engine::Options { watch, stop, ..updraft_engine::Options::default() })
}

/// Runs what must wait for something. Threads that still wait for a terminal are left behind, not waited for.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Fault::failed(format!("could not set up a runtime: {error}")))?;
    let done = runtime.block_on(work);
    runtime.shutdown_background();
    done
}
