//! Which servers a run needs: a server whose tools no agent of the run may use is not started.

use updraft_engine::Agents;
use updraft_mcp::ToolNames;
use updraft_tools::{Registry, ToolSource};

use super::ConfiguredServers;

/// The group of servers' tools, and the groups of our own tools, whether they have any tools now or not.
const GROUP: &str = "mcp";
const OURS: [&str; 8] = ["files", "sandbox", "browser", "page", "tools", "rag", "bench", "ask_user"];

/// Tools that exist only if there are servers.
const HELPERS: [&str; 8] = [
    "list_mcp_servers",
    "list_mcp_tools",
    "get_mcp_tool_help",
    "mcp_health_check",
    "mcp_list_resources",
    "mcp_read_resource",
    "mcp_list_prompts",
    "mcp_get_prompt",
];

/// The tools that a run wants.
#[derive(Clone, Copy, Debug)]
pub enum WantedTools<'a> {
    /// All tools.
    All,
    /// The tools of agents, by names and groups as in agents' files.
    Of(&'a [String]),
}

impl WantedTools<'_> {
    /// Whether tools of this server can be among them. `own` are the tools that do not come from servers.
    pub(super) fn needs(self, prefix: &str, server: &str, own: &Registry) -> bool {
        let WantedTools::Of(names) = self else { return true };
        let is_ours = |name: &str| {
            OURS.contains(&name) || own.get(name).is_some() || own.iter().any(|tool| tool.traits().group == name)
        };
        names.iter().any(|name| name == GROUP || !is_ours(name) && ToolNames::may_be_of(prefix, server, name))
    }
}

/// Leaves out the agents whose files name a tool, group or server that does not exist, and records why.
///
/// A server that is disabled or has not started yet may have the tool, so names that could belong to one are accepted.
pub fn leave_out_mistaken(agents: &mut Agents, registry: &Registry, configured: &ConfiguredServers) {
    let prefix = configured.prefix();
    let servers = || configured.servers.iter().map(|(server, _)| server.name.as_str());
    let has_come = |server: &str| registry.iter().any(|tool| tool.source() == ToolSource::Server(server.to_owned()));
    let is_known = |name: &str| {
        let is_of = |server: &str| name == server || !has_come(server) && ToolNames::may_be_of(prefix, server, name);
        name == GROUP
            || OURS.contains(&name)
            || HELPERS.contains(&name)
            || registry.full_name(name).is_some()
            || registry.iter().any(|tool| tool.traits().group == name)
            || servers().any(is_of)
    };
    let mistaken = agents.iter().filter_map(|agent| {
        let name = agent.tools.iter().find(|name| !is_known(name))?;
        let file = agent.file.as_ref().map_or_else(|| agent.name.clone(), |file| file.display().to_string());
        let close = registry.close_names(name);
        let hint = if close.is_empty() {
            "`updraft tools` and `updraft mcp` list what there is".to_owned()
        } else {
            format!("available: {}", close.join(", "))
        };
        Some((agent.name.clone(), format!("{file}: no tool, group or MCP server is named `{name}`; {hint}")))
    });
    for (name, why) in mistaken.collect::<Vec<_>>() {
        agents.leave_out(&name, why);
    }
}

#[cfg(test)]
mod tests {
    use updraft_tools::ToolLimits;

    use super::*;

    #[test]
    fn a_server_is_needed_by_those_who_name_its_group_or_one_of_its_tools() {
        let own = Registry::standard(&ToolLimits::default());
        let needs = |wanted: &[&str], server: &str| {
            let wanted: Vec<String> = wanted.iter().map(|&name| name.to_owned()).collect();
            WantedTools::Of(&wanted).needs("mcp", server, &own)
        };
        assert!(!needs(&[], "git"));
        assert!(!needs(&["files", "read_file", "browser", "ask_user"], "git"));
        assert!(needs(&["files", "mcp"], "git"));
        assert!(needs(&["mcp_git_log"], "git") && !needs(&["mcp_git_log"], "time"));
        // A tool's bare name may belong to any server.
        assert!(needs(&["git_log"], "time"));
        assert!(WantedTools::All.needs("mcp", "git", &own));
    }
}
