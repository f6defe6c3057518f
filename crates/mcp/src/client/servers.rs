//! All servers together: their tools under our names, in one list that does not depend on the order in which they
//! answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{JsonObject, Prompt, PromptArgument, PromptMessage, ResourceContents};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use updraft_tools::Tool;

use super::helpers;
use super::host::McpHost;
use super::manifest::{Manifest, ToolDescription};
use super::names::ToolNames;
use super::resource_tools;
use super::server::{ChangeCallback, Server};
use super::tool::ServerTool;
use crate::config::ServerConfig;
use crate::error::Error;

/// All enabled servers. Cheap to clone.
#[derive(Clone)]
pub struct Servers(Arc<ServersInner>);

struct ServersInner {
    host: Arc<McpHost>,
    servers: BTreeMap<String, Arc<Server>>,
    /// The tools as they were last returned, by our names.
    known: Mutex<KnownTools>,
}

#[derive(Default)]
pub(super) struct KnownTools {
    pub(super) names: ToolNames,
    pub(super) tools: BTreeMap<String, Arc<ServerTool>>,
}

impl Servers {
    /// The servers of a configuration. Nothing is started yet. Must be called within a Tokio runtime.
    pub fn new(configs: Vec<ServerConfig>, host: McpHost) -> Self {
        let host = Arc::new(host);
        let on = configs.into_iter().filter(|config| config.enabled);
        let servers = on.map(|config| (config.name.clone(), Server::new(config, Arc::clone(&host)))).collect();
        Self(Arc::new(ServersInner { host, servers, known: Mutex::default() }))
    }

    /// Every server, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Server>> {
        self.0.servers.values()
    }

    /// The server of that name.
    pub fn get(&self, name: &str) -> Result<&Arc<Server>, Error> {
        self.0.servers.get(name).ok_or_else(|| Error::Unknown(name.to_owned()))
    }

    /// The tools of all servers, sorted by name.
    ///
    /// Servers whose tools are already known are not waited for: their lists are updated in the background. The others
    /// are started in parallel, and those that are not ready within `wait` are left out this time; a server that
    /// fetches packages is waited for as long as its start may take. Names in `taken` are not used.
    pub async fn tools(&self, wait: Duration, taken: &BTreeSet<String>) -> Vec<Arc<dyn Tool>> {
        self.meet(wait).await;
        self.tools_now(taken)
    }

    fn tools_now(&self, taken: &BTreeSet<String>) -> Vec<Arc<dyn Tool>> {
        let known = self.name(taken);
        let tools: Vec<Arc<dyn Tool>> = known.tools.values().map(|tool| Arc::clone(tool) as Arc<dyn Tool>).collect();
        *self.known() = known;
        tools
    }

    /// The tools of all servers, and the helper tools that describe the servers. If there are too many to show, a model
    /// that asks for the group gets tools to search and call them instead; each can still be called by its name. Empty
    /// if there are no servers.
    pub async fn offered(&self, wait: Duration, taken: &BTreeSet<String>) -> Vec<Arc<dyn Tool>> {
        if self.0.servers.is_empty() {
            return Vec::new();
        }
        self.meet(wait).await;
        self.offered_now(taken)
    }

    /// Calls `hear` at once, and whenever servers' tools change, with the tools that a model is offered then. It ends
    /// when the servers are closed.
    pub fn follow(&self, taken: BTreeSet<String>, hear: impl Fn(&Servers, Vec<Arc<dyn Tool>>) + Send + Sync + 'static) {
        let (servers, one) = (Arc::downgrade(&self.0), Mutex::new(()));
        let tell: ChangeCallback = Arc::new(move || {
            let Some(servers) = servers.upgrade().map(Servers) else { return };
            // Two servers may announce changes at the same time, and the last call must include both.
            let _one = one.lock().unwrap_or_else(PoisonError::into_inner);
            hear(&servers, servers.offered_now(&taken));
        });
        for server in self.iter() {
            server.tell(Some(Arc::clone(&tell)));
        }
        tell();
    }

    /// The possible full names of a tool of which only the bare name is known, one for each server.
    pub fn names_for(&self, bare: &str) -> Vec<String> {
        let names = self.iter().flat_map(|server| {
            let pair = (server.config().name.as_str(), bare);
            let names = ToolNames::new(&self.0.host.prefix, [pair], &BTreeSet::new());
            names.iter().map(|(name, _, _)| name.to_owned()).collect::<Vec<_>>()
        });
        names.collect()
    }

    fn offered_now(&self, taken: &BTreeSet<String>) -> Vec<Arc<dyn Tool>> {
        let mut tools = self.tools_now(taken);
        tools.extend(helpers::about_servers(self));
        tools.extend(resource_tools::tools(self));
        tools.retain(|tool| !taken.contains(&tool.spec().name));
        tools
    }

    /// The full name of a tool, given that name or its bare name. A bare name must belong to one server only.
    pub fn resolve(&self, called: &str) -> Option<String> {
        self.known().names.resolve(called).map(str::to_owned)
    }

    /// The bare names that only one server has, each with its full name.
    pub fn bare_names(&self) -> Vec<(String, String)> {
        let known = self.known();
        let pairs = known.names.iter().filter(|(name, _, tool)| known.names.resolve(tool) == Some(name));
        pairs.map(|(name, _, tool)| (tool.to_owned(), name.to_owned())).collect()
    }

    /// Ends every server, and waits until their processes are gone.
    pub async fn close(&self) {
        let mut closing = JoinSet::new();
        for server in self.iter().map(Arc::clone) {
            closing.spawn(async move { server.close().await });
        }
        while closing.join_next().await.is_some() {}
    }

    pub(super) fn tool(&self, called: &str) -> Option<Arc<ServerTool>> {
        let known = self.known();
        let name = known.names.resolve(called)?;
        known.tools.get(name).map(Arc::clone)
    }

    pub(super) fn known(&self) -> std::sync::MutexGuard<'_, KnownTools> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks the state of servers in parallel: the one of that name, or all. The results are sorted by name.
    pub async fn check(&self, only: Option<&str>) -> Vec<(Arc<Server>, Result<Arc<Manifest>, Error>)> {
        let asked = self.iter().filter(|server| only.is_none_or(|name| server.config().name == name));
        futures_util::future::join_all(asked.map(|server| async {
            let checked = server.check().await;
            (Arc::clone(server), checked)
        }))
        .await
    }

    /// Starts the servers whose tools are unknown, and waits for them. The others are updated in the background, and so
    /// are those that recently failed to start.
    async fn meet(&self, wait: Duration) {
        let mut waited_for = Vec::new();
        for server in self.iter() {
            if server.manifest().is_some() || server.absence().is_some() {
                if !server.health().is_up {
                    drop(server.refresh());
                }
                continue;
            }
            waited_for.push((server, server.refresh()));
        }
        let (servers, over): (Vec<_>, Vec<_>) = waited_for.into_iter().unzip();
        // Slower servers continue to start, and are known the next time. Servers that fetch packages are waited for.
        let waits = over.into_iter().zip(&servers).map(|(over, server)| {
            let fetches = server.config().fetching().map(|_| server.config().patience.start);
            tokio::time::timeout(fetches.unwrap_or(wait), over)
        });
        futures_util::future::join_all(waits).await;
        for server in servers.into_iter().filter(|server| server.manifest().is_none()) {
            server.note_absence();
        }
    }

    fn name(&self, taken: &BTreeSet<String>) -> KnownTools {
        let manifests: Vec<(&Arc<Server>, Arc<Manifest>)> =
            self.iter().filter_map(|server| Some((server, server.manifest()?))).collect();
        let offered: Vec<(&Arc<Server>, &ToolDescription)> = manifests
            .iter()
            .flat_map(|(server, manifest)| manifest.tools.iter().map(move |tool| (*server, tool)))
            .filter(|(server, tool)| is_offered(server.config(), &tool.name))
            .collect();
        let pairs = offered.iter().map(|(server, tool)| (server.config().name.as_str(), tool.name.as_str()));
        let taken = taken.iter().cloned().chain(resource_tools::names().map(str::to_owned)).collect();
        let names = ToolNames::new(&self.0.host.prefix, pairs, &taken);
        let mut tools = BTreeMap::new();
        let strange: BTreeSet<&str> =
            self.iter().filter(|server| !server.is_vouched_for()).map(|server| server.config().name.as_str()).collect();
        for (server, listed) in offered {
            if let Some(name) = names.name_of(&server.config().name, &listed.name) {
                let is_strange = strange.contains(server.config().name.as_str());
                let plain = ToolNames::plain(&self.0.host.prefix, &server.config().name, &listed.name);
                let tool = ServerTool::new(Arc::clone(server), name, listed).known_as(plain);
                tools.insert(name.to_owned(), Arc::new(tool.strange(is_strange)));
            }
        }
        KnownTools { names, tools }
    }
}

/// Whether the user has enabled this tool of a server.
fn is_offered(config: &ServerConfig, tool: &str) -> bool {
    let is_in = |list: &[String]| list.iter().any(|name| name == tool || name == "*");
    config.tools.as_deref().is_none_or(is_in) && !is_in(&config.except)
}

/// A resource that a server has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerResource {
    /// Its address.
    pub uri: String,
    /// What it is called.
    pub name: String,
    /// What it is.
    pub about: String,
}

/// Resources and prompts.
impl Server {
    /// The resources it has, and the templates of addresses for more.
    pub async fn resources(&self) -> Result<Vec<ServerResource>, Error> {
        let cancel = CancellationToken::new();
        let (connection, waiting) = (self.connection().await?, self.waiting_for_lists(&cancel));
        let listed = self.hidden(connection.resources(&waiting).await)?.into_iter().map(|one| ServerResource {
            uri: one.uri.clone(),
            name: one.name.clone(),
            about: one.description.clone().unwrap_or_default(),
        });
        let forms = match self.hidden(connection.resource_forms(&waiting).await) {
            Err(Error::Refused { .. }) => Vec::new(),
            forms => forms?,
        };
        let forms = forms.into_iter().map(|one| ServerResource {
            uri: one.uri_template.clone(),
            name: one.name.clone(),
            about: one.description.clone().unwrap_or_default(),
        });
        Ok(listed.chain(forms).collect())
    }

    /// The text of a resource; for binary data, a line with its size. It is untrusted.
    pub async fn read(&self, uri: &str) -> Result<String, Error> {
        let cancel = CancellationToken::new();
        let read = self.hidden(self.connection().await?.read(uri, &self.waiting_for_lists(&cancel)).await)?;
        let texts = read.contents.into_iter().map(|part| match part {
            ResourceContents::TextResourceContents { text, .. } => text,
            ResourceContents::BlobResourceContents { uri, blob, .. } => {
                format!("[{uri}: {} bytes that are not text]", blob.len() / 4 * 3)
            }
            _ => "[something of an unknown form]".to_owned(),
        });
        Ok(texts.collect::<Vec<_>>().join("\n"))
    }

    /// The prompts it has: their names, and their descriptions with their arguments.
    pub async fn prompts(&self) -> Result<Vec<(String, String)>, Error> {
        let cancel = CancellationToken::new();
        let listed = self.hidden(self.connection().await?.prompts(&self.waiting_for_lists(&cancel)).await)?;
        let prompt = |one: &Prompt| {
            let argument = |argument: &PromptArgument| match argument.required {
                Some(true) => argument.name.clone(),
                _ => format!("{}?", argument.name),
            };
            let arguments: Vec<String> = one.arguments.iter().flatten().map(argument).collect();
            let about = one.description.clone().unwrap_or_default();
            let about = if arguments.is_empty() { about } else { format!("{about} ({})", arguments.join(", ")) };
            (one.name.clone(), about)
        };
        Ok(listed.iter().map(prompt).collect())
    }

    /// A prompt with its arguments filled in: each message with its role. It is untrusted.
    pub async fn prompt(&self, name: &str, arguments: JsonObject) -> Result<Vec<(String, String)>, Error> {
        let cancel = CancellationToken::new();
        let prompt =
            self.hidden(self.connection().await?.prompt(name, arguments, &self.waiting_for_lists(&cancel)).await)?;
        let message = |one: PromptMessage| {
            let role = serde_json::to_value(&one.role).ok().and_then(|role| role.as_str().map(str::to_owned));
            let words = serde_json::to_value(&one.content).unwrap_or_default();
            let text = words["text"].as_str().map_or_else(|| words.to_string(), str::to_owned);
            (role.unwrap_or_default(), text)
        };
        Ok(prompt.messages.into_iter().map(message).collect())
    }
}
