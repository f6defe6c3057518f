//! Finds the configured MCP servers in files and the environment, and prepares what they are given: sandbox, keys,
//! caches.

mod not_in_workspace;
mod program;
mod server_list;
pub mod slow_start;
mod sources;
mod tokens;
pub mod trusted_descriptions;
mod wanted;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use updraft_journal::hash_of;
use updraft_mcp::config::{
    ConfigFault as Wrong, ConfigFormat, ServerConfig, ServerFile as Theirs, TransportConfig, WrittenServer, fetching,
    read_theirs,
};
use updraft_mcp::{McpHost, ProxySettings, Servers};
use updraft_run::ApprovalMode;
use updraft_tools::{CacheUse, CallLog, Dispatcher, Registry, Tool};

use crate::fault::Fault;
use crate::folders::{self, AppFolders};
use crate::settings::WorkspaceSettings;
use crate::{Tell, confinement, dropins, tools, untrusted};

pub(crate) use program::program_files;
pub use server_list::ServerListFile;
use sources::ServerSource;
pub use sources::{Variables, is_list, of_workspace};
pub use tokens::SecretFiles;
pub use wanted::{WantedTools, leave_out_mistaken};

/// How long a run waits for servers that have never been started before. It does not wait for servers whose tools are
/// known, nor for those that recently failed to start in time.
const FIRST_MEETING: Duration = Duration::from_secs(10);

/// The folder, within the one for MCP, for files that servers download.
const FETCHED: &str = "fetched";

/// The servers that are configured for a workspace.
#[derive(Default)]
pub struct ConfiguredServers {
    /// Each with the file it is named in.
    pub servers: Vec<(ServerConfig, String)>,
    /// Entries that are invalid, and why.
    pub faults: Vec<Wrong>,
    /// Messages about servers that are not started in the workspace.
    pub apart: Vec<String>,
    /// The prefix of every tool's name, if the user chose one.
    prefix: Option<String>,
}

/// The file with the user's own servers.
pub fn own_file(folders: &AppFolders) -> PathBuf {
    folders.config.join("mcp.json")
}

/// Reads all sources of server configurations. The user's own servers win over the workspace's of the same name.
pub fn configured(folders: &AppFolders, settings: &WorkspaceSettings, workspace: &Path) -> ConfiguredServers {
    let is_trusted = settings.trust_state.is_trusted();
    let variables = Variables::of(workspace, is_trusted);
    let mut all = ConfiguredServers { prefix: variables.find("MCP_TOOL_PREFIX"), ..ConfiguredServers::default() };
    let is_off = |word: String| matches!(word.to_lowercase().as_str(), "false" | "0" | "no" | "off");
    if variables.set("MCP_ENABLED").is_some_and(is_off) {
        return all;
    }
    let mut own = sources::of_user(folders, workspace);
    own.0.splice(0..0, settings.given_servers.iter().map(ServerSource::given));
    let theirs = if is_trusted { sources::of_workspace(workspace) } else { (Vec::new(), Vec::new()) };
    for ((sources, faults), of_workspace) in [(own, false), (theirs, true)] {
        all.faults.extend(faults);
        for source in sources {
            let (mut servers, faults) = source.servers(&variables);
            for server in &mut servers {
                server.of_workspace = of_workspace;
            }
            all.take(servers, faults, &source.shown);
        }
    }
    if !is_trusted {
        all.apart = all.servers.iter().filter_map(|(server, _)| not_in_workspace::notice(server, workspace)).collect();
    }
    all
}

impl ConfiguredServers {
    fn take(&mut self, servers: Vec<ServerConfig>, faults: Vec<Wrong>, file: &str) {
        let known: BTreeSet<String> = self.servers.iter().map(|(server, _)| server.name.clone()).collect();
        for server in servers {
            if !known.contains(&server.name) {
                self.servers.push((server, file.to_owned()));
            }
        }
        self.faults.extend(faults);
    }

    /// The prefix of servers' tools.
    pub fn prefix(&self) -> &str {
        self.prefix.as_deref().unwrap_or("mcp")
    }

    /// The enabled servers, with what they are given. Nothing is started.
    pub async fn servers(
        &self,
        folders: &AppFolders,
        settings: &WorkspaceSettings,
        workspace: &Path,
    ) -> Result<Servers, Fault> {
        let on: Vec<ServerConfig> =
            self.servers.iter().filter(|(server, _)| server.enabled).map(|(server, _)| server.clone()).collect();
        let needs_sandbox = on.iter().any(|server| matches!(server.link, TransportConfig::Stdio { .. }));
        let mut host = host(folders, settings, workspace, needs_sandbox).await?;
        if let Some(prefix) = &self.prefix {
            prefix.clone_into(&mut host.prefix);
        }
        Ok(Servers::new(on, host))
    }
}

/// What servers are given in this workspace.
pub fn host<'a>(
    folders: &'a AppFolders,
    settings: &'a WorkspaceSettings,
    workspace: &'a Path,
    needs_sandbox: bool,
) -> BoxFuture<'a, Result<McpHost, Fault>> {
    Box::pin(async move {
        let state = folders.state.join("mcp");
        let mut host = McpHost::new(workspace, state.join("logs"));
        let confinement = confinement::confinement(folders, settings);
        if needs_sandbox {
            host.sandbox = confinement.sandbox().await.map_err(|failure| failure.message);
        }
        host.policy = confinement.policy_for(workspace);
        host.environment = folders::all();
        // Outside of runs no caller can pass questions on, so servers' questions are declined there.
        host.inquires = true;
        host.vouched = trusted_descriptions::seals(folders);
        host.memory = Some(state.join("known"));
        host.keys = Some(Arc::new(SecretFiles::new(folders)));
        // A server cannot read in one workspace what it stored in another.
        let of_workspace = hash_of(workspace.as_os_str().as_encoded_bytes()).to_string();
        if settings.effective.run_settings().approvals == ApprovalMode::ReadOnly {
            host.instead = Some(state.join("scratch").join(&of_workspace[..16]));
        }
        host.private = Some(state.join("private").join(&of_workspace[..16]));
        host.fetched = Some(state.join(FETCHED));
        host.is_apart = !settings.trust_state.is_trusted();
        host.log = CallLog::to(|line| tracing::info!(target: "updraft::mcp", "{}", untrusted::harmless(line)));
        let proxy =
            ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"].iter().find_map(|name| folders::set(name));
        let except = folders::set("NO_PROXY").or_else(|| folders::set("no_proxy"));
        host.proxy = proxy.map(|address| ProxySettings { address, except });
        Ok(host)
    })
}

/// Our own tools and those of servers.
pub struct ServerTools {
    /// Calls them.
    pub dispatcher: Dispatcher,
    /// The servers, to be closed at the end.
    pub servers: Servers,
    /// Messages about what was left out.
    pub remarks: Vec<String>,
}

/// Our own tools and those of the wanted servers.
pub fn dispatcher<'a>(
    folders: &'a AppFolders,
    settings: &'a WorkspaceSettings,
    workspace: &'a Path,
    wanted: WantedTools<'a>,
    tell: &'a Tell,
) -> BoxFuture<'a, Result<ServerTools, Fault>> {
    Box::pin(async move {
        let mut configured = configured(folders, settings, workspace);
        let mut remarks: Vec<String> = configured.faults.iter().map(ToString::to_string).collect();
        let (mut registry, listing) = tools::registry(folders, workspace, settings, CacheUse::Kept).await?;
        let prefix = configured.prefix().to_owned();
        configured.servers.retain(|(server, _)| wanted.needs(&prefix, &server.name, &registry));
        let servers = configured.servers(folders, settings, workspace).await?;
        remarks.append(&mut configured.apart);
        remarks.extend(dropins::remarks(&listing));
        let taken: BTreeSet<String> = registry.iter().map(|tool| tool.spec().name.clone()).collect();
        let own = registry.clone();
        let offered = slow_start::aloud(&servers, tell, servers.offered(FIRST_MEETING, &taken)).await;
        remarks.extend(add(&mut registry, &servers, offered));
        for server in servers.iter().filter(|server| server.manifest().is_none()) {
            let (name, why) = (&server.config().name, server.why_absent());
            remarks.push(format!(
                "MCP server `{name}` has no tools for this run: {why}\n  hint: `updraft mcp check {name}` waits for it"
            ));
        }
        let dispatcher = Dispatcher::new(registry, settings.effective.tools.limits())
            .with_witness(confinement::witness(folders, settings));
        if servers.iter().next().is_some() {
            let shared = dispatcher.clone();
            servers.follow(taken, move |servers, tools| {
                let mut registry = own.clone();
                for remark in add(&mut registry, servers, tools) {
                    tracing::debug!(remark, "a tool of a server");
                }
                shared.replace(registry);
            });
        }
        Ok(ServerTools { dispatcher, servers, remarks })
    })
}

/// Adds servers' tools to ours; returns messages about those that were left out.
fn add(registry: &mut Registry, servers: &Servers, tools: Vec<Arc<dyn Tool>>) -> Vec<String> {
    let taken = tools.into_iter().map(|tool| registry.insert_changing(tool));
    let faults = taken.filter_map(|taken| taken.err().map(|error| format!("left out: {error}"))).collect();
    for (bare, name) in servers.bare_names() {
        registry.shorten(&bare, &name);
    }
    faults
}

/// A hint about a program that downloads what it runs and has no network.
pub fn cut_off<'a>(line: impl Iterator<Item = &'a str>) -> Option<String> {
    let program = fetching(line)?;
    Some(format!(
        "`{program}` fetches what it runs, and servers reach no network unless you allow it: add it with `--network host` \
         (\"sandbox\": {{\"network\": \"host\"}} in its entry), or install the server and name its program"
    ))
}

/// Removes what the user's own server of that name downloaded.
pub fn forget_fetched(folders: &AppFolders, name: &str) {
    let mut host = McpHost::new(&folders.state, &folders.state);
    host.fetched = Some(folders.state.join("mcp").join(FETCHED));
    if let Some(folder) = host.fetched_by_own(name) {
        let _ = std::fs::remove_dir_all(folder);
    }
}

/// The format of a file of servers, by its extension.
pub fn format_of(file: &Path) -> ConfigFormat {
    if file.extension().is_some_and(|ending| ending == "toml") { ConfigFormat::Toml } else { ConfigFormat::Json }
}

/// The variables that a server needs and that are not set.
pub fn unset_variables(server: &WrittenServer) -> Vec<String> {
    let asked = std::cell::RefCell::new(Vec::new());
    let server = WrittenServer { env_file: None, ..server.clone() };
    let _ = server.mean("x", &|name| {
        if folders::env(name).is_none() && !["workspaceFolder", "userHome"].contains(&name) {
            asked.borrow_mut().push(name.to_owned());
        }
        Some("x".to_owned())
    });
    asked.into_inner()
}

/// The servers in a file, unchanged.
pub fn written_in(file: &Path) -> Result<Theirs, Fault> {
    let text = untrusted::read_text(file).map_err(|error| Fault::file("read", file, &error))?;
    Ok(read_theirs(&text, format_of(file), &file.display().to_string()))
}
