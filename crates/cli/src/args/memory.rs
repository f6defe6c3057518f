//! Arguments of `updraft memory`, `updraft skills` and `updraft chat`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::models::thinking;
use super::shared::{OutputFlags, SpendingFlags, WorkspaceFlags};
use super::{ConfineFlags, PermissionFlags};

#[derive(Debug, Args)]
pub(crate) struct MemoryArgs {
    #[command(subcommand)]
    pub(crate) command: Option<MemoryCommand>,
    /// The workspace (default: the current folder)
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) workspace: Option<PathBuf>,
    /// Print JSON, one object per line
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Everything, also what is for other folders
    #[arg(long, global = true)]
    pub(crate) all: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    /// List what is remembered for you and this folder, newest first (the default)
    List,
    /// Find what fits a question best
    Search {
        /// A question, or the words to look for
        #[arg(required = true)]
        query: Vec<String>,
        /// The most to show
        #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=1000))]
        limit: u64,
    },
    /// Show all about one memory: its source, its dates and its uses
    Show {
        /// Its number
        id: i64,
    },
    /// Remember something
    Add {
        /// What
        text: String,
        /// Whom it is for
        #[arg(long, value_enum, default_value = "workspace")]
        scope: MemoryScopeWord,
        /// The agent, for `--scope agent`
        #[arg(long, value_name = "NAME", required_if_eq("scope", "agent"))]
        agent: Option<String>,
        /// Tell it to every run, whatever its goal is
        #[arg(long)]
        pinned: bool,
    },
    /// Change a memory; what you have written counts as your own words
    Edit {
        /// Its number
        id: i64,
        /// The new text
        text: Option<String>,
        /// Tell it to every run, or only where it fits
        #[arg(long, value_name = "BOOL")]
        pinned: Option<bool>,
    },
    /// Forget memories
    Forget {
        /// Their numbers
        #[arg(required = true)]
        ids: Vec<i64>,
    },
    /// Print everything as JSON, one memory a line
    Export,
    /// Read what `export` printed; what is known already is skipped
    Import {
        /// The file; `-` is standard input
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MemoryScopeWord {
    /// All runs
    User,
    /// Runs in this folder
    Workspace,
    /// One agent
    Agent,
}

#[derive(Debug, Args)]
pub(crate) struct SkillsArgs {
    /// Check these folders instead, each a skill
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folders: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) place: WorkspaceFlags,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct ChatArgs {
    /// Continue the newest conversation of this folder
    #[arg(long = "continue")]
    pub(crate) continues: bool,
    /// Continue the conversation that this run is the last of; the run's id, any unique prefix of it, or `last`
    #[arg(long, value_name = "RUN", conflicts_with = "continues", add = crate::complete::runs())]
    pub(crate) resume: Option<String>,
    /// Take the whole screen: the steps, one of them in detail, the log and the composer (Ctrl-G switches)
    #[arg(long, conflicts_with_all = ["plain", "screen_reader"])]
    pub(crate) fullscreen: bool,
    /// Talk line by line, as without a terminal
    #[arg(long)]
    pub(crate) plain: bool,
    /// Talk line by line, without anything that is redrawn, and with words instead of marks
    #[arg(long)]
    pub(crate) screen_reader: bool,
    /// The folder that agents work in (default: the current one)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) workspace: Option<PathBuf>,
    /// The agent that answers (default: the one whose role is generalist; `coder`, unless you replaced it)
    #[arg(long, value_name = "NAME", conflicts_with = "plan")]
    pub(crate) agent: Option<String>,
    /// Plan every message, with all agents
    #[arg(long)]
    pub(crate) plan: bool,
    /// The same, and show each plan and ask before its first step begins
    #[arg(long, conflicts_with = "agent")]
    pub(crate) plan_first: bool,
    /// The model: PROVIDER/NAME, a profile, `fast`, `strong`, `cheap`, `vision` or `auto`
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// How much the model thinks: auto (as needed), off, low, medium, high, or a number of tokens
    #[arg(long, value_name = "HOW", value_parser = thinking)]
    pub(crate) think: Option<String>,
    #[command(flatten)]
    pub(crate) permission: PermissionFlags,
    #[command(flatten)]
    pub(crate) spending: SpendingFlags,
    #[command(flatten)]
    pub(crate) confine: ConfineFlags,
    #[command(flatten)]
    pub(crate) output: OutputFlags,
}
