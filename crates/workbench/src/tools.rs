//! Builds the tools of a workspace, and resolves the tool names in rules.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use updraft_engine::MarkStore;
use updraft_mcp::Servers;
use updraft_run::{EffectClass, Rule, RunId};
use updraft_tools::worker::PythonConfig;
use updraft_tools::{BrowserOptions, CacheUse, Dispatcher, DropInListing, Guardrails, Registry, ToolLimits, WebConfig};

use crate::fault::Fault;
use crate::folders::AppFolders;
use crate::settings::WorkspaceSettings;
use crate::{confinement, dropins, guardrails, hooks, knowledge, memory, remote_agents, search_access, skills};

/// The tools of a workspace: built-in and drop-in.
pub fn dispatcher<'a>(
    folders: &'a AppFolders,
    workspace: &'a Path,
    settings: &'a WorkspaceSettings,
) -> BoxFuture<'a, Result<Dispatcher, Fault>> {
    Box::pin(async move { Ok(with_listing(folders, workspace, settings, CacheUse::Kept).await?.0) })
}

/// The tools of a workspace, and the state of its drop-in files.
pub fn with_listing<'a>(
    folders: &'a AppFolders,
    workspace: &'a Path,
    settings: &'a WorkspaceSettings,
    look: CacheUse,
) -> BoxFuture<'a, Result<(Dispatcher, DropInListing), Fault>> {
    Box::pin(async move {
        let (registry, listing) = registry(folders, workspace, settings, look).await?;
        let witness = confinement::witness(folders, settings);
        Ok((Dispatcher::new(registry, settings.effective.tools.limits()).with_witness(witness), listing))
    })
}

/// The registry of these tools, so that more can be added.
pub(crate) async fn registry(
    folders: &AppFolders,
    workspace: &Path,
    settings: &WorkspaceSettings,
    look: CacheUse,
) -> Result<(Registry, DropInListing), Fault> {
    let confinement = confinement::confinement(folders, settings);
    let readable = settings.effective.sandbox.read.value.clone();
    let limits = ToolLimits { readable, ..settings.effective.tools.limits() };
    let documents = confinement::document_reader(folders, settings);
    let web = WebConfig {
        cache: settings.effective.web.cache(folders),
        documents: Some(documents.clone()),
        search: search_access::config(settings, workspace),
        ..settings.effective.web.web()?
    };
    let index = Arc::new(knowledge::index(folders, workspace, settings));
    let remote = remote_agents::of(folders, workspace, settings, &web.certificates);
    let mut registry = Registry::standard(&limits)
        .with_documents(&limits, documents)
        .with_commands(confinement.clone())
        .with_web(web.clone())
        .with_python(confinement.clone(), python(settings))
        .with_index(&index, &limits)
        .with_skills(skills::by_name(&skills::of(folders, workspace, settings)))
        .with_memory(&Arc::new(memory::access(folders, workspace, settings)))
        .with_checks(&settings.effective.working.checks.value)
        .map_err(|why| Fault::config(format!("the setting `checks`: {why}")))?
        .with_candidates(copies(folders), confinement.clone(), &limits)
        .with_remote_agents(remote)
        .with_browser(browser(folders, settings), web, confinement.clone(), &limits);
    let mut listing =
        dropins::of(folders, workspace, settings, confinement.clone()).register(&mut registry, look).await;
    let hooks = hooks::all(settings, &confinement);
    let (mut guardrails, faults) = guardrails::load(folders, workspace, settings, confinement, look).await;
    listing.files.extend(faults);
    guardrails.extend(hooks::guardrails(&hooks));
    let registry = registry.with_hooks(hooks);
    let registry = if guardrails.is_empty() { registry } else { registry.with_guardrails(Guardrails::new(guardrails)) };
    Ok((registry, listing))
}

/// Where candidates get their copies of a workspace.
fn copies(folders: &AppFolders) -> PathBuf {
    folders.state.join("copies")
}

/// Where the candidates of a run get theirs.
pub fn copies_of(folders: &AppFolders, run: &RunId) -> String {
    copies(folders).join(run.as_str()).display().to_string()
}

/// Which browser the browser tools start.
pub fn browser(folders: &AppFolders, settings: &WorkspaceSettings) -> BrowserOptions {
    settings.effective.browser.options(folders)
}

/// Which Python runs agents' code.
pub fn python(settings: &WorkspaceSettings) -> PythonConfig {
    let program = &settings.effective.python_program.value;
    let program = (!program.is_empty()).then(|| PathBuf::from(program));
    PythonConfig { program, packages: settings.effective.python_packages.value, ..PythonConfig::default() }
}

/// Whether a tool only reads. (A tool that does not exist is never offered.)
pub fn only_reads(dispatcher: &Dispatcher, name: &str) -> bool {
    let is_pure = dispatcher.registry().get(name).is_none_or(|tool| tool.traits().class == EffectClass::Pure);
    is_pure || name == updraft_run::ASK_USER
}

/// Replaces short tool names in rules by full names. Rules that ask or deny also cover tools of that short name that a
/// server adds during the run.
pub(crate) fn name_in_full(dispatcher: &Dispatcher, servers: &Servers, rules: &mut updraft_run::RunSettings) {
    let registry = dispatcher.registry();
    let denied: Vec<String> = rules.deny.iter().flat_map(|name| names_later(&registry, servers, name)).collect();
    rules.deny.extend(denied);
    rules.deny.iter_mut().for_each(|name| in_full(&registry, name));
    rules_in_full(dispatcher, servers, &mut rules.rules);
}

/// The full names of tools that a server may add during the run and that a rule would know by this short name. None if
/// one of our tools has exactly this name.
fn names_later(registry: &Registry, servers: &Servers, name: &str) -> Vec<String> {
    if registry.get(name).is_none() { servers.names_for(name) } else { Vec::new() }
}

fn in_full(registry: &Registry, name: &mut String) {
    if let Some(full) = registry.full_name(name).map(str::to_owned) {
        *name = full;
    }
}

/// Does the same for one list of rules: a run's, or an agent's own.
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

/// The record of files that contain text from outside, for all workspaces.
pub fn marks(folders: &AppFolders) -> MarkStore {
    MarkStore::at(&folders.state.join("origins"))
}
