//! Names for servers' tools that every provider accepts, that are unique, and that stay the same.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};
use updraft_run::ContentHash;

/// The longest name that every provider takes.
const LONGEST: usize = 64;
/// The lengths of hashes that make a name unique; the shortest sufficient one is used. Nobody can forge a match of the
/// longest.
const MARKS: [usize; 3] = [6, 16, 32];

/// Maps names to tools of servers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolNames {
    /// From our name to the server's name and the tool's own name.
    by_name: BTreeMap<String, (String, String)>,
}

impl ToolNames {
    /// Assigns names to tools, each given by its server's name and its own. The result does not depend on their order.
    /// Names in `taken` are not used.
    pub fn new<'a>(
        prefix: &str,
        tools: impl IntoIterator<Item = (&'a str, &'a str)>,
        taken: &BTreeSet<String>,
    ) -> Self {
        let all: BTreeSet<(&str, &str)> = tools.into_iter().collect();
        let all: Vec<_> = all.into_iter().map(|(server, tool)| (server, tool, wishes(prefix, server, tool))).collect();
        let mut wanted: BTreeMap<&str, usize> = BTreeMap::new();
        for wish in all.iter().flat_map(|(_, _, wishes)| wishes) {
            *wanted.entry(wish).or_default() += 1;
        }
        let mut by_name = BTreeMap::new();
        for (server, tool, wishes) in &all {
            // A name that another tool could get as well is not used: so no server can take the place of another's
            // tool.
            let is_free =
                |wish: &&String| wanted[wish.as_str()] == 1 && wish.len() <= LONGEST && !taken.contains(*wish);
            if let Some(name) = wishes.iter().find(is_free) {
                by_name.insert(name.clone(), ((*server).to_owned(), (*tool).to_owned()));
            }
        }
        Self { by_name }
    }

    /// The name of a tool if no other tool has the same, whatever its length. Rules are written with it.
    pub(super) fn plain(prefix: &str, server: &str, tool: &str) -> String {
        plain(prefix, server, tool)
    }

    /// Every name, sorted, with its server and tool.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.by_name.iter().map(|(name, (server, tool))| (name.as_str(), server.as_str(), tool.as_str()))
    }

    /// Whether a tool of this server could have this name: it begins with the server's prefix, or is a bare name.
    pub fn may_be_of(prefix: &str, server: &str, name: &str) -> bool {
        let starts = |start: &str| name.starts_with(&start[..start.len().min(LONGEST / 2)]);
        let any = plain(prefix, "", "");
        let is_bare = any.is_empty() || !name.starts_with(&format!("{any}_"));
        is_bare || starts(&format!("{}_", plain(prefix, server, "")))
    }

    /// The name of a tool.
    pub fn name_of(&self, server: &str, tool: &str) -> Option<&str> {
        self.iter().find(|(_, of, own)| *of == server && *own == tool).map(|(name, _, _)| name)
    }

    /// The full name of a tool, given that name or its bare name. A bare name must belong to one server only.
    pub fn resolve(&self, called: &str) -> Option<&str> {
        if let Some((name, _)) = self.by_name.get_key_value(called) {
            return Some(name);
        }
        let mut bare = self.iter().filter(|(_, _, tool)| *tool == called);
        match (bare.next(), bare.next()) {
            (Some((name, _, _)), None) => Some(name),
            _ => None,
        }
    }
}

fn plain(prefix: &str, server: &str, tool: &str) -> String {
    let clean = |text: &str| -> String {
        text.chars().map(|letter| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' }).collect()
    };
    let prefix = clean(prefix.trim_end_matches('_'));
    let parts = [prefix.as_str(), &clean(server), &clean(tool)];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("_")
}

/// The names that a tool could get, the shortest first.
fn wishes(prefix: &str, server: &str, tool: &str) -> Vec<String> {
    let wish = plain(prefix, server, tool);
    let hash = ContentHash(Sha256::digest(format!("{server}\0{tool}")).into()).to_string();
    let marked = |letters: usize| {
        let room = LONGEST - letters - 1;
        format!("{}_{}", &wish[..wish.len().min(room)], &hash[..letters])
    };
    let marked: Vec<String> = MARKS.into_iter().map(marked).collect();
    std::iter::once(wish.clone()).chain(marked).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(tools: &[(&str, &str)]) -> Vec<String> {
        ToolNames::new("mcp", tools.iter().copied(), &BTreeSet::new())
            .iter()
            .map(|(name, _, _)| name.to_owned())
            .collect()
    }

    #[test]
    fn names_are_plain_short_and_in_order() {
        assert_eq!(names(&[("git", "log"), ("git", "commit")]), ["mcp_git_commit", "mcp_git_log"]);
        assert_eq!(names(&[("my server", "read/file.txt")]), ["mcp_my_server_read_file_txt"]);
        let long = names(&[("server", &"x".repeat(100))]);
        assert_eq!(long[0].len(), 64);
    }

    #[test]
    fn two_tools_never_share_a_name_and_order_does_not_matter() {
        let one = names(&[("a", "b.c"), ("a", "b_c"), ("a_b", "c")]);
        let other = names(&[("a_b", "c"), ("a", "b_c"), ("a", "b.c")]);
        assert_eq!(one, other);
        assert_eq!(one.iter().collect::<BTreeSet<_>>().len(), 3, "{one:?}");
    }

    #[test]
    fn no_server_can_take_the_place_of_anothers_tool() {
        // The third name is the one with which the first would be distinguished from the second.
        let tools = [("a", "b_c"), ("a_b", "c"), ("a_b", "c_662f0b")];
        let names = ToolNames::new("mcp", tools, &BTreeSet::new());
        let given: BTreeSet<_> = tools.iter().map(|(server, tool)| names.name_of(server, tool)).collect();
        assert!(given.len() == 3 && !given.contains(&None), "{names:?}");
        assert_eq!(names.resolve("mcp_a_b_c_662f0b"), None);
    }

    #[test]
    fn what_is_taken_is_left_alone() {
        let taken = BTreeSet::from(["git_log".to_owned()]);
        let names = ToolNames::new("", [("git", "log")], &taken);
        assert_ne!(names.name_of("git", "log"), Some("git_log"));
    }

    #[test]
    fn a_bare_name_counts_where_only_one_server_has_it() {
        let names = ToolNames::new("mcp", [("a", "log"), ("b", "log"), ("b", "push")], &BTreeSet::new());
        assert_eq!(names.resolve("push"), Some("mcp_b_push"));
        assert_eq!(names.resolve("mcp_a_log"), Some("mcp_a_log"));
        assert_eq!((names.resolve("log"), names.resolve("none")), (None, None));
    }
}
