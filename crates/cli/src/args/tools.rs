//! Arguments of `updraft tools`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::{ConfineFlags, WorkspaceFlags};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ToolsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ToolsCommand>,
    #[command(flatten)]
    pub(crate) place: WorkspaceFlags,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// Call one tool in the workspace
    Call(Box<ToolCallArgs>),
    /// Check every drop-in file again: its tools, warnings, errors
    #[command(after_help = "Exit code 1 if a file or tool cannot be used.")]
    Check(WorkspaceFlags),
}

#[derive(Debug, Args)]
pub(crate) struct ToolCallArgs {
    /// The tool
    pub(crate) name: String,
    /// Its arguments, as a JSON object
    #[arg(value_name = "JSON", default_value = "{}")]
    pub(crate) args: String,
    /// The folder it works in (default: the current one)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) workspace: Option<PathBuf>,
    /// Print the reply as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) confine: ConfineFlags,
}
