//! Which of its tools an agent's model is told of. It may call the others all the same, from code or because it knows
//! them: what it is told of costs tokens with every request, what it may do is decided elsewhere.

use std::collections::BTreeSet;

use updraft_run::CALL_TOOL;

use crate::builtin::APPLY_PATCH;
use crate::registry::Registry;
use crate::tool::ToolSource;

/// How models change parts of files that were not trained with patches.
const EDIT_FILE: &str = "edit_file";

/// The tool that finds the tools which are not shown.
pub(crate) const SEARCH_TOOLS: &str = "search_tools";
/// What a model is given in place of tools that are too many to show.
pub const FINDERS: [&str; 2] = [SEARCH_TOOLS, CALL_TOOL];
/// From so many tools of servers and drop-in tools on, an agent's model is not told of each: their definitions would fill
/// its requests.
pub const MANY_TOOLS: usize = 30;

/// What the tools of a run can be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfferSituation {
    /// The workspace's index has documents, or files were handed over for it.
    pub indexed: bool,
    /// The run has a network or a search service, or its goal names a page.
    pub network: bool,
    /// A search service is configured.
    pub search: bool,
    /// The agent's model was trained to change files by patches.
    pub patches: bool,
}

impl Registry {
    /// The tools among an agent's that its model is not told of, in name order. A tool that the agent's file names itself
    /// is always told of, except for the way to edit that the model was not trained with.
    pub fn untold<S: AsRef<str>>(&self, wanted: &[S], situation: OfferSituation) -> Vec<String> {
        let specs = self.specs_for(wanted);
        let all: BTreeSet<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
        let has_both = all.contains(EDIT_FILE) && all.contains(APPLY_PATCH);
        let other = if situation.patches { EDIT_FILE } else { APPLY_PATCH };
        let has_all = self.findable(wanted).is_empty();
        let is_untold = |name: &str| {
            if FINDERS.contains(&name) {
                return has_all;
            }
            let is_named = wanted.iter().any(|want| want.as_ref() == name);
            has_both && name == other || !is_named && !self.is_useful(name, situation)
        };
        all.into_iter().filter(|name| is_untold(name)).map(str::to_owned).collect()
    }

    /// The tools of servers and drop-in tools that an agent finds and calls by [`FINDERS`], because they are too many to
    /// show. None that its file names, itself or by the server.
    pub fn findable<S: AsRef<str>>(&self, wanted: &[S]) -> Vec<String> {
        let specs = self.specs_for(wanted);
        let foreign: Vec<_> = specs
            .iter()
            .filter_map(|spec| self.get(&spec.name).map(|tool| (&spec.name, tool.source())))
            .filter(|(_, source)| source.is_foreign())
            .collect();
        if foreign.len() < MANY_TOOLS {
            return Vec::new();
        }
        let is_named = |name: &str, source: &ToolSource| {
            let is_it = |want: &str| {
                self.full_name(want) == Some(name) || matches!(source, ToolSource::Server(by) if by == want)
            };
            wanted.iter().any(|want| is_it(want.as_ref()))
        };
        foreign.into_iter().filter(|(name, source)| !is_named(name, source)).map(|(name, _)| name.clone()).collect()
    }

    fn is_useful(&self, name: &str, situation: OfferSituation) -> bool {
        let Some(traits) = self.get(name).map(|tool| tool.traits()) else { return true };
        match traits.group {
            _ if traits.untold => false,
            "rag" => situation.indexed,
            "browser" => situation.network && (situation.search || name != "web_search"),
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::ToolLimits;

    const NONE: OfferSituation = OfferSituation { indexed: false, network: false, search: false, patches: false };

    #[test]
    fn a_model_is_told_of_one_way_to_edit_and_of_what_is_of_use() {
        let registry = Registry::standard(&ToolLimits::default()).with_web(crate::WebConfig::default());
        let untold = |wanted: &[&str], situation| registry.untold(wanted, situation);
        let coder = ["files", "apply_patch", "browser"];
        assert_eq!(untold(&coder, NONE), ["append_line", "apply_patch", "web_fetch", "web_search"]);
        let patches = OfferSituation { patches: true, network: true, ..NONE };
        assert_eq!(untold(&coder, patches), ["append_line", "edit_file", "web_search"]);
        assert_eq!(untold(&["apply_patch"], NONE), Vec::<String>::new(), "it has no other way");
        assert_eq!(untold(&["web_search", "append_line"], NONE), Vec::<String>::new(), "they are named");
    }
}
