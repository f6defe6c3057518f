//! Puts the parts together: journal, models, tools, agents, engine. Each only when a command needs it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use updraft_engine::{Agents, Engine, Hands, Marks, Prompts, Trust, Watch};
use updraft_journal::{Filter, Journal};
use updraft_mcp::Servers;
use updraft_run::{Class, Rule, RunId};
use updraft_tools::worker::Python;
use updraft_tools::{Dispatcher, Listing, Look, Registry};

use tokio_util::sync::CancellationToken;

use crate::confine;
use crate::dropins;
use crate::fault::Fault;
use crate::places::Places;
use crate::servers;
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

/// The run a person means, or the newest of the current folder where they name none.
pub(crate) fn find_run_here(journal: &Journal, name: Option<&str>) -> Result<RunId, Fault> {
    match name {
        Some(name) => find_run(journal, name),
        None => newest_in(journal, &workspace(None)?),
    }
}

/// The newest run that worked in a folder.
pub(crate) fn newest_in(journal: &Journal, folder: &Path) -> Result<RunId, Fault> {
    let runs = journal.list(&Filter::default())?;
    let newest = runs.into_iter().find(|run| folder.as_os_str() == run.workspace.as_str());
    newest.map(|run| run.id).ok_or_else(|| {
        Fault::usage(format!("no run has worked in `{}`", folder.display()))
            .hint("name the run; `updraft runs` lists them")
    })
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

/// The agents as a run would have them, without asking any server: a name that could be of one is let pass.
pub(crate) fn usable(places: &Places, workspace: &Path, settings: &Settings) -> Result<Agents, Fault> {
    let (mut agents, _) = cast(places, workspace, settings)?;
    let dispatcher = block_on(dispatcher(places, workspace, settings))?;
    leave_out_mistaken(places, settings, workspace, &mut agents, &dispatcher);
    Ok(agents)
}

/// Leaves out the agents whose files name tools or servers that are not there.
pub(crate) fn leave_out_mistaken(
    places: &Places,
    settings: &Settings,
    workspace: &Path,
    agents: &mut Agents,
    dispatcher: &Dispatcher,
) {
    // Those that come with the program name nothing else; only others are worth a look at the servers' files.
    if agents.iter().any(|agent| agent.file.is_some()) {
        let configured = servers::configured(places, settings, workspace);
        servers::leave_out_mistaken(agents, &dispatcher.registry(), &configured);
    }
}

/// The tools for a workspace: those that are always there, and those dropped into folders.
pub(crate) async fn dispatcher(places: &Places, workspace: &Path, settings: &Settings) -> Result<Dispatcher, Fault> {
    Ok(tools(places, workspace, settings, Look::Kept).await?.0)
}

/// The same, and what is to be said about dropped-in files.
pub(crate) async fn tools(
    places: &Places,
    workspace: &Path,
    settings: &Settings,
    look: Look,
) -> Result<(Dispatcher, Listing), Fault> {
    let (registry, listing) = registry(places, workspace, settings, look).await?;
    let witness = confine::witness(places, settings);
    Ok((Dispatcher::new(registry, settings.meant.tools.limits()).with_witness(witness), listing))
}

/// The same, to add others to.
pub(crate) async fn registry(
    places: &Places,
    workspace: &Path,
    settings: &Settings,
    look: Look,
) -> Result<(Registry, Listing), Fault> {
    let confinement = confine::confinement(places, settings);
    let always = Registry::standard(&settings.meant.tools.limits()).with_commands(confinement.clone());
    let mut registry = always.with_web(settings.meant.web.web()?).with_python(confinement.clone(), python(settings));
    let listing = dropins::of(places, workspace, settings, confinement).register(&mut registry, look).await;
    Ok((registry, listing))
}

/// The Python that runs agents' code.
pub(crate) fn python(settings: &Settings) -> Python {
    let program = &settings.meant.python_program.value;
    let program = (!program.is_empty()).then(|| PathBuf::from(program));
    Python { program, packages: settings.meant.python_packages.value, ..Python::default() }
}

/// Whether a tool only reads. What is not there is not offered anyway.
pub(crate) fn only_reads(dispatcher: &Dispatcher, name: &str) -> bool {
    let is_pure = dispatcher.registry().get(name).is_none_or(|tool| tool.traits().class == Class::Pure);
    is_pure || name == updraft_run::ASK_USER
}

/// Rules that name a tool by a shorter name are meant for the tool. Those that hold something back are meant for one that
/// a server adds during the run, too.
pub(crate) fn name_in_full(dispatcher: &Dispatcher, servers: &Servers, rules: &mut updraft_run::Settings) {
    let registry = dispatcher.registry();
    let denied: Vec<String> = rules.deny.iter().flat_map(|name| names_later(&registry, servers, name)).collect();
    rules.deny.extend(denied);
    rules.deny.iter_mut().for_each(|name| in_full(&registry, name));
    rules_in_full(dispatcher, servers, &mut rules.rules);
}

/// The names that a server's tool may get during the run which a rule knows by a shorter one. A tool of ours that really has
/// the name goes before.
fn names_later(registry: &Registry, servers: &Servers, name: &str) -> Vec<String> {
    if registry.get(name).is_none() { servers.names_for(name) } else { Vec::new() }
}

fn in_full(registry: &Registry, name: &mut String) {
    if let Some(full) = registry.full_name(name).map(str::to_owned) {
        *name = full;
    }
}

/// The same of one list of rules: a run's, or an agent's own.
pub(crate) fn rules_in_full(dispatcher: &Dispatcher, servers: &Servers, rules: &mut updraft_run::Rules) {
    let registry = dispatcher.registry();
    for list in [&mut rules.ask, &mut rules.deny] {
        let more = |rule: &Rule| {
            let names = names_later(&registry, servers, &rule.tool);
            names.into_iter().map(|tool| Rule { tool, ..rule.clone() }).collect::<Vec<_>>()
        };
        let added: Vec<Rule> = list.iter().flat_map(more).collect();
        list.extend(added);
    }
    let updraft_run::Rules { allow, ask, deny } = rules;
    allow.iter_mut().chain(ask).chain(deny).for_each(|rule| in_full(&registry, &mut rule.tool));
}

/// An engine over a journal.
pub(crate) fn engine(
    places: &Places,
    journal: Journal,
    hands: Hands,
    watch: Arc<dyn Watch>,
    stop: CancellationToken,
) -> Engine {
    let marks = Some(marks(places));
    let options = updraft_engine::Options { watch, stop, marks, ..updraft_engine::Options::default() };
    Engine::new(journal, Arc::new(hands), options)
}

/// Which files hold words from outside, in every workspace.
pub(crate) fn marks(places: &Places) -> Marks {
    Marks::at(&places.state.join("origins"))
}

/// Runs what must wait for something. Threads that still wait for a terminal are left behind, not waited for.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Fault::failed(format!("could not set up a runtime: {error}")))?;
    let done = runtime.block_on(work);
    runtime.shutdown_background();
    done
}
