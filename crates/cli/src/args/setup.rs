//! The arguments of the commands that set a folder or a shell up: `init`, `trust`, `config`, `completions`, `man`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::WorkspaceFlags;

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// The workspace (default: the current folder)
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// The workspace (default: the current folder)
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
    /// Do not ask for confirmation
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
    /// Stop trusting it
    #[arg(long, conflicts_with = "yes")]
    pub(crate) remove: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show every setting
    Show(ConfigShowArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ConfigShowArgs {
    /// Also show where each value came from
    #[arg(long)]
    pub(crate) origin: bool,
    #[command(flatten)]
    pub(crate) place: WorkspaceFlags,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Write a page for each command to this folder instead: updraft.1, updraft-run.1, …
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
}
