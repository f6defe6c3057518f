//! Which MCP servers there are, from files and the environment, and what they are lent.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use updraft_mcp::config::{Fault as Wrong, Format, Link, ServerConfig, Written, read, read_written};
use updraft_mcp::{Host, Keys, Proxy, Servers};
use updraft_tools::{Dispatcher, Limits, Look, Registry, Tool};

use crate::fault::Fault;
use crate::places::{self, Places};
use crate::settings::{Settings, read_dotenv};
use crate::{confine, dropins, plain, wire};

/// The files of a workspace that name servers. They count only in a trusted one.
pub(crate) const IN_WORKSPACE: [&str; 3] = [".updraft/mcp.json", ".mcp.json", "mcp_servers.json"];
/// How long a run waits for servers that it has never met; those it knows are not waited for.
const FIRST_MEETING: Duration = Duration::from_secs(20);

/// The servers that are configured for a workspace.
#[derive(Default)]
pub(crate) struct Configured {
    /// Each with the file it stands in.
    pub(crate) servers: Vec<(ServerConfig, String)>,
    /// What is wrong with others.
    pub(crate) faults: Vec<Wrong>,
    /// What every tool's name begins with, where people chose.
    prefix: Option<String>,
}

/// Where the user's own servers are written.
pub(crate) fn own_file(places: &Places) -> PathBuf {
    places.config.join("mcp.json")
}

/// Reads every place where servers may be named. The user's own win over the workspace's of the same name.
pub(crate) fn configured(places: &Places, settings: &Settings, workspace: &Path) -> Configured {
    let is_trusted = settings.standing.is_trusted();
    let dotenv = if is_trusted { read_dotenv(&workspace.join(".env")) } else { BTreeMap::default() };
    let find = |name: &str| places::env(name).or_else(|| dotenv.get(name).cloned());
    let set = |name: &str| find(name).filter(|value| !value.trim().is_empty());
    let mut all = Configured { prefix: find("MCP_TOOL_PREFIX"), ..Configured::default() };
    if set("MCP_ENABLED").is_some_and(|word| matches!(word.to_lowercase().as_str(), "false" | "0" | "no" | "off")) {
        return all;
    }
    let lookup = |name: &str| match name {
        "workspaceFolder" => Some(workspace.display().to_string()),
        "userHome" => places::home().map(|home| home.display().to_string()),
        other => find(other),
    };
    for variable in ["UPDRAFT_MCP_SERVERS", "GEMINI_MCP_SERVERS"] {
        if let Some(text) = set(variable) {
            all.take(read(&text, Format::Json, variable, &lookup), variable);
        }
    }
    let mut files = vec![own_file(places), places.config.join("mcp_servers.json")];
    if let Some(file) = set("MCP_SERVERS_CONFIG") {
        files.insert(0, workspace.join(file));
    }
    if is_trusted {
        files.extend(IN_WORKSPACE.iter().map(|file| workspace.join(file)));
    }
    for file in files {
        let shown = file.display().to_string();
        match plain::read_text(&file) {
            Ok(text) => all.take(read(&text, format_of(&file), &shown, &lookup), &shown),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
            Err(error) => all.faults.push(Wrong { file: shown, server: None, field: None, what: error.to_string() }),
        }
    }
    all
}

impl Configured {
    fn take(&mut self, (servers, faults): (Vec<ServerConfig>, Vec<Wrong>), file: &str) {
        for server in servers {
            if !self.servers.iter().any(|(known, _)| known.name == server.name) {
                self.servers.push((server, file.to_owned()));
            }
        }
        self.faults.extend(faults);
    }

    /// Those that are switched on, and what they are lent. Nothing is started.
    pub(crate) async fn servers(
        &self,
        places: &Places,
        settings: &Settings,
        workspace: &Path,
    ) -> Result<Servers, Fault> {
        let on: Vec<ServerConfig> =
            self.servers.iter().filter(|(server, _)| server.enabled).map(|(server, _)| server.clone()).collect();
        let needs_sandbox = on.iter().any(|server| matches!(server.link, Link::Stdio { .. }));
        let mut host = host(places, settings, workspace, needs_sandbox).await?;
        if let Some(prefix) = &self.prefix {
            prefix.clone_into(&mut host.prefix);
        }
        Ok(Servers::new(on, host))
    }
}

/// What servers are lent in this workspace.
pub(crate) async fn host(
    places: &Places,
    settings: &Settings,
    workspace: &Path,
    needs_sandbox: bool,
) -> Result<Host, Fault> {
    let state = places.state.join("mcp");
    let mut host = Host::new(workspace, state.join("logs"));
    let confinement = confine::confinement(places, settings);
    if needs_sandbox {
        host.sandbox = confinement.sandbox().await.map_err(|failure| failure.message);
    }
    host.policy = confinement.policy_for(workspace);
    host.environment = places::all();
    // Outside of runs nobody calls who could ask, and servers' questions are declined.
    host.inquires = true;
    host.memory = Some(state.join("known"));
    host.keys = Some(Arc::new(KeyFiles(state.join("keys"))));
    let proxy = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"].iter().find_map(|name| places::set(name));
    let except = places::set("NO_PROXY").or_else(|| places::set("no_proxy"));
    host.proxy = proxy.map(|address| Proxy { address, except });
    Ok(host)
}

/// A dispatcher of our own tools and those of all servers, and the servers, to be closed at the end.
pub(crate) async fn dispatcher(
    places: &Places,
    settings: &Settings,
    workspace: &Path,
) -> Result<(Dispatcher, Servers, Vec<String>), Fault> {
    let configured = configured(places, settings, workspace);
    let mut remarks: Vec<String> = configured.faults.iter().map(ToString::to_string).collect();
    let servers = configured.servers(places, settings, workspace).await?;
    let (mut registry, listing) = wire::registry(places, workspace, settings, Look::Kept).await?;
    remarks.extend(dropins::remarks(&listing));
    let taken: BTreeSet<String> = registry.iter().map(|tool| tool.spec().name.clone()).collect();
    let own = registry.clone();
    remarks.extend(add(&mut registry, &servers, servers.offered(FIRST_MEETING, &taken).await));
    for server in servers.iter().filter(|server| server.manifest().is_none()) {
        let why = server.health().last.map_or_else(|| "it is slow to start".to_owned(), |error| error.to_string());
        remarks.push(format!("MCP server `{}` has no tools for this run: {why}", server.config().name));
    }
    let dispatcher = Dispatcher::new(registry, Limits::default()).with_witness(confine::witness(places, settings));
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
    Ok((dispatcher, servers, remarks))
}

/// Adds servers' tools to ours; gives what is to be said about those that were left out.
fn add(registry: &mut Registry, servers: &Servers, tools: Vec<Arc<dyn Tool>>) -> Vec<String> {
    let taken = tools.into_iter().map(|tool| registry.insert_changing(tool));
    let faults = taken.filter_map(|taken| taken.err().map(|error| format!("left out: {error}"))).collect();
    for (bare, name) in servers.bare_names() {
        registry.shorten(&bare, &name);
    }
    faults
}

/// How a file of servers is written, by its ending.
pub(crate) fn format_of(file: &Path) -> Format {
    if file.extension().is_some_and(|ending| ending == "toml") { Format::Toml } else { Format::Json }
}

/// The servers in a file, as they are written there; none if there is no such file.
pub(crate) fn written_in(file: &Path) -> Result<Vec<(String, Written)>, Fault> {
    let text = match plain::read_text(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Fault::file("read", file, &error)),
    };
    let (servers, faults) = read_written(&text, format_of(file), &file.display().to_string());
    match faults.first() {
        Some(fault) => Err(Fault::config(fault.to_string())),
        None => Ok(servers),
    }
}

/// What was signed in with, in a file for each server that nobody else can read.
struct KeyFiles(PathBuf);

impl KeyFiles {
    fn file(&self, server: &str) -> PathBuf {
        let name: String = server.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
        self.0.join(name)
    }
}

impl Keys for KeyFiles {
    fn load(&self, server: &str) -> Option<Vec<u8>> {
        std::fs::read(self.file(server)).ok()
    }

    fn save(&self, server: &str, secret: Option<Vec<u8>>) -> std::io::Result<()> {
        let file = self.file(server);
        let Some(secret) = secret else {
            return match std::fs::remove_file(&file) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        };
        let beside = file.with_extension("new");
        places::private_file(&beside, OpenOptions::new().write(true).truncate(true))?.write_all(&secret)?;
        std::fs::rename(&beside, &file)
    }
}
