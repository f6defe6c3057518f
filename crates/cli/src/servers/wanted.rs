//! Whose servers a run needs: a server that no agent of it may use is not even looked at.

use updraft_mcp::Names;
use updraft_tools::Registry;

/// The group of servers' tools, and those that our own tools are in, whether there are any of them now or not.
const GROUP: &str = "mcp";
const OURS: [&str; 7] = ["files", "sandbox", "browser", "tools", "rag", "bench", "ask_user"];

/// The tools that are wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted<'a> {
    /// Whatever there is.
    All,
    /// Those of agents, by names and groups as agents' files have them.
    Of(&'a [String]),
}

impl Wanted<'_> {
    /// Whether tools of this server can be among them. `own` are those that are no server's.
    pub(super) fn needs(self, prefix: &str, server: &str, own: &Registry) -> bool {
        let Wanted::Of(names) = self else { return true };
        let is_ours = |name: &str| {
            OURS.contains(&name) || own.get(name).is_some() || own.iter().any(|tool| tool.traits().group == name)
        };
        names.iter().any(|name| name == GROUP || !is_ours(name) && Names::may_be_of(prefix, server, name))
    }
}

#[cfg(test)]
mod tests {
    use updraft_tools::Limits;

    use super::*;

    #[test]
    fn a_server_is_needed_by_those_who_name_its_group_or_one_of_its_tools() {
        let own = Registry::standard(&Limits::default());
        let needs = |wanted: &[&str], server: &str| {
            let wanted: Vec<String> = wanted.iter().map(|&name| name.to_owned()).collect();
            Wanted::Of(&wanted).needs("mcp", server, &own)
        };
        assert!(!needs(&[], "git"));
        assert!(!needs(&["files", "read_file", "browser", "ask_user"], "git"));
        assert!(needs(&["files", "mcp"], "git"));
        assert!(needs(&["mcp_git_log"], "git") && !needs(&["mcp_git_log"], "time"));
        // By its bare name a tool may be anybody's.
        assert!(needs(&["git_log"], "time"));
        assert!(Wanted::All.needs("mcp", "git", &own));
    }
}
