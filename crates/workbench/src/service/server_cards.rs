//! The MCP servers of the workspace, as people see them: which are connected, which are not, and why.

use super::runs::LiveRuns;
use crate::servers::configured;

/// The state of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerCardState {
    /// It is connected.
    Connected,
    /// It is being started or connected to.
    Starting,
    /// Its tools are known; it is started when one of them is called.
    Idle,
    /// It did not start, or does not answer.
    Failed,
    /// It is switched off.
    Disabled,
}

impl ServerCardState {
    /// In one word.
    pub fn word(self) -> &'static str {
        match self {
            ServerCardState::Connected => "connected",
            ServerCardState::Starting => "starting",
            ServerCardState::Idle => "idle",
            ServerCardState::Failed => "failed",
            ServerCardState::Disabled => "disabled",
        }
    }
}

/// A server, as people see it.
#[derive(Clone, Debug)]
pub struct ServerCard {
    /// Its name.
    pub name: String,
    /// Its state.
    pub state: ServerCardState,
    /// Why it is in this state; empty if there is nothing to say.
    pub why: String,
    /// How many tools it has, as far as it has said.
    pub tools: usize,
    /// The file that names it.
    pub file: String,
}

impl LiveRuns {
    /// The configured servers, and messages about entries that cannot be used. Starts nothing.
    pub fn servers(&self) -> (Vec<ServerCard>, Vec<String>) {
        let bench = self.bench();
        let found = configured(&bench.folders, &bench.settings, &bench.folder);
        let remarks = found.faults.iter().map(ToString::to_string).chain(found.apart.iter().cloned()).collect();
        let card = |name: &str, enabled: bool, file: &str| {
            let known = bench.known_servers().and_then(|servers| servers.get(name).ok());
            let tools = known.and_then(|server| server.manifest()).map_or(0, |manifest| manifest.tools.len());
            let (state, why) = match known {
                _ if !enabled => (ServerCardState::Disabled, String::new()),
                None => (ServerCardState::Idle, "it was added after the server was started".to_owned()),
                Some(server) if server.health().is_up => (ServerCardState::Connected, String::new()),
                Some(server) if server.is_starting() => {
                    (ServerCardState::Starting, server.last_words().unwrap_or_default())
                }
                Some(server) => match (server.health().last, server.manifest()) {
                    (Some(error), _) => (ServerCardState::Failed, updraft_run::error_chain(&error)),
                    (None, Some(_)) => (ServerCardState::Idle, "it is started when a tool is called".to_owned()),
                    (None, None) => (ServerCardState::Failed, server.why_absent()),
                },
            };
            ServerCard { name: name.to_owned(), state, why, tools, file: file.to_owned() }
        };
        let cards = found.servers.iter().map(|(server, file)| card(&server.name, server.enabled, file));
        (cards.collect(), remarks)
    }
}
