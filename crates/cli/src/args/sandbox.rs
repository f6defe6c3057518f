//! Arguments of `updraft sandbox`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::{BoundsFlags, ConfineFlags, WorkspaceFlags};

#[derive(Debug, Args)]
pub(crate) struct SandboxArgs {
    #[command(subcommand)]
    pub(crate) command: SandboxCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SandboxCommand {
    /// Run a command in an agent's sandbox; exits with its exit code, 124 at a limit, or 125 if it could not be run
    #[command(
        after_help = "Examples:\n  updraft sandbox exec -- cargo test\n  updraft sandbox exec --network allow:example.com -- curl https://example.com/"
    )]
    Exec(Box<ExecArgs>),
    /// Show what the sandbox supports here, what is missing, and what the settings allow runs
    Probe(Box<ProbeArgs>),
}

#[derive(Debug, Args)]
pub(crate) struct ExecArgs {
    /// The folder that it may write to, and whose settings apply (default: the current one)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) workspace: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) confine: ConfineFlags,
    #[command(flatten)]
    pub(crate) bounds: BoundsFlags,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct AsideArgs {
    #[command(subcommand)]
    pub(crate) command: Option<AsideCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AsideCommand {
    /// List the files that were moved aside, and what would have run them
    List {
        /// Print JSON, one object per line
        #[arg(long)]
        json: bool,
    },
    /// Approve a file: restore it to where it was
    Restore {
        /// Its name, as `updraft aside` lists it, or a unique prefix
        name: String,
    },
    /// Delete a file
    Drop {
        /// Its name, as `updraft aside` lists it, or a unique prefix
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ProbeArgs {
    #[command(flatten)]
    pub(crate) confine: ConfineFlags,
    #[command(flatten)]
    pub(crate) bounds: BoundsFlags,
    #[command(flatten)]
    pub(crate) place: WorkspaceFlags,
}
