//! The order of the pages, in groups. A page that is not here fails `cargo xtask check`.

use super::SourcePage;
use crate::fault::Fault;

/// Where decisions are; only their list is in the contents.
pub(crate) const DECISIONS: &str = "docs/decisions/";

/// Pages that belong together.
#[derive(Debug)]
pub(crate) struct ContentsGroup {
    pub(crate) title: &'static str,
    /// The Markdown file of each page, and its name in the contents.
    pub(crate) pages: &'static [(&'static str, &'static str)],
}

/// All of it, in reading order.
pub(crate) const CONTENTS: &[ContentsGroup] = &[
    ContentsGroup {
        title: "Begin",
        pages: &[
            ("README.md", "What Updraft is"),
            ("docs/start.md", "Getting started"),
            ("docs/install.md", "Install"),
            ("docs/import.md", "Coming from another agent"),
            ("docs/models.md", "Models"),
            ("docs/models-small.md", "Small models"),
            ("docs/terminal.md", "What you see"),
            ("docs/faq.md", "Questions"),
        ],
    },
    ContentsGroup {
        title: "Work with it",
        pages: &[
            ("docs/patterns.md", "Patterns"),
            ("docs/plans.md", "Plans"),
            ("docs/context.md", "What agents are told"),
            ("docs/knowledge.md", "Find passages"),
            ("docs/reading.md", "Read files"),
            ("docs/python.md", "Python"),
            ("docs/web.md", "The web"),
            ("docs/browser.md", "A browser"),
            ("docs/memory.md", "Memory"),
            ("docs/results.md", "Results"),
            ("docs/proof.md", "Proof"),
            ("docs/undo.md", "Undo"),
            ("docs/recipes.md", "Recipes"),
            ("docs/schedules.md", "Schedules"),
        ],
    },
    ContentsGroup {
        title: "Extend it",
        pages: &[
            ("docs/agents.md", "Agents"),
            ("docs/tools.md", "Tools"),
            ("docs/guardrails.md", "Guardrails"),
            ("docs/hooks.md", "Hooks"),
            ("docs/mcp.md", "MCP"),
        ],
    },
    ContentsGroup {
        title: "Serve it",
        pages: &[
            ("docs/page.md", "The web page"),
            ("docs/api.md", "HTTP API"),
            ("docs/openai.md", "OpenAI's API"),
            ("docs/a2a.md", "Other agents, A2A"),
            ("docs/editors.md", "Editors, ACP"),
            ("docs/vscode.md", "VS Code, Antigravity"),
            ("docs/bridge.md", "The bridge"),
            ("docs/observe.md", "Metrics and traces"),
            ("docs/logs.md", "Logs"),
            ("docs/many-machines.md", "Many machines"),
        ],
    },
    ContentsGroup {
        title: "Keep it safe",
        pages: &[
            ("docs/security.md", "Security model"),
            ("docs/permissions.md", "Permissions"),
            ("docs/sandbox.md", "Sandbox"),
            ("docs/contract.md", "What resume promises"),
            ("docs/journal.md", "The journal"),
        ],
    },
    ContentsGroup {
        title: "Look it up",
        pages: &[
            ("docs/reference/commands.md", "Commands"),
            ("docs/reference/settings.md", "Settings"),
            ("docs/reference/events.md", "Events"),
            ("docs/reference/api.md", "API"),
        ],
    },
    ContentsGroup {
        title: "The project",
        pages: &[
            ("docs/comparison.md", "Compared with others"),
            ("docs/speed.md", "Speed"),
            ("ARCHITECTURE.md", "Architecture"),
            ("docs/decisions/index.md", "Decisions"),
            ("CONTRIBUTING.md", "Contributing"),
            ("CHANGELOG.md", "Changes"),
        ],
    },
];

/// The pages in order, with their names.
pub(crate) fn in_order() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    CONTENTS.iter().flat_map(|group| group.pages)
}

/// Pages that are nowhere in the contents, and entries without a page.
pub(crate) fn faults(pages: &[SourcePage]) -> Vec<Fault> {
    const HINT: &str = "each page has a line in a group of xtask/src/site/contents.rs";
    let is_listed = |source: &str| in_order().any(|(listed, _)| *listed == source);
    let left_out = pages.iter().filter(|page| !is_listed(&page.source) && !page.source.starts_with(DECISIONS));
    let unlisted = left_out.map(|page| Fault::new(format!("{} is not in the contents of the site", page.source), HINT));
    let gone = in_order().filter(|(source, _)| pages.iter().all(|page| page.source != *source));
    let gone =
        gone.map(|(source, _)| Fault::new(format!("the contents of the site name {source}, which is not there"), HINT));
    unlisted.chain(gone).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_nobody_can_find_is_a_fault_and_so_is_an_entry_without_one() {
        let page = |source: &str| SourcePage { source: source.to_owned(), address: String::new(), text: String::new() };
        let all = in_order().map(|(source, _)| page(source)).filter(|page| page.source != "docs/plans.md");
        let found = faults(&all.chain([page("docs/lost.md"), page("docs/decisions/0001-x.md")]).collect::<Vec<_>>());
        let found: Vec<&str> = found.iter().map(|fault| fault.what.as_str()).collect();
        let gone = "the contents of the site name docs/plans.md, which is not there";
        assert_eq!(found, ["docs/lost.md is not in the contents of the site", gone]);
    }
}
