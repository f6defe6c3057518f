//! Arguments of the commands that export runs to files and import them.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// The whole run, for `updraft import`
    Jsonl,
    /// NetworkX node-link data
    NodeLink,
    /// A document for people
    Markdown,
    /// One HTML file for people: graph, timeline, steps, calls and answer, without network and scripts
    Html,
    /// The conversation up to this run, as `agent_memory.json` of other programs (`MEMORY_FILE` reads it)
    Memory,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EdgeNames {
    /// `edges`, for NetworkX 3.6 and newer
    Edges,
    /// `links`, for NetworkX up to 3.5
    Links,
    /// Both, for any version
    Both,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The run's id, any unique prefix of it, or `last`
    #[arg(value_name = "RUN", required_unless_present = "all", add = crate::complete::runs())]
    pub(crate) run: Option<String>,
    /// Export every run
    #[arg(long, conflicts_with = "run", requires = "out")]
    pub(crate) all: bool,
    /// The file format
    #[arg(long, value_enum, default_value = "jsonl")]
    pub(crate) format: ExportFormat,
    /// Write one HTML file for people; the same as --format html, to this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["all", "format", "out"])]
    pub(crate) html: Option<PathBuf>,
    /// For node-link data: the name of the list of edges; older NetworkX reads `links`, newer `edges`
    #[arg(long, value_enum, default_value = "both", value_name = "NAME")]
    pub(crate) edges: EdgeNames,
    /// Write into this folder, as YYYY/MM/DD/session_<id> (default: standard output)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// The file (`-` is standard input), or the folder of a project with `agent_config.yaml`. Without it: what other coding
    /// agents have in this folder and in your home
    #[arg(value_hint = ValueHint::AnyPath)]
    pub(crate) file: Option<PathBuf>,
    /// Import it under this id
    #[arg(long, value_name = "ID", requires = "file")]
    pub(crate) id: Option<String>,
    /// For node-link data: the model that continues unfinished steps
    #[arg(long, value_name = "PROVIDER/NAME", requires = "file")]
    pub(crate) model: Option<String>,
    /// The folder that imported node-link data may work in, or that other tools' files are imported from (default: the current one)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) workspace: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) others: OtherToolFlags,
}

#[derive(Debug, Args)]
pub(crate) struct OtherToolFlags {
    /// Without FILE: only what is in this folder, or only what is in your home
    #[arg(long, value_enum, value_name = "WHERE", conflicts_with = "file")]
    pub(crate) scope: Option<ImportScopeWord>,
    /// Without FILE: only these kinds (repeatable, or with commas)
    #[arg(long, value_enum, value_name = "KIND", value_delimiter = ',', conflicts_with = "file")]
    pub(crate) only: Vec<ImportKindWord>,
    /// Without FILE: show everything that would be written
    #[arg(long, conflicts_with = "file")]
    pub(crate) diff: bool,
    /// Without FILE: only show what would be imported
    #[arg(long, conflicts_with_all = ["file", "yes"])]
    pub(crate) dry_run: bool,
    /// Without FILE: do not ask for confirmation
    #[arg(long, short = 'y', conflicts_with = "file")]
    pub(crate) yes: bool,
    /// Without FILE: print one JSON object for each thing that was found
    #[arg(long, conflicts_with = "file")]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportScopeWord {
    /// This folder
    Workspace,
    /// Your home
    User,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportKindWord {
    /// CLAUDE.md, GEMINI.md, rules and the like
    Instructions,
    /// Skills
    Skills,
    /// Commands
    Commands,
    /// Agents
    Agents,
    /// MCP servers
    Servers,
}
